// Package announce takes what machines announce of their first boot: it proves that the sender has
// the machine's key, refuses what was sent before, and keeps the last state of each machine. It
// shows the states as a table or as lines of JSON, and knows when all machines are done. It leaves
// HTTP, keys and the disk to package serve.
package announce

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// MaxSent bounds the bytes that a machine may send: Linux passes no longer argument to its curl.
const MaxSent = 128 << 10

// Bounds of what one machine may announce. The hook changes its state some 15 times.
const (
	burst     = 32          // announcements in a row
	everyNext = time.Second // until one more may follow
)

// Machine is a machine that announces, or a pool whose machines do.
type Machine struct {
	Name string
	Pool bool
	// Document is the identity of the document that it is to run; empty if that is not known.
	Document string
}

// Row is the last state of a machine.
type Row struct {
	Machine string `json:"machine"` // its name; of a pool's machine the one that it claims
	Pool    string `json:"pool,omitempty"`
	// Since is when it was first heard in this phase and step, and Heard when it was heard last.
	Since  time.Time `json:"since"`
	Heard  time.Time `json:"heard"`
	Remote string    `json:"remote"` // the address that it was heard from
	Status Status    `json:"status"`
}

// Refusal says why an announcement is not taken.
type Refusal struct {
	Reason string
	// Suspect reports whether no machine of this cluster sends such a thing by itself.
	Suspect bool
}

func (r *Refusal) Error() string { return r.Reason }

// refuse returns a refusal of what a machine may send.
func refuse(reason string) *Refusal { return &Refusal{Reason: reason} }

// suspect returns a refusal of what only somebody else sends.
func suspect(reason string) *Refusal { return &Refusal{Reason: reason, Suspect: true} }

// Board has the states of a cluster's machines. Its methods may be called from several goroutines.
type Board struct {
	cluster   string // the UUID
	poolLimit int
	bounds    bounds
	nonces    *nonces

	reading sync.Mutex // one state at a time: that takes ten times its size of memory

	mu    sync.Mutex
	rows  map[rowKey]*row
	spent map[int64]bool // the nonces of the last minute that pools have used
}

// rowKey names a row: a machine by its name, a machine of a pool by its pool and its own name, or
// by its address as long as it has no name.
type rowKey struct{ pool, machine string }

type row struct {
	Row
	order int64 // of the nonce of the last announcement
	pace  Pace
	fresh bool // this server heard it, and not only an earlier one
}

// New returns the board of the cluster with this UUID. machines are all that announce, and a pool
// may have poolLimit machines. rows are those that an earlier server kept: New leaves out those of
// no machine, and what no machine announces.
func New(cluster string, machines []Machine, poolLimit int, rows []Row) *Board {
	b := &Board{
		cluster: cluster, poolLimit: poolLimit, bounds: newBounds(machines, poolLimit),
		nonces: newNonces(), rows: map[rowKey]*row{}, spent: map[int64]bool{},
	}
	room := map[Machine]int{} // rows of each machine or pool that may follow
	for _, m := range machines {
		rows := 1
		if m.Pool {
			rows = poolLimit
		}
		room[Machine{Name: m.Name, Pool: m.Pool}] = rows
	}
	pooled := b.bounds.pooled
	for _, r := range rows {
		m := Machine{Name: cmp.Or(r.Pool, r.Machine), Pool: r.Pool != ""}
		if room[m] == 0 || m.Pool && pooled == 0 || r.Status.check() != nil {
			continue
		}
		room[m]--
		if m.Pool {
			pooled--
		}
		r.Status.shorten(b.bounds.room(&m))
		b.rows[rowKey{r.Pool, r.Machine}] = &row{Row: r}
	}
	return b
}

// Nonce returns a nonce for a machine, which it has to send with its next announcement within a
// minute.
func (b *Board) Nonce(m *Machine) string { return b.nonces.issue(m, time.Now()) }

// Take takes what a machine sent from an address. key is the machine's key. It returns the new row,
// and whether the machine's state is another one than before. It fails with a Refusal.
func (b *Board) Take(
	m *Machine, key, sent []byte, address string,
) (r Row, changed bool, err error) {
	status, order, err := b.open(m, key, sent)
	if err != nil {
		return Row{}, false, err
	}
	at, unnamed := rowKey{machine: m.Name}, rowKey{m.Name, address}
	if m.Pool {
		at = rowKey{m.Name, cmp.Or(status.Node, address)}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.rows[at]
	if err := b.mayFollow(m, at, unnamed, order); err != nil {
		return Row{}, false, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	if known == nil {
		known = &row{Row: Row{Machine: at.machine, Pool: at.pool}}
		b.rows[at] = known
	}
	if !known.pace.Take(burst, everyNext) {
		return Row{}, false, refuse("it announces too often")
	}
	changed = !known.Status.equal(status)
	if known.Status.Phase != status.Phase || known.Status.Step != status.Step ||
		known.Status.Document != status.Document {
		known.Since = now
	}
	known.Heard, known.Remote, known.Status = now, address, *status
	known.order, known.fresh = order, true
	if m.Pool {
		b.spend(order)
		if at != unnamed {
			delete(b.rows, unnamed) // what it was called before it had a name
		}
	}
	return known.Row, changed, nil
}

// macLength is the length of a MAC in hex, and macEnd what follows it: sha256sum prints the name of
// standard input, and curl separates two parts.
const (
	macLength = 2 * sha256.Size
	macEnd    = "  -&"
)

// open returns the state in what a machine sent, shortened, and the order of its nonce among all.
func (b *Board) open(m *Machine, key, sent []byte) (s *Status, order int64, err error) {
	if len(sent) > MaxSent {
		return nil, 0, suspect("it is too long")
	}
	if len(sent) < macLength+len(macEnd) || string(sent[macLength:][:len(macEnd)]) != macEnd {
		return nil, 0, suspect("it is no announcement")
	}
	mac, err := hex.DecodeString(string(sent[:macLength]))
	text := sent[macLength+len(macEnd):]
	h := hmac.New(sha256.New, key)
	_, _ = h.Write(text)
	if err != nil || !hmac.Equal(mac, h.Sum(nil)) {
		return nil, 0, suspect("the sender does not have the machine's key")
	}
	blank := strings.LastIndexByte(string(text), ' ')
	if order, err = b.nonces.check(m, string(text[blank+1:]), time.Now()); err != nil {
		return nil, 0, err
	}
	b.reading.Lock()
	defer b.reading.Unlock()
	s, err = parse(text[:max(blank, 0)])
	switch {
	case err != nil:
		return nil, 0, suspect("its state is none: " + err.Error())
	case s.Cluster != "" && s.Cluster != b.cluster:
		return nil, 0, suspect("it is of another cluster")
	case !m.Pool && s.Node != "" && !strings.EqualFold(s.Node, m.Name):
		return nil, 0, suspect("it is about another machine")
	}
	s.shorten(b.bounds.room(m))
	return s, order, nil
}

// mayFollow returns why an announcement with a nonce may not follow the last one of its row at. The
// row unnamed is what a pool's machine is called before it has a name: several may share an
// address, and a machine with a name takes the place of one.
func (b *Board) mayFollow(m *Machine, at, unnamed rowKey, order int64) error {
	last := b.rows[at]
	switch {
	case last != nil && at != unnamed && order <= last.order, b.spent[order]:
		return suspect("it came before, or a newer one did")
	case last == nil && m.Pool && b.isFull(m, unnamed):
		return suspect(fmt.Sprintf("as many machines of pools as kiln serve keeps (--pool-limit "+
			"for each pool, %d in all) have announced", MaxRows))
	}
	return nil
}

// isFull reports whether no more machines of a pool may announce. It does not count one row.
func (b *Board) isFull(m *Machine, without rowKey) bool {
	pool, all := 0, 0
	for at := range b.rows {
		if at == without || at.pool == "" {
			continue
		}
		all++
		if at.pool == m.Name {
			pool++
		}
	}
	return pool >= b.poolLimit || all >= b.bounds.pooled
}

// spend remembers a nonce until nobody could use it again.
func (b *Board) spend(order int64) {
	for old := range b.spent {
		if order-old > int64(lifetime) {
			delete(b.spent, old)
		}
	}
	b.spent[order] = true
}

// Rows returns all rows, by the names of pool and machine.
func (b *Board) Rows() []Row {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Row, 0, len(b.rows))
	for _, r := range b.rows {
		list = append(list, r.Row)
	}
	slices.SortFunc(list, func(x, y Row) int {
		return cmp.Or(strings.Compare(x.Pool, y.Pool), strings.Compare(x.Machine, y.Machine))
	})
	return list
}

// Forget removes the rows of machines and pools.
func (b *Board) Forget(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := range b.rows {
		if slices.Contains(names, cmp.Or(at.pool, at.machine)) {
			delete(b.rows, at)
		}
	}
}

var errNotPlain = errors.New("a string is not printable ASCII, or too long")

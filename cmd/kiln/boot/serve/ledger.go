// This file remembers which machine fetched which document, and what machines announced, in
// memory and on disk. It leaves HTTP, and who may fetch what, to the other files.
//
// The two are files of their own: that a document is given once must not depend on what others may
// write. A ledger that cannot be read is an error; announcements that cannot be read are put aside.

package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/folder"
)

// The heads of the two files.
const (
	version       = "kiln.dev/v1alpha1"
	kindFetches   = "Served"
	kindAnnounced = "Announced"
)

// Bounds of the files. kiln reads a much larger file of fetches than it writes, because an older
// kiln kept unbounded announcements in it. Package announce bounds those now: 30,000 machines have
// some 50 MB.
const (
	maxRead      = 256 << 20
	maxFetches   = 32 << 20 // some 90,000 fetches; those of pools have half of it
	maxAnnounced = 64 << 20
)

// Fetch says that a machine has fetched a document.
type Fetch struct {
	Path    string    `json:"path"`              // of the document's URL, also for an initrd
	Node    string    `json:"node"`              // the name of the node or pool
	Machine string    `json:"machine,omitempty"` // the machine of a pool
	SHA256  string    `json:"sha256"`            // of the document: a change makes another one
	Time    time.Time `json:"time"`
	Remote  string    `json:"remote"`
	// Unconfirmed is set for what was sent to a machine of a pool that did not confirm it. That
	// counts against the limit of the pool, and the machine may fetch the document again.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// isOf reports whether the fetch is one of the same document as another one.
func (f *Fetch) isOf(other *Fetch) bool {
	return f.Path == other.Path && f.SHA256 == other.SHA256
}

// IsBy reports whether a machine fetched the same document from the same address as in another
// fetch.
func (f *Fetch) IsBy(other *Fetch) bool {
	return f.isOf(other) && f.Machine == other.Machine && host(f.Remote) == host(other.Remote)
}

// host returns the address of a client without its port.
func host(remote string) string {
	if name, _, err := net.SplitHostPort(remote); err == nil {
		return name
	}
	return remote
}

// size returns a bound for the bytes of the fetch in its file.
func (f *Fetch) size() int {
	const blanks = 64       // of the indentation
	line, _ := term.Line(f) // it cannot fail: strings and a time
	return len(line) + blanks
}

// LedgerOptions say whose ledger it is.
type LedgerOptions struct {
	Path    string // of the file with the fetches; announcements lie beside it
	Cluster string // the UUID of the cluster
	// Machines are those that announce, and PoolLimit is the number of machines that a pool may
	// have.
	Machines  []announce.Machine
	PoolLimit int
}

// Ledger holds all fetches and announcements, in memory and on disk.
type Ledger struct {
	cluster string
	most    int // bytes of all fetches

	mu      sync.Mutex
	fetches []Fetch
	size    int
	board   *announce.Board // what the machines announced

	given, announced kept
	unread           error // why the announcements on disk cannot be read, until they are put aside
	note             string
}

// fetchFile is the file of the fetches.
type fetchFile struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Cluster    string  `json:"cluster"`
	Fetches    []Fetch `json:"fetches"`
	// Announced is from an older kiln, which had one file for all.
	Announced json.RawMessage `json:"announced,omitempty"`
}

// OpenLedger reads a ledger, and writes nothing. If there is none, it returns an empty one. It
// fails if another server has the file, if it is a link or not a regular file, and if it cannot be
// read or holds something else or another cluster's ledger.
func OpenLedger(o LedgerOptions) (*Ledger, error) {
	l := &Ledger{cluster: o.Cluster, most: maxFetches}
	l.given = kept{path: o.Path, limit: maxRead, content: l.writeFetches}
	l.announced = kept{
		path: o.Path + ".announced", limit: maxAnnounced, content: l.writeAnnounced,
	}
	old, err := l.readFetches()
	if err == nil {
		err = l.readAnnounced(&o, old)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// readFetches reads the fetches, and returns what an older kiln kept beside them.
func (l *Ledger) readFetches() (announced []byte, err error) {
	path := l.given.path
	if err := l.given.own(); errors.Is(err, folder.ErrIrregular) {
		return nil, fmt.Errorf("%w; --state wants the file itself, and no link to it", err)
	} else if err != nil {
		return nil, err
	}
	data, err := folder.ReadNoLink(path, maxRead)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f fetchFile
	if err == nil {
		if json.Unmarshal(data, &f) != nil || f.APIVersion != version || f.Kind != kindFetches {
			err = fmt.Errorf("%s: not a state of kiln serve, or damaged", path)
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; it says which documents were given, so none is given without "+
			"it: put back a copy of it; without one, docs/delivery.md says what to do first", err)
	case f.Cluster != l.cluster:
		return nil, fmt.Errorf("%s: remembers the documents of another cluster (%s); keep it, and "+
			"name this cluster's own file with --state", path, f.Cluster)
	}
	l.fetches = f.Fetches
	l.count()
	return f.Announced, nil
}

// count adds up the sizes of all fetches.
func (l *Ledger) count() {
	l.size = 0
	for i := range l.fetches {
		l.size += l.fetches[i].size()
	}
}

// writeFetches writes the content of the file of the fetches.
func (l *Ledger) writeFetches(to *bytes.Buffer) error {
	l.mu.Lock()
	line, err := term.Line(fetchFile{
		version, kindFetches, l.cluster, append([]Fetch{}, l.fetches...), nil,
	})
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return json.Indent(to, line, "", "  ")
}

// Close lets another server have the files.
func (l *Ledger) Close() {
	l.given.close()
	l.announced.close()
}

// Forget removes the fetches of some machines and pools and what they announced, and writes the
// ledger to disk.
func (l *Ledger) Forget(nodes []string) error {
	l.board.Forget(nodes)
	// Announcements come first: the file of the fetches may still hold the only copy of them.
	if err := l.keepAnnounced(); err != nil {
		return err
	}
	folder.Tidy(l.given.path)
	l.mu.Lock()
	l.fetches = slices.DeleteFunc(l.fetches, func(f Fetch) bool {
		return slices.Contains(nodes, f.Node)
	})
	l.count()
	l.mu.Unlock()
	return l.given.save()
}

// Find returns an earlier fetch of the same document by the same machine, or nil.
func (l *Ledger) Find(f *Fetch) *Fetch {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.fetches {
		if b := &l.fetches[i]; b.isOf(f) && b.Machine == f.Machine && !b.Unconfirmed {
			before := *b
			return &before
		}
	}
	return nil
}

// Count returns the number of machines that have fetched the document.
func (l *Ledger) Count(f *Fetch) (n int) {
	return l.Machines(f, func(string) bool { return true })
}

// Machines returns the number of machines that have fetched the document from an address for which
// same is true.
func (l *Ledger) Machines(f *Fetch, same func(remote string) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.fetches {
		b := &l.fetches[i]
		if b.isOf(f) && !b.Unconfirmed && same(b.Remote) {
			n++
		}
	}
	return n
}

// Unconfirmed returns what was sent of the document and not confirmed, with one fetch for each
// machine and address.
func (l *Ledger) Unconfirmed(f *Fetch) (list []Fetch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.fetches {
		if b := &l.fetches[i]; b.Unconfirmed && b.isOf(f) {
			list = append(list, *b)
		}
	}
	return list
}

// IsFetched reports whether somebody has fetched a document at a path, with any content.
func (l *Ledger) IsFetched(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.fetches, func(f Fetch) bool {
		return f.Path == path && !f.Unconfirmed
	})
}

// HasRoom reports whether a fetch may be added. Pools have half of the room: their machines, whose
// names nobody knows, leave the rest to the machines that have one.
func (l *Ledger) HasRoom(f *Fetch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := l.most
	if f.Machine != "" {
		most /= 2
	}
	return l.size+f.size() <= most
}

// Add adds a fetch, and writes the fetches to disk. It does not ask HasRoom: the document is given.
// The fetch replaces what the same machine at the same address did not confirm. If Add fails, the
// fetch counts, and Settle has to follow before anything else is given.
func (l *Ledger) Add(f Fetch) error {
	l.mu.Lock()
	before := len(l.fetches)
	l.fetches = slices.DeleteFunc(l.fetches, func(b Fetch) bool {
		return b.Unconfirmed && b.IsBy(&f)
	})
	l.fetches = append(l.fetches, f)
	if len(l.fetches) > before {
		l.size += f.size()
	} else {
		l.count()
	}
	l.mu.Unlock()
	return l.given.save()
}

// Settle writes the fetches to disk if some are not there.
func (l *Ledger) Settle() error { return l.given.settle() }

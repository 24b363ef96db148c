// This file bounds how many connections clients may have open.

package serve

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
)

// Bounds of the open connections. Each has a file, and what it sends opens another one; the rest of
// the server needs some, too.
const (
	leastConnections = 1024 // of one address, in a small cluster
	leastAll         = 4 * leastConnections
	ofNobody         = 256 // of all addresses that belong to nobody
	ofOneNobody      = 64
	otherFiles       = 64
)

// Rank says whose an address is.
type Rank int

const (
	Nobody  Rank = iota // neither a machine's nor in a network of --from
	Guest               // in a network of --from
	Machine             // a machine's own
)

// Door bounds the open connections, of one address and of all, so that nobody uses up what the
// system lets the server open, or the memory. An address that belongs to nobody has few of them,
// and an eighth of all is for the machines' own addresses alone. Transfers of documents do not
// count for their address: each machine has one of them at most.
type Door struct {
	// Most is twice the number of all machines, or leastConnections. All machines may be behind one
	// NAT or proxy, and each of them may fetch something while it announces.
	Most int
	All  int // of all addresses; neither changes after the first connection

	peer    func(remote string) netip.Addr
	rank    func(netip.Addr) Rank
	refused func(from netip.Addr, reason string)

	mu      sync.Mutex
	of      map[netip.Addr]int
	open    map[net.Conn]visit
	nobodys int // of open
}

// visit is an open connection.
type visit struct {
	from netip.Addr // not valid during the transfer of a document
	rank Rank
}

// NewDoor returns the door of a server for a number of machines. The functions tell the address of
// a client, and whose it is, and take the reason why one of its connections was closed.
func NewDoor(
	machines int, peer func(remote string) netip.Addr, rank func(netip.Addr) Rank,
	refused func(from netip.Addr, reason string),
) *Door {
	all := max(8, min(max(leastAll, 4*machines), (openFiles()-otherFiles)/2))
	return &Door{
		Most: min(max(leastConnections, 2*machines), all/2), All: all,
		peer: peer, rank: rank, refused: refused,
		of: map[netip.Addr]int{}, open: map[net.Conn]visit{},
	}
}

// Watch is called at each change of a connection.
func (d *Door) Watch(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		from := d.peer(conn.RemoteAddr().String())
		if reason := d.enter(conn, from); reason != "" {
			_ = conn.Close()
			d.refused(from, reason)
		}
	case http.StateHijacked:
		d.mu.Lock()
		defer d.mu.Unlock()
		v := d.open[conn]
		d.count(v.from, -1)
		d.open[conn] = visit{rank: v.rank}
	case http.StateClosed:
		d.Leave(conn)
	}
}

// enter counts a connection, or returns the reason why it has to be closed.
func (d *Door) enter(conn net.Conn, from netip.Addr) (reason string) {
	v := visit{Network(from), d.rank(from)}
	d.mu.Lock()
	defer d.mu.Unlock()
	most, all := d.Most, d.All
	switch v.rank {
	case Nobody:
		most = min(most, ofOneNobody)
		all -= all / 8
		if few := min(ofNobody, d.All/4); d.nobodys >= few {
			return fmt.Sprintf("closed: addresses that belong to no machine have %d connections",
				few)
		}
	case Guest:
		all -= all / 8
	}
	switch {
	case d.of[v.from] >= most:
		return fmt.Sprintf("closed: its address has %d connections", most)
	case len(d.open) >= all:
		return fmt.Sprintf("closed: the server has %d connections", len(d.open))
	}
	d.count(v.from, 1)
	d.open[conn] = v
	if v.rank == Nobody {
		d.nobodys++
	}
	return ""
}

// Leave forgets a connection that is closed. It may be called for one that never entered.
func (d *Door) Leave(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.open[conn]
	if !ok {
		return
	}
	delete(d.open, conn)
	d.count(v.from, -1)
	if v.rank == Nobody {
		d.nobodys--
	}
}

// count adds connections to those of an address.
func (d *Door) count(from netip.Addr, n int) {
	if !from.IsValid() {
		return
	}
	if d.of[from] += n; d.of[from] == 0 {
		delete(d.of, from)
	}
}

// openFiles returns the number of files that the system lets the program open. Go has raised it to
// what the system allows at most (package os, since Go 1.19).
func openFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}

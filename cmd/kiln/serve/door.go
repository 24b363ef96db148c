package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
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

// rank says whose an address is.
type rank int

const (
	nobody  rank = iota // neither a machine's nor in a network of --from
	guest               // in a network of --from
	machine             // a machine's own
)

// door bounds the open connections, of one address and of all, so that nobody uses up what the
// system lets the server open, or the memory. An address that belongs to nobody has few of them,
// and an eighth of all is for the machines' own addresses alone. Transfers of documents do not
// count for their address: each machine has one of them at most.
type door struct {
	// most is twice the number of all machines, or leastConnections. All machines may be behind one
	// NAT or proxy, and each of them may fetch something while it announces.
	most    int
	all     int
	rank    func(netip.Addr) rank
	refused func(from netip.Addr, reason string)

	mu      sync.Mutex
	of      map[netip.Addr]int
	open    map[net.Conn]visit
	nobodys int // of open
}

// visit is an open connection.
type visit struct {
	from netip.Addr // not valid during the transfer of a document
	rank rank
}

// newDoor returns the door of a server for a number of machines, which may open so many files.
func newDoor(
	machines, files int, rank func(netip.Addr) rank, refused func(from netip.Addr, reason string),
) *door {
	all := max(8, min(max(leastAll, 4*machines), (files-otherFiles)/2))
	return &door{
		most: min(max(leastConnections, 2*machines), all/2), all: all, rank: rank,
		refused: refused, of: map[netip.Addr]int{}, open: map[net.Conn]visit{},
	}
}

// watch is called at each change of a connection.
func (d *door) watch(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		from := peer(conn.RemoteAddr().String())
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
		d.leave(conn)
	}
}

// enter counts a connection, or returns the reason why it has to be closed.
func (d *door) enter(conn net.Conn, from netip.Addr) (reason string) {
	v := visit{network(from), d.rank(from)}
	d.mu.Lock()
	defer d.mu.Unlock()
	most, all := d.most, d.all
	switch v.rank {
	case nobody:
		most = min(most, ofOneNobody)
		all -= all / 8
		if few := min(ofNobody, d.all/4); d.nobodys >= few {
			return fmt.Sprintf("closed: addresses that belong to no machine have %d connections",
				few)
		}
	case guest:
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
	if v.rank == nobody {
		d.nobodys++
	}
	return ""
}

// leave forgets a connection that is closed. It may be called for one that never entered.
func (d *door) leave(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.open[conn]
	if !ok {
		return
	}
	delete(d.open, conn)
	d.count(v.from, -1)
	if v.rank == nobody {
		d.nobodys--
	}
}

// count adds connections to those of an address.
func (d *door) count(from netip.Addr, n int) {
	if !from.IsValid() {
		return
	}
	if d.of[from] += n; d.of[from] == 0 {
		delete(d.of, from)
	}
}

// newDoor returns the door of the server.
func (s *Server) newDoor(poolLimit int) *door {
	own := map[netip.Addr]bool{}
	for _, list := range s.catalogue.addresses {
		for _, a := range list {
			own[a] = true
		}
	}
	whose := func(a netip.Addr) rank {
		switch {
		case own[a]:
			return machine
		case s.peers.containAny(a):
			return guest
		}
		return nobody
	}
	return newDoor(s.catalogue.machines(poolLimit), openFiles(), whose,
		func(from netip.Addr, reason string) {
			s.audit.write(&record{Event: "connection", Remote: from.String(), Reason: reason})
			s.alarms.raise(crowded, "", "too many connections from %s: %s", from, reason)
		})
}

// hurry makes a request with a body the last one of its connection, and bounds the time for the
// body. Otherwise the HTTP server waits for it as long as for a whole transfer, even after an
// answer that did not need it.
func (s *Server) hurry(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	// If the deadline cannot be set, the server's own holds.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.hearTime))
}

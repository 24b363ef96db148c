package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// leastConnections is the number of connections that one address may have in a small cluster: a
// quarter of 4,096, which is how many files Linux lets a process open if nobody says more. With
// more machines the limit of open files has to be higher (docs/delivery.md says so).
const leastConnections = 1024

// door bounds the open connections of one address, so that nobody there uses up what the system
// lets the server open. Transfers of documents do not count: each machine has one of them at most.
type door struct {
	// most is twice the number of all machines, or leastConnections. All machines may be behind one
	// NAT or proxy, and each of them may fetch something while it announces.
	most    int
	refused func(from netip.Addr, reason string)

	mu sync.Mutex
	of map[netip.Addr]int
}

// newDoor returns the door of a server for a number of machines.
func newDoor(machines int, refused func(from netip.Addr, reason string)) *door {
	return &door{
		most: max(leastConnections, 2*machines), refused: refused, of: map[netip.Addr]int{},
	}
}

// watch is called at each change of a connection.
func (d *door) watch(conn net.Conn, state http.ConnState) {
	from := peer(conn.RemoteAddr().String())
	switch state {
	case http.StateNew:
		if d.count(from, 1) > d.most {
			_ = conn.Close()
			d.refused(from, fmt.Sprintf("closed: its address has %d connections", d.most))
		}
	case http.StateClosed, http.StateHijacked:
		d.count(from, -1)
	}
}

// count adds connections to those of an address, and returns how many it has.
func (d *door) count(from netip.Addr, n int) int {
	from = network(from)
	d.mu.Lock()
	defer d.mu.Unlock()
	n += d.of[from]
	if d.of[from] = n; n == 0 {
		delete(d.of, from)
	}
	return n
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

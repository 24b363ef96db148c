package serve

import (
	"net/netip"
	"sync"
)

// How many announcements are read at the same time: of all clients, and of those at one address. A
// client may take ten seconds for a few bytes, and one address must not keep the others out. Many
// machines may share one behind a NAT.
const (
	hearing     = 512
	hearingPeer = 64
)

// ears counts the announcements that are being read.
type ears struct {
	mu  sync.Mutex
	all int
	of  map[netip.Addr]int
}

// take reports whether one more may be read that comes from an address. Then leave has to follow.
func (e *ears) take(from netip.Addr) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all >= hearing || e.of[from] >= hearingPeer {
		return false
	}
	if e.of == nil {
		e.of = map[netip.Addr]int{}
	}
	e.all++
	e.of[from]++
	return true
}

func (e *ears) leave(from netip.Addr) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all--
	if e.of[from]--; e.of[from] == 0 {
		delete(e.of, from)
	}
}

// network returns what counts as one address: of IPv6 the 64 bits that a client does not choose.
func network(a netip.Addr) netip.Addr {
	if p, err := a.Prefix(64); err == nil && a.Is6() {
		return p.Addr()
	}
	return a
}

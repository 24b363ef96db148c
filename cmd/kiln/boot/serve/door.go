package serve

import (
	"net/http"
	"net/netip"
	"time"
)

// newDoor returns the door of the server.
func (s *Server) newDoor(poolLimit int) *Door {
	own := map[netip.Addr]bool{}
	for _, list := range s.catalogue.addresses {
		for _, a := range list {
			own[a] = true
		}
	}
	whose := func(a netip.Addr) Rank {
		switch {
		case own[a]:
			return Machine
		case s.peers.containAny(a):
			return Guest
		}
		return Nobody
	}
	return NewDoor(s.catalogue.machines(poolLimit), peer, whose,
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

package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// give answers with a document unless the machine has fetched it before. Requests of one machine
// for one document wait for each other, so that the next one gets it if the first transfer is
// interrupted. Before that, requests of one address for a pool's document wait for its share.
func (s *Server) give(w http.ResponseWriter, r *http.Request, it *item, rec *record) {
	machine, path := it.machine(r), it.document().path
	if it.pool {
		at := Network(peer(r.RemoteAddr)).String()
		end := s.await(w, r, path+" at "+at, Share(s.limit), rec,
			"other transfers to its address are under way")
		if end == nil {
			return
		}
		defer end()
	}
	end := s.await(w, r, path+" "+machine, 1, rec, "another transfer of the document is under way")
	if end == nil {
		return
	}
	defer end()
	s.giveInTurn(w, it, &Fetch{
		Path: path, Node: it.node, Machine: machine, Remote: r.RemoteAddr,
		SHA256: it.document().given,
	}, rec)
}

// giveInTurn reads the document and sends it, unless the machine has fetched it before or the limit
// of the pool is reached. A pool's limit comes before the reading: anyone in the pool's network can
// ask as any number of machines.
func (s *Server) giveInTurn(w http.ResponseWriter, it *item, f *Fetch, rec *record) {
	before := s.state.Find(f)
	if it.pool && before == nil {
		leave, full, busy := s.enter(f)
		switch {
		case full:
			s.raiseFull(it, f, rec)
			refuse(w, rec, fmt.Sprintf("%d machines of the pool have it, the limit", s.limit))
			return
		case busy:
			later(w, rec, "other machines take the last that the pool's limit leaves")
			return
		}
		defer leave()
	}
	data, leave, err := s.copies.take(it)
	if err != nil {
		s.alarms.raise(unreadable, it.path, "%s cannot be given, and %s waits for it: %v",
			rec.Document, peer(f.Remote), err)
		later(w, rec, err.Error())
		return
	}
	defer leave()
	if before != nil {
		s.raiseAgain(it, before, f)
		refuse(w, rec, fmt.Sprintf("fetched before, at %s by %s",
			before.Time.Format(time.RFC3339), before.Remote))
		return
	}
	if !s.state.HasRoom(f) {
		s.alarms.raise(recordFull, it.path, "%s: not given to %s, because no room is left to "+
			"remember it, and it would be given twice; docs/delivery.md says what to do",
			rec.Document, peer(f.Remote))
		later(w, rec, "the list of fetched documents is full")
		return
	}
	if err := s.state.Settle(); err != nil {
		later(w, rec, err.Error())
		return
	}
	s.send(w, it, data, f, rec)
}

// send sends a document, and adds the transfer to the state: a whole one, or of a pool's document
// any that its receiver may have read.
func (s *Server) send(w http.ResponseWriter, it *item, data []byte, f *Fetch, rec *record) {
	var err error
	rec.Status = http.StatusOK
	rec.Bytes, err = s.deliver(w, data)
	rec.given = err == nil || rec.Bytes > 0
	switch {
	case err != nil && rec.given:
		rec.Decision, rec.Reason = "disclosed", err.Error()
		s.disclose(it, len(data), f, rec)
		return
	case err != nil:
		rec.Decision, rec.Reason = "cut off", err.Error()
		return
	}
	rec.Decision = "served"
	s.keep(it, f, rec)
	same := func(remote string) bool { return peer(remote) == peer(f.Remote) }
	if n := s.state.Machines(f, same); it.pool && n > 1 {
		s.alarms.raise(poolShared, it.path, "%s: %s has it as %d machines; behind a NAT or a "+
			"proxy that is usual, and otherwise somebody collects it",
			rec.Document, peer(f.Remote), n)
	}
}

// disclose raises the alarm about bytes of a document of a size that were sent and not confirmed.
// The client may have read all of them, and secrets may be anywhere in a document. Of a pool that
// counts as a machine: its client needs no second fetch.
func (s *Server) disclose(it *item, size int, f *Fetch, rec *record) {
	sent := fmt.Sprintf("%d of %d", rec.Bytes, size)
	if rec.Bytes == size {
		sent = fmt.Sprintf("all %d", size)
	}
	about, others := it.path, ""
	if it.pool {
		f.Unconfirmed = true
		s.keep(it, f, rec)
		addresses := map[netip.Addr]bool{}
		for _, b := range s.state.Unconfirmed(f) {
			addresses[peer(b.Remote)] = true
		}
		about += " " + peer(f.Remote).String() // no more of them than the pool's limit
		others = fmt.Sprintf("; this counts as a machine of the pool; addresses that did so until "+
			"now: %d", len(addresses))
	}
	s.alarms.raise(disclosed, about, "%s: %s bytes were sent to %s, which did not confirm "+
		"them: it can be fetched again; if %[3]s is not the machine, the secrets in what was "+
		"sent are known%s", rec.Document, sent, peer(f.Remote), others)
}

// raiseFull raises the alarm about a client that asks for the document of a pool beyond its limit.
func (s *Server) raiseFull(it *item, f *Fetch, rec *record) {
	unconfirmed := ""
	if n := len(s.state.Unconfirmed(f)); n > 0 {
		unconfirmed = fmt.Sprintf(" (%d did not confirm it)", n)
	}
	s.alarms.raise(poolFull, it.path, "%s: %d machines have it%s, and %s asks as another "+
		"one: if the pool %s has more, say so with --pool-limit; if not, one of them is "+
		"not of the pool", rec.Document, s.limit, unconfirmed, peer(f.Remote), it.node)
}

// keep adds a fetch to the state.
func (s *Server) keep(it *item, f *Fetch, rec *record) {
	f.Time = time.Now().UTC().Truncate(time.Second)
	if err := s.state.Add(*f); err != nil {
		rec.Reason = err.Error()
		s.alarms.raise(unwritten, it.path, "%s: %s has it, and that is not on disk, so nothing "+
			"else is given until it is: %v", rec.Document, peer(f.Remote), err)
		s.breakOff(err)
	}
}

// raiseAgain raises the alarm about a document that was asked for again after somebody fetched it.
func (s *Server) raiseAgain(it *item, before, now *Fetch) {
	first, second := peer(before.Remote), peer(now.Remote)
	name, at := strings.TrimPrefix(now.Path, "/"), before.Time.Format(time.RFC3339)
	if it.holds != nil {
		name += fmt.Sprintf(" (in %s)", it.file)
	}
	if first == second {
		s.alarms.raise(askedAgain, it.path, "%s was asked for again by %s, which has had it "+
			"since %s: the machine forgot it (--again %s gives it once more), or somebody else "+
			"took it there",
			name, second, at, it.node)
		return
	}
	s.alarms.raise(askedAgain, it.path, "%s was asked for again by %s, and %s has had it since "+
		"%s: if one of them is not the machine, the secrets in it are known",
		name, second, first, at)
}

// turn is the lock of the transfers of one document to one machine, or to one address.
type turn struct {
	taken chan struct{} // holds a value for each open transfer
	users int           // the requests that hold the lock or wait for it
}

// await takes one of the places that a key has for transfers, and returns the function that gives
// it back. It answers with the reason and returns nil if the client leaves or the server ends.
func (s *Server) await(
	w http.ResponseWriter, r *http.Request, key string, places int, rec *record, reason string,
) (end func()) {
	s.mu.Lock()
	t := s.turns[key]
	if t == nil {
		t = &turn{taken: make(chan struct{}, places)}
		s.turns[key] = t
	}
	t.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(s.turns, key)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }
	case <-r.Context().Done():
		// The client has left, or has waited too long. If it is still there, it must not take an
		// empty answer for the document.
	case <-s.stopping:
		reason = "the server is ending"
	}
	leave()
	later(w, rec, reason)
	return nil
}

// enter counts an open transfer of a pool's document, and returns the function that ends it. It
// reports full if as many machines as may have the document have it. It reports busy if they will
// have it when the open transfers end. In both cases it counts nothing.
func (s *Server) enter(f *Fetch) (leave func(), full, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.state.Count(f)
	for _, b := range s.state.Unconfirmed(f) {
		if !b.IsBy(f) {
			have++
		}
	}
	switch {
	case have >= s.limit:
		return nil, true, false
	case have+s.pools[f.Path] >= s.limit:
		return nil, false, true
	}
	s.pools[f.Path]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pools[f.Path]--
	}, false, false
}

// deliver sends a document in a connection of its own. It returns no error if the client has the
// whole document: the client has then read everything and closed the connection. If a process dies
// with unread bytes, its system resets the connection; if a machine dies, nothing comes. The number
// of sent bytes proves less, because they may lie in the buffers between.
func (s *Server) deliver(w http.ResponseWriter, data []byte) (sent int, err error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return 0, errCutOff
	}
	defer func() { _ = conn.Close(); s.door.Leave(conn) }()
	// The end of the server cuts it off, and what the client has then is known.
	defer context.AfterFunc(s.over, func() { _ = conn.Close() })()
	paced := Paced{To: conn, Deadline: conn.SetWriteDeadline, Patience: s.patience}
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"+
		"Content-Length: %d\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n", len(data))
	first := min(len(data), maxHeader)
	// Other transfers use the same data.
	whole := net.Buffers{slices.Concat([]byte(head), data[:first]), data[first:]}
	n, err := whole.WriteTo(&paced)
	if err != nil {
		return max(0, int(n)-len(head)), errCutOff
	}
	// The close_notify of TLS is not sent: if a client leaves it unread, its system resets the
	// connection. The end of a plain connection is nothing to read, and some old clients wait for
	// it.
	if plain, ok := conn.(*net.TCPConn); ok {
		_ = plain.CloseWrite()
	}
	return len(data), confirm(conn)
}

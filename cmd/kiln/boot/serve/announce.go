package serve

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
)

// Bounds of announcements.
const (
	hearTime  = 10 * time.Second // for a client to send one, or any other body
	sentBurst = 8                // lines in a row about refused ones
)

// Announcing returns the machines and pools that announce the state of their first boot, with what
// their documents say of it. It fails if a document cannot be read.
func (s *Server) Announcing() ([]announce.Machine, error) {
	list := s.catalogue.announcing()
	var errs []error
	for i := range list {
		_, document, err := s.catalogue.secrets(list[i].Name)
		list[i].Document = document
		errs = append(errs, err)
	}
	return list, errors.Join(errs...)
}

// Board returns what the machines have announced.
func (s *Server) Board() *announce.Board { return s.board }

// hear answers a request of a machine that announces: with a nonce, or by taking what it sends. The
// key of the machine is the only thing that counts, and no address. What is refused gets 404, or
// 503 if the machine may send it again; the machine tries again after both.
func (s *Server) hear(w http.ResponseWriter, r *http.Request, it *item) {
	rec := &record{Event: "announce", Remote: r.RemoteAddr, Node: it.node}
	w.Header().Set("Cache-Control", "no-store")
	switch r.Method {
	case http.MethodGet:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.board.Nonce(it.announces))
		return
	case http.MethodPost:
	default:
		s.doubt(it, rec, &announce.Refusal{Reason: "the method is neither GET nor POST"})
		refuse(w, rec, rec.Reason)
		return
	}
	if r.ContentLength > announce.MaxSent {
		s.doubt(it, rec, &announce.Refusal{Reason: "it is too long", Suspect: true})
		refuse(w, rec, rec.Reason)
		return
	}
	leave, ok := s.ears.Take(peer(r.RemoteAddr), r.ContentLength)
	if !ok {
		later(w, rec, "too many machines announce at once")
		s.doubt(it, rec, &announce.Refusal{Reason: rec.Reason})
		return
	}
	defer leave()
	var sent bytes.Buffer
	sent.Grow(int(max(0, r.ContentLength)) + bytes.MinRead)
	_, err := sent.ReadFrom(io.LimitReader(r.Body, announce.MaxSent+1))
	if err != nil {
		later(w, rec, "it was cut off")
		s.doubt(it, rec, &announce.Refusal{Reason: rec.Reason})
		return
	}
	key, _, err := s.catalogue.secrets(it.node)
	if err != nil {
		s.alarms.raise(unreadable, it.path, "what %s announces cannot be taken: %v", it.node, err)
		later(w, rec, err.Error())
		return
	}
	row, changed, err := s.board.Take(it.announces, key, sent.Bytes(), peer(r.RemoteAddr).String())
	var refusal *announce.Refusal
	if errors.As(err, &refusal) {
		s.doubt(it, rec, refusal)
		refuse(w, rec, refusal.Reason)
		return
	}
	if err := s.state.KeepBoard(); err != nil {
		later(w, rec, err.Error())
		s.breakOff(err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
	if changed {
		rec.Decision, rec.Status = "taken", http.StatusNoContent
		rec.Machine, rec.Announced = row.Machine, &row.Status
		s.audit.announced(rec, it.pool)
		if s.onAnnounce != nil {
			s.onAnnounce(row)
		}
	}
}

// doubt counts an announcement that is refused, and says so once in a while.
func (s *Server) doubt(it *item, rec *record, refusal *announce.Refusal) {
	rec.Reason = refusal.Reason
	if refusal.Suspect {
		s.alarms.raise(doubted, it.path, "%s announced something that is not believed: %s: %s",
			peer(rec.Remote), strings.TrimPrefix(it.path, "/announce/"), refusal.Reason)
	}
	s.mu.Lock()
	s.refused++
	rec.Refused = s.refused
	within := s.doubts.Take(sentBurst, refillEvery)
	s.mu.Unlock()
	if within {
		rec.Decision = "refused"
		s.audit.write(rec)
	}
}

// breakOff ends the server because the state cannot be kept. If there are too many open files, it
// tries again soon instead: others cause that, and the end of the server would serve them.
func (s *Server) breakOff(err error) {
	if IsOutOfFiles(err) {
		time.AfterFunc(time.Second, s.settle)
		return
	}
	select {
	case s.broken <- err:
	default:
	}
}

// settle writes the fetches to disk if some are not there, unless the server ends, which does that
// itself.
func (s *Server) settle() {
	select {
	case <-s.stopping:
	default:
		if err := s.state.Settle(); err != nil {
			s.breakOff(err)
		}
	}
}

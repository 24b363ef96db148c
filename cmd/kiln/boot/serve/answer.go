package serve

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ServeHTTP answers one request. A client that asks for the document of another machine learns
// nothing: all refusals are the same 404.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.hurry(w, r)
	if it := s.catalogue.items[r.URL.Path]; it != nil && it.announces != nil {
		s.hear(w, r, it)
		return
	}
	rec := &record{
		Event: "request", Remote: r.RemoteAddr,
		Method: shorten(r.Method), Path: shorten(r.URL.Path),
	}
	s.transfers.Add(1)
	defer s.transfers.Done()
	defer s.audit.write(rec)
	it, reason := s.find(r)
	if it != nil {
		rec.Node, rec.Document = it.node, strings.TrimPrefix(it.path, "/")
	}
	switch {
	case reason != "":
		refuse(w, rec, reason)
	case it.once:
		s.give(w, r, it, rec)
	default:
		s.show(w, r, it, rec)
	}
}

// find returns the item that a request asks for, if there is one, and the reason why the request is
// refused, if it is.
func (s *Server) find(r *http.Request) (it *item, reason string) {
	it = s.catalogue.item(r)
	if it == nil {
		return nil, "there is no such document"
	}
	if reason := s.foreignAddress(it, peer(r.RemoteAddr)); reason != "" {
		s.alarms.raise(askedOutside, it.path, "%s was asked for, and not given: %s",
			strings.TrimPrefix(it.path, "/"), reason)
		return it, reason
	}
	switch {
	case r.Method != http.MethodGet && (r.Method != http.MethodHead || !it.parts):
		return it, "the method is not GET"
	case !time.Now().Before(s.until):
		return it, "the window has ended"
	}
	return it, s.catalogue.foreignIdentity(it, r.URL.Query())
}

// foreignAddress returns the reason why address a may not fetch an item, or nothing if it may.
// Every address may fetch an item that belongs to no machine.
func (s *Server) foreignAddress(it *item, a netip.Addr) string {
	own := s.catalogue.addresses[it.node]
	if it.node == "" || slices.Contains(own, a) || s.peers.contains(it.node, a) {
		return ""
	}
	if owner := s.catalogue.owner(a); owner != "" {
		// No hint at --from: it would give this machine the keys of another one.
		return fmt.Sprintf("%s is %s: look at its kernel arguments", a, owner)
	}
	if len(own) == 0 {
		return fmt.Sprintf("%s is in no network of %s; --from %[2]s=%[1]s lets it in", a, it.node)
	}
	list := make([]string, len(own))
	for i := range own {
		list[i] = own[i].String()
	}
	return fmt.Sprintf("%s is not an address of %s (%s); --from %[2]s=%[1]s lets it in",
		a, it.node, strings.Join(list, ", "))
}

// refuse answers with 404, and logs the reason.
func refuse(w http.ResponseWriter, rec *record, reason string) {
	rec.Decision, rec.Reason, rec.Status = "refused", reason, http.StatusNotFound
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// later answers with 503, and logs the reason. Ignition asks again after a 503, and gives up after
// a 404.
func later(w http.ResponseWriter, rec *record, reason string) {
	rec.Decision, rec.Reason, rec.Status = "failed", reason, http.StatusServiceUnavailable
	w.Header().Set("Retry-After", "10")
	http.Error(w, "503 try again", http.StatusServiceUnavailable)
}

// paced is an answer that is sent at the pace of its client.
type paced struct {
	http.ResponseWriter
	body *Paced
}

func (p paced) Write(b []byte) (int, error) { return p.body.Write(b) }

// show answers with an item that holds no secret.
func (s *Server) show(w http.ResponseWriter, r *http.Request, it *item, rec *record) {
	closes := it.closes
	if closes != nil && s.state.Count(&Fetch{Path: closes.path, SHA256: closes.sum}) > 0 {
		refuse(w, rec, "its document has been fetched")
		return
	}
	from, size, err := it.open()
	if err != nil {
		later(w, rec, err.Error())
		return
	}
	defer func() { _ = from.Close() }()
	// A document that has changed since does not count as another one here: nothing but --again
	// lets a machine overwrite its disk once more.
	if it.installs != nil && s.state.IsFetched(it.installs.path) {
		script := diskScript(it.installs.node)
		from, size = io.NopCloser(strings.NewReader(script)), int64(len(script))
		rec.Reason = "the machine has its document, and boots its disk"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if it.image {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	if strings.HasPrefix(it.path, "/v2/") {
		it.describe(w.Header())
	}
	w.Header().Set("Cache-Control", "no-store")
	w = paced{w, &Paced{
		To: w, Deadline: http.NewResponseController(w).SetWriteDeadline, Patience: s.patience,
	}}
	rec.Decision, rec.Status = "served", http.StatusOK
	whole := false
	if file, ok := from.(io.ReadSeeker); ok && it.parts {
		whole = showParts(w, r, file, rec)
	} else {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		n, err := io.Copy(w, from)
		rec.Bytes, whole = int(n), err == nil && n == size
	}
	if !whole {
		rec.Decision, rec.Reason = "cut off", "the connection ended"
	}
}

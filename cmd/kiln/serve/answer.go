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

// ServeHTTP answers one request. Whoever asks for what is not theirs learns nothing: all refusals are one and the same 404.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &record{Event: "request", Remote: r.RemoteAddr, Method: r.Method, Path: shortened(r.URL.Path)}
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
		s.show(w, it, rec)
	}
}

// find returns what a request is for, and why it is refused, if it is.
func (s *Server) find(r *http.Request) (*item, string) {
	it := s.catalogue.item(r.URL.Path)
	if it == nil {
		return nil, "there is no such document"
	}
	if reason := s.outsider(it, peer(r.RemoteAddr)); reason != "" {
		s.alarms.raise(askedOutside, it.path, "%s was asked for, and not given: %s",
			strings.TrimPrefix(it.path, "/"), reason)
		return it, reason
	}
	switch {
	case r.Method != http.MethodGet:
		return it, "the method is not GET"
	case !time.Now().Before(s.until):
		return it, "the window has ended"
	}
	return it, s.catalogue.stranger(it, r.URL.Query())
}

// refuse answers that there is nothing.
func refuse(w http.ResponseWriter, rec *record, reason string) {
	rec.Decision, rec.Reason, rec.Status = "refused", reason, http.StatusNotFound
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// later answers that the machine is to try again: Ignition gives up at a 404, and asks again at a 503.
func later(w http.ResponseWriter, rec *record, reason string) {
	rec.Decision, rec.Reason, rec.Status = "failed", reason, http.StatusServiceUnavailable
	w.Header().Set("Retry-After", "10")
	http.Error(w, "503 try again", http.StatusServiceUnavailable)
}

// show answers with what holds no secret.
func (s *Server) show(w http.ResponseWriter, it *item, rec *record) {
	if it.closes != nil && s.state.count(&fetch{Path: it.closes.path, SHA256: it.closes.sum}) > 0 {
		refuse(w, rec, "its document has been fetched")
		return
	}
	from, size, err := it.open()
	if err != nil {
		later(w, rec, err.Error())
		return
	}
	defer func() { _ = from.Close() }()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if it.image {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	w.Header().Set("Content-Length", fmt.Sprint(size))
	w.Header().Set("Cache-Control", "no-store")
	// A deadline that cannot be set shows at the next write.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(othersTime + time.Duration(size/slowest)*time.Second))
	rec.Decision, rec.Status = "served", http.StatusOK
	n, err := io.Copy(w, from)
	rec.Bytes = int(n)
	if err != nil || n < size {
		rec.Decision, rec.Reason = "cut off", "the connection ended"
	}
}

// outsider returns why a may not fetch a machine's item, or "". Everybody may fetch an item of no
// machine.
func (s *Server) outsider(it *item, a netip.Addr) string {
	own := s.catalogue.addresses[it.node]
	switch {
	case it.node == "" || slices.Contains(own, a) || s.peers.contains(it.node, a):
		return ""
	}
	if owner := s.catalogue.at(a); owner != "" {
		// To let it in would give it the keys of another machine.
		return fmt.Sprintf("%s is %s: look at its kernel arguments", a, owner)
	}
	if len(own) == 0 {
		return fmt.Sprintf("%s is in no network of %s; --from %[2]s=%[1]s lets it in", a, it.node)
	}
	texts := make([]string, len(own))
	for i := range own {
		texts[i] = own[i].String()
	}
	return fmt.Sprintf("%s is not an address of %s (%s); --from %[2]s=%[1]s lets it in",
		a, it.node, strings.Join(texts, ", "))
}

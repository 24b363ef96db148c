// Package serve hands rendered documents to machines over HTTP: each machine its own, once, in a bounded time. It reads the folders that
// `kiln render` and `kiln netboot` write; making certificates, flags and messages to people are the command line's.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of one connection and of one transfer.
const (
	headerTime  = 10 * time.Second // to send a request
	idleTime    = 30 * time.Second
	othersTime  = 5 * time.Minute  // to take what holds no secret, and to wait for others who take a document
	confirmTime = 30 * time.Second // to close the connection after a whole document
	slowest     = 16 << 10         // bytes a second, at which a document still arrives
	leaveTime   = 20 * time.Second // for transfers that are under way when the server ends
	drainTime   = 2 * time.Second  // for the log's reader, after them
	maxHeader   = 16 << 10
	// maxServed bounds a file; a document is a thousandth of it.
	maxServed = 64 << 20
)

// Options say what a Server remembers and for how long it serves.
type Options struct {
	// State is the file that remembers which document went to which machine.
	State string
	// Again names machines and pools whose documents are given once more, whatever the state says.
	Again []string
	// Peers are networks from which documents are given, beside their machines' own addresses.
	Peers Peers
	// PoolLimit is to how many machines of a pool its document is given.
	PoolLimit int
	// Warn is told in one line what a person has to know at once; it may be nil. It must not wait
	// for anybody, because a request waits for it: a Queue does not.
	Warn func(line string)
	// Window is how long documents are given, from Serve on.
	Window time.Duration
}

// Server gives documents to machines.
type Server struct {
	catalogue *catalogue
	state     *state
	again     []string
	peers     Peers
	limit     int // of a pool's machines
	alarms    alarms
	window    time.Duration

	audit *audit // set by Begin

	until    time.Time     // set by Serve
	stopping chan struct{} // closed when the server ends
	broken   chan error    // why it has to end

	mu        sync.Mutex
	turns     map[string]*turn // one transfer of each document to each machine at a time
	pools     map[string]int   // transfers of a pool's document that are under way
	transfers sync.WaitGroup
}

// New returns the server of some folders, at least one of which kiln render has written. It fails if an inventory does not fit its documents, and
// if the state is another cluster's. All that is wrong in the folders is in the error. Nothing is written yet.
func New(dirs []string, o Options) (*Server, error) {
	c, err := readFolders(dirs)
	if err != nil {
		return nil, err
	}
	named := slices.Clone(o.Again)
	for name := range o.Peers.of {
		named = append(named, name)
	}
	slices.Sort(named)
	for _, name := range named {
		if name != "" && c.folders[name] == "" {
			return nil, fmt.Errorf("%s: no machine or pool of %s; inventory.json names them", name, c.cluster)
		}
	}
	st, err := openState(o.State, c.id)
	if err != nil {
		return nil, err
	}
	return &Server{
		catalogue: c, state: st, again: o.Again, peers: o.Peers, limit: o.PoolLimit, window: o.Window,
		alarms: alarms{warn: o.Warn}, stopping: make(chan struct{}), broken: make(chan error, 1),
		turns: map[string]*turn{}, pools: map[string]int{},
	}, nil
}

// Begin makes the server ready: what happens is written to log, a line of JSON for each request, and
// the state to disk. It fails if the state cannot be written. No request waits for a log that nobody
// reads: lines are dropped then, and counted.
func (s *Server) Begin(log io.Writer) error {
	s.audit = newAudit(log)
	return s.state.forget(s.again)
}

// Cluster returns name and UUID of the cluster whose documents are served.
func (s *Server) Cluster() (name, id string) { return s.catalogue.cluster, s.catalogue.id }

// Machines says how many machines and pools there are.
func (s *Server) Machines() int { return len(s.catalogue.folders) }

// fetched reports whether somebody has what lies in the folder now: who has an older one still has to come.
func (s *Server) fetched(it *item) bool {
	if !s.state.fetched(it.path) {
		return false
	}
	data, err := it.read()
	return err == nil && s.state.count(&fetch{Path: it.path, SHA256: hexSum(data, 0)}) > 0
}

// Left lists the machines and pools that have not fetched a document yet, or their body if they have one, by name.
func (s *Server) Left() []string {
	fetched, bodies := map[string]bool{}, map[string]bool{}
	for _, it := range s.catalogue.items {
		switch {
		case it.body:
			bodies[it.node] = s.fetched(it)
		case it.once && s.fetched(it):
			fetched[it.node] = true
		}
	}
	var left []string
	for name := range s.catalogue.folders {
		if body, has := bodies[name]; has && !body || !has && !fetched[name] {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}

// Given lists the machines and pools that are not left, by name.
func (s *Server) Given() []string {
	left := s.Left()
	var given []string
	for _, name := range slices.Sorted(maps.Keys(s.catalogue.folders)) {
		if !slices.Contains(left, name) {
			given = append(given, name)
		}
	}
	return given
}

// Alarms counts what a person had to know, a line for each kind.
func (s *Server) Alarms() []string { return s.alarms.summary() }

// LostLines says how many lines the log has not got.
func (s *Server) LostLines() int { return s.audit.queue.Lost() }

// Serve answers on l until the window ends, ctx is done, or the state cannot be kept, which alone is an error. Transfers that are under way then
// have some seconds to end. It may be called once, after Begin.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.until = time.Now().Add(s.window)
	var protocols http.Protocols
	// A connection for each document: its end is what tells that the document arrived.
	protocols.SetHTTP1(true)
	h := &http.Server{
		Handler: s, DisableGeneralOptionsHandler: true, Protocols: &protocols, ErrorLog: log.New(s.audit, "", 0),
		ReadHeaderTimeout: headerTime, ReadTimeout: othersTime, WriteTimeout: othersTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
	s.audit.write(&record{Event: "start", Address: l.Addr().String(), Until: s.until.UTC().Format(time.RFC3339), Machines: s.Machines()})
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	window := time.NewTimer(s.window)
	defer window.Stop()
	why, failure := "", error(nil)
	select {
	case <-ctx.Done():
		why = "asked to"
	case <-window.C:
		why = "the window has ended"
	case failure = <-s.broken:
		why = "the state cannot be kept"
	case failure = <-ended:
		why = "the listener has ended"
	}
	close(s.stopping)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if h.Shutdown(late) != nil {
		_ = h.Close()
	}
	s.wait(late)
	s.audit.write(&record{Event: "stop", Reason: why, Left: s.Left()})
	s.audit.queue.End(drainTime)
	return failure
}

// wait waits for the documents that are under way.
func (s *Server) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { s.transfers.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

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

// give answers with a document, if the machine has not had it. Several who ask for one document at the same time wait for each other, so that the next
// one gets it if the first is cut off.
func (s *Server) give(w http.ResponseWriter, r *http.Request, it *item, rec *record) {
	machine := it.machine(r)
	turn, leave := s.turn(it.path + " " + machine)
	defer leave()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-r.Context().Done():
		// It is gone, or has waited for too long: whoever is still there must not take an empty answer for the document.
		later(w, rec, "another transfer of the document is under way")
		return
	case <-s.stopping:
		later(w, rec, "the server is ending")
		return
	}
	data, err := it.read()
	if err != nil {
		s.alarms.raise(unreadable, it.path, "%s cannot be given, and %s waits for it: %v",
			rec.Document, peer(r.RemoteAddr), err)
		later(w, rec, err.Error())
		return
	}
	f := fetch{Path: it.path, Node: it.node, Machine: machine, SHA256: hexSum(data, 0), Remote: r.RemoteAddr}
	if before := s.state.find(&f); before != nil {
		s.tell(it, before, &f)
		refuse(w, rec, fmt.Sprintf("fetched before, at %s by %s", before.Time.Format(time.RFC3339), before.Remote))
		return
	}
	if it.pool {
		leave, full, busy := s.enter(&f)
		switch {
		case full:
			s.alarms.raise(poolFull, it.path, "%s: %d machines have it, and %s asks as another one: if the "+
				"pool %s has more, say so with --pool-limit; if not, one of them is not of the pool",
				rec.Document, s.limit, peer(r.RemoteAddr), it.node)
			refuse(w, rec, fmt.Sprintf("%d machines of the pool have it, the limit", s.limit))
			return
		case busy:
			later(w, rec, "other machines take the last that the pool's limit leaves")
			return
		}
		defer leave()
	}
	s.transfers.Add(1)
	defer s.transfers.Done()
	rec.Status = http.StatusOK
	rec.Bytes, err = deliver(w, data)
	switch {
	case err != nil && rec.Bytes == len(data):
		// What was written may have been read, whether or not the reader says so.
		rec.Decision, rec.Reason = "disclosed", err.Error()
		s.alarms.raise(disclosed, it.path, "%s was sent whole to %s, which did not confirm it: it can be "+
			"fetched again, and %[2]s may have it; if that is not the machine, what it holds is known",
			rec.Document, peer(r.RemoteAddr))
		return
	case err != nil:
		rec.Decision, rec.Reason = "cut off", err.Error()
		return
	}
	rec.Decision = "served"
	f.Time = time.Now().UTC().Truncate(time.Second)
	if err := s.state.add(f); err != nil {
		rec.Reason = err.Error()
		select {
		case s.broken <- err:
		default:
		}
	}
	if n := s.state.machines(&f); it.pool && n > 1 {
		s.alarms.raise(poolShared, it.path, "%s: %s has it as %d machines; behind a NAT or a proxy that is "+
			"usual, and otherwise somebody collects it", rec.Document, peer(r.RemoteAddr), n)
	}
}

// tell says that a document that somebody has was asked for again.
func (s *Server) tell(it *item, before, now *fetch) {
	first, second := peer(before.Remote), peer(now.Remote)
	name, at := strings.TrimPrefix(it.path, "/"), before.Time.Format(time.RFC3339)
	if first == second {
		s.alarms.raise(askedAgain, it.path, "%s was asked for again by %s, which has had it since %s: the "+
			"machine forgot it (--again %s gives it once more), or somebody else took it there",
			name, second, at, it.node)
		return
	}
	s.alarms.raise(askedAgain, it.path, "%s was asked for again by %s, and %s has had it since %s: if one of "+
		"them is not the machine, what it holds is known", name, second, first, at)
}

// turn is what the transfers of one document to one machine wait for.
type turn struct {
	taken chan struct{}
	users int
}

// turn returns the turn of a key, and what says that it is not needed any more.
func (s *Server) turn(key string) (taken chan struct{}, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turns[key]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		s.turns[key] = t
	}
	t.users++
	return t.taken, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(s.turns, key)
		}
	}
}

// enter counts a transfer of a pool's document. It is full if as many machines as may have it do,
// and busy if those that are fetching it would be the last ones; leave ends the transfer otherwise.
func (s *Server) enter(f *fetch) (leave func(), full, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch have := s.state.count(f); {
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

// Errors of a transfer, without the addresses that net's have.
var (
	errCutOff      = errors.New("the connection ended before the document did")
	errUnconfirmed = errors.New("the document was sent, and its receiver did not close the connection")
)

// deliver sends a document in a connection of its own, and returns without an error if the other side has it: it has then read everything and
// closed the connection. A process that dies with something unread makes its system reset the connection, and a machine that dies says nothing. What
// was written tells less: it may lie in the buffers between.
func deliver(w http.ResponseWriter, data []byte) (sent int, err error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return 0, errCutOff
	}
	defer func() { _ = conn.Close() }()
	// Deadlines that cannot be set show at the next read or write.
	_ = conn.SetDeadline(time.Now().Add(confirmTime + time.Duration(len(data)/slowest)*time.Second))
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n", len(data))
	n, err := conn.Write(slices.Concat([]byte(head), data))
	if err != nil {
		return max(0, n-len(head)), errCutOff
	}
	// TLS' own farewell is not sent: a client that leaves it unread would reset the connection. The end of a plain connection is nothing to read, and some
	// old clients wait for it.
	if plain, ok := conn.(*net.TCPConn); ok {
		_ = plain.CloseWrite()
	}
	_ = conn.SetDeadline(time.Now().Add(confirmTime))
	if _, err := io.Copy(io.Discard, io.LimitReader(conn, maxHeader)); err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return len(data), errUnconfirmed
		}
		return len(data), errCutOff
	}
	return len(data), nil
}

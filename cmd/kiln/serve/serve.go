// Package serve hands rendered documents to machines over HTTP: each machine its own, once, in a bounded time. It reads the folders that
// `kiln render` and `kiln netboot` write; making certificates, flags and messages to people are the command line's.
package serve

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
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

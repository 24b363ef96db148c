// Package serve gives machines their documents over HTTP: each machine its own, once, within a
// limited time. It reads the folders that `kiln render` and `kiln netboot` write. It leaves flags
// and exit codes to the command line.
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
	"sync"
	"time"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
)

// Bounds of one connection and of one transfer.
const (
	headerTime  = 5 * time.Second  // for a client to send a request, and for the handshake of TLS
	idleTime    = 30 * time.Second // for an open connection without a request
	othersTime  = 5 * time.Minute  // to wait for a transfer
	patience    = 30 * time.Second // for a client to take a part of a file (Paced)
	confirmTime = 30 * time.Second // for a client to close the connection after a whole document
	leaveTime   = 20 * time.Second // for open transfers when the server ends
	cutTime     = 5 * time.Second  // for those that are cut off after it
	drainTime   = 2 * time.Second  // for the reader of the log, after the transfers
	maxHeader   = 4 << 10          // bytes of a request; Go adds as much
)

// Options are the settings of a Server.
type Options struct {
	// State is the file that remembers which machine fetched which document. What machines announce
	// is in a file beside it.
	State string
	// Again names machines and pools that may fetch their documents once more, whatever the state
	// says.
	Again []string
	// Peers are networks that may fetch documents, beside each machine's own addresses.
	Peers Peers
	// PoolLimit is the number of machines that may fetch the document of a pool.
	PoolLimit int
	// Warn gets each line that a person has to see at once. It may be nil. A request waits for
	// Warn, so Warn must not wait for a reader; a Queue does not.
	Warn func(line string)
	// Announced gets each state that a machine announces and that is another than before. It may
	// be nil, and must not wait for a reader either.
	Announced func(announce.Row)
	// Archive is a folder of kiln archive, whose programs and images everybody gets. It may be
	// empty.
	Archive string
	// Window is the time from Serve on in which documents are given.
	Window time.Duration
	// Life is the time in which announcements are taken, if it is longer than Window.
	Life time.Duration
}

// Server gives machines their documents.
type Server struct {
	catalogue *catalogue
	state     *Ledger
	copies    copies
	again     []string
	peers     Peers
	limit     int // the number of machines that get a pool's document
	alarms    alarms
	window    time.Duration
	life      time.Duration // from Serve to the end of the server

	board      *announce.Board // what the machines announced
	onAnnounce func(announce.Row)
	ears       Ears
	door       *Door
	hearTime   time.Duration // for a client to send a body
	patience   time.Duration // for a client to take a part of a file

	audit *audit // set by Begin

	until    time.Time     // the end of the window; set by Serve
	stopping chan struct{} // closed when the server ends
	broken   chan error    // gets the error that ends the server

	mu        sync.Mutex
	turns     map[string]*turn // by document and machine, and by a pool's document and address
	pools     map[string]int   // open transfers of a pool's document, by its path
	transfers sync.WaitGroup   // of all requests
	over      context.Context  // is done when open transfers are cut off
	cutOff    context.CancelFunc

	refused int           // announcements that were not taken
	doubts  announce.Pace // of the lines about them
}

// New returns the server of some folders, and writes nothing yet. It fails if kiln render has
// written none of the folders, if an inventory does not fit its documents, or if the state is
// another cluster's. The error holds everything that is wrong in the folders.
func New(dirs []string, o Options) (*Server, error) {
	c, err := readFolders(dirs, o.Archive)
	if err != nil {
		return nil, err
	}
	names := slices.AppendSeq(slices.Clone(o.Again), maps.Keys(o.Peers.of))
	slices.Sort(names)
	for _, name := range names {
		if name != "" && c.folders[name] == "" {
			return nil, fmt.Errorf("%s: no machine or pool of %s; inventory.json names them",
				name, c.cluster)
		}
	}
	st, err := OpenLedger(LedgerOptions{
		Path: o.State, Cluster: c.id, Machines: c.announcing(), PoolLimit: o.PoolLimit,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{
		catalogue: c, state: st, again: o.Again, peers: o.Peers, limit: o.PoolLimit,
		window: o.Window, life: max(o.Window, o.Life), alarms: alarms{warn: o.Warn},
		board: st.Board(), onAnnounce: o.Announced, hearTime: hearTime, patience: patience,
		stopping: make(chan struct{}), broken: make(chan error, 1),
		turns: map[string]*turn{}, pools: map[string]int{},
	}
	s.door = s.newDoor(o.PoolLimit)
	s.over, s.cutOff = context.WithCancel(context.Background())
	return s, nil
}

// Begin prepares the server: it writes the state to disk, and keeps log for a line of JSON about
// each request. It fails if the state cannot be written. No request waits for a log that nobody
// reads: the server drops such lines, and counts them.
func (s *Server) Begin(log io.Writer) error {
	s.audit = newAudit(log)
	return s.state.Forget(s.again)
}

// Ended is a cause of the end of a context with which a server ends. It stands in the log.
type Ended string

func (e Ended) Error() string { return string(e) }

// Serve answers on l until the window ends or ctx is done. It fails if the listener fails, or if
// the state cannot be written. Transfers that are open at the end have some seconds left. It may be
// called once, after Begin.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer s.state.Close()
	s.until = time.Now().Add(s.window)
	h := s.httpServer()
	s.audit.write(&record{
		Event: "start", Address: l.Addr().String(),
		Until: s.until.UTC().Format(time.RFC3339), Machines: s.Machines(),
	})
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	window := time.NewTimer(s.life)
	defer window.Stop()
	why, failure := "", error(nil)
	select {
	case <-ctx.Done():
		why = "asked to"
		if cause := Ended(""); errors.As(context.Cause(ctx), &cause) {
			why = cause.Error()
		}
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
	s.cutOff()
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
	defer cancel()
	s.wait(soon) // they say in the log and in alarms what was sent
	if err := s.state.Settle(); failure == nil {
		failure = err
	}
	s.audit.write(&record{Event: "stop", Reason: why, Left: s.Left()})
	s.audit.queue.End(drainTime)
	return failure
}

// httpServer returns the server below the handler.
func (s *Server) httpServer() *http.Server {
	var protocols http.Protocols
	// Without HTTP/2 each document has a connection of its own, whose end shows that it arrived.
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: s, ConnState: s.door.Watch,
		DisableGeneralOptionsHandler: true, Protocols: &protocols,
		ErrorLog:          log.New(s.audit, "", 0),
		ReadHeaderTimeout: headerTime, ReadTimeout: othersTime, WriteTimeout: othersTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
}

// wait waits for the open transfers until ctx is done.
func (s *Server) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { s.transfers.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

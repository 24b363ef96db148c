// This file shows what machines announce to kiln serve, and waits for them, as --wait asks.

package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/cmd/kiln/term"
)

// lastTime is the time that the end of the lines waits for their reader.
const lastTime = time.Second

// Watch shows what the machines announce. It is the writer of the server's messages: on a terminal
// they stand above the table.
type Watch struct {
	life   time.Duration
	stderr io.Writer
	events *Queue    // takes lines of JSON; nil without them
	window io.Writer // the terminal with the table; nil without one
	size   func() (width, height int)
	view   atomic.Pointer[announce.View]
	result announce.Result
}

// NewWatch returns the watch of a server that waits for machines for the time of life; 0 is for a
// server that waits for none and shows nothing. It shows a table if out is a terminal and asJSON is
// false.
func NewWatch(life time.Duration, asJSON bool, out, stderr io.Writer) *Watch {
	w := &Watch{life: life, stderr: stderr}
	if life == 0 {
		return w
	}
	if !asJSON {
		w.window, w.size = term.Window(out)
	}
	if w.window == nil {
		w.events = NewQueue(out, func(n int) []byte {
			return fmt.Appendf(nil, "{\"lost\":%d}\n", n)
		})
	}
	return w
}

// PrintsLines reports whether standard output takes lines of JSON, and nothing else.
func (w *Watch) PrintsLines() bool { return w.events != nil }

// Begin finds the machines to wait for. It fails if there are none.
func (w *Watch) Begin(s *Server) error {
	if w.life == 0 {
		return nil
	}
	machines, err := s.Announcing()
	if err != nil {
		return err
	}
	if len(machines) == 0 {
		return fmt.Errorf("--wait: no machine announces its state, so that there is nothing to " +
			"wait for; set machines.report in cluster.yaml, and run: kiln render")
	}
	w.view.Store(announce.NewView(s.Board(), machines, w.window, w.size))
	for _, row := range s.Board().Rows() {
		w.Show(row)
	}
	return nil
}

// Show prints what a machine announced, as a line of JSON.
func (w *Watch) Show(row announce.Row) {
	if w.events == nil {
		return
	}
	line, _ := term.Line(row) // it cannot fail: strings and numbers
	w.events.Keep(line)
}

// Write prints messages of the server.
func (w *Watch) Write(text []byte) (int, error) {
	view := w.view.Load()
	if w.window == nil || view == nil {
		return w.stderr.Write(text)
	}
	view.Note(strings.TrimSuffix(string(text), "\n"))
	return len(text), nil
}

// Log returns the log of a server without --log: standard error. Where it is the terminal of a
// table, nobody could read both.
func (w *Watch) Log() io.Writer {
	if terminal, _ := term.Window(w.stderr); w.window != nil && terminal != nil {
		return io.Discard
	}
	return w.stderr
}

// ended says why a wait has ended before its time.
var ended = map[announce.Result]Ended{
	announce.AllDone:     "all machines are done",
	announce.SomeStopped: "a machine has stopped",
}

// Serve serves until the window ends or, with --wait, until the wait ends.
func (w *Watch) Serve(ctx context.Context, s *Server, l net.Listener) error {
	view := w.view.Load()
	if view == nil {
		return s.Serve(ctx, l)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, w.life, Ended("--wait-timeout is over"))
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.result = view.Wait(ctx)
		end(ended[w.result])
	}()
	err := s.Serve(ctx, l)
	cancel()
	<-over
	w.view.Store(nil) // later messages stand below the table
	if w.events != nil {
		_, _ = fmt.Fprintf(w.stderr, "kiln: %s\n", view.Line())
	}
	return err
}

// End ends the lines of JSON, and returns how many of them are missing.
func (w *Watch) End() int {
	if w.events == nil {
		return 0
	}
	w.events.End(lastTime)
	return w.events.Lost()
}

// Failure returns term.ErrDifferent unless all machines are done.
func (w *Watch) Failure() error {
	if w.result == announce.AllDone {
		return nil
	}
	return term.ErrDifferent
}

// Package term stands between a verb and the person or program that calls it. A verb prints through
// its Screen, which keeps control characters from a terminal. The package has the forms of messages
// and reports, reads arguments, flags, paths and the configuration of a command line, says why a
// verb failed, and takes from the process what a verb does not need.
package term

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"kiln.dev/kiln/render/text/wording"
)

// Screen is a writer that replaces control characters by escapes, so that nothing in a name or a
// file can command a terminal. It leaves newlines and tabs as they are. It treats a pipe the same
// way, because most of the output of a pipe is shown on a terminal in the end.
type Screen struct {
	w        io.Writer
	terminal bool
	colour   bool              // colours are wanted on a terminal
	names    *strings.Replacer // escapes line breaks in names; nil if no name has one

	mu   sync.Mutex
	rest []byte // the first bytes of a character whose last bytes have not been written yet

	limit atomic.Int64 // nanoseconds that a write may wait for its reader; 0 means for ever
	stuck atomic.Bool  // a write has waited for so long; later ones fail at once

	failure atomic.Pointer[error] // the first error of the writer below
}

// errStuck comes from a write that nobody read within the limit of Hurry, and from all writes after
// it.
var errStuck = errors.New("nobody reads")

// NewScreen returns the screen of a writer. It is a terminal if the writer is a file that is one;
// colour allows colours there.
func NewScreen(w io.Writer, colour bool) *Screen {
	f, ok := w.(*os.File)
	return &Screen{w: w, terminal: ok && term.IsTerminal(int(f.Fd())), colour: colour}
}

// HasColour reports whether w is the screen of a terminal that may show colours.
func HasColour(w io.Writer) bool {
	s, ok := w.(*Screen)
	return ok && s.terminal && s.colour
}

// Raw returns a writer that writes content unchanged, for verbs that are asked for exactly that:
// the file that lies on a machine, or a report in kiln's own colours. A terminal gets unchanged
// content only if visible says that it has no control characters but kiln's own.
func Raw(w io.Writer, visible bool) io.Writer {
	if s, ok := w.(*Screen); ok && (visible || !s.terminal) {
		return raw{s}
	}
	return w
}

// Window returns the terminal of a screen, past the screen, and a function that returns its size.
// It returns nil if w is no screen of a terminal.
func Window(w io.Writer) (window io.Writer, size func() (width, height int)) {
	s, ok := w.(*Screen)
	if !ok || !s.terminal {
		return nil, nil
	}
	return raw{s}, func() (int, int) {
		const width, height = 80, 24 // if the terminal does not say it
		f, _ := s.w.(*os.File)
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil || w == 0 || h == 0 {
			return width, height
		}
		return w, h
	}
}

// raw writes past a screen, and keeps the error as the screen does.
type raw struct{ s *Screen }

func (r raw) Write(content []byte) (int, error) {
	n, err := r.s.w.Write(content)
	return n, r.s.keep(err)
}

// keep remembers the first error of the writer below, and returns its argument.
func (s *Screen) keep(err error) error {
	if err != nil {
		s.failure.CompareAndSwap(nil, &err)
	}
	return err
}

// Failure returns the first error of the writer below, so that no verb has to look at the error of
// each line that it prints. It is nil after a write that nobody read within the limit of Hurry.
func (s *Screen) Failure() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Hurry limits how long writes to w, if it is a screen, wait for a reader. After the first write
// that takes longer than limit, nothing more is written. Close has the same limit.
func Hurry(w io.Writer, limit time.Duration) {
	if s, ok := w.(*Screen); ok {
		s.limit.Store(int64(limit))
	}
}

// within calls write and waits for it until the limit of Hurry. It returns errStuck when the limit
// is over, and at once if an earlier write reached it.
func (s *Screen) within(write func() (int, error)) (int, error) {
	limit := time.Duration(s.limit.Load())
	switch {
	case limit == 0:
		return write()
	case s.stuck.Load():
		return 0, errStuck
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := write()
		done <- result{n, err}
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case r := <-done:
		return r.n, r.err
	case <-late.C:
		s.stuck.Store(true)
		return 0, errStuck
	}
}

// Stat describes the file that the screen writes to. It fails with errors.ErrUnsupported if the
// screen does not write to a file.
func (s *Screen) Stat() (fs.FileInfo, error) {
	if f, ok := s.w.(*os.File); ok {
		return f.Stat()
	}
	return nil, errors.ErrUnsupported
}

// Write writes content with escapes for control characters. It keeps back the first bytes of a
// character until the last ones come, or until Close.
func (s *Screen) Write(content []byte) (int, error) {
	return s.within(func() (int, error) { return s.write(bytes.Clone(content)) })
}

func (s *Screen) write(content []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(s.rest, content...)
	end := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if utf8.RuneStart(all[len(all)-back]) {
			if !utf8.FullRune(all[len(all)-back:]) {
				end -= back
			}
			break
		}
	}
	s.rest = slices.Clone(all[end:])
	_, err := io.WriteString(s.w, wording.Visible(OneLine(s, string(all[:end])), "\n\t"))
	if s.keep(err) != nil {
		return 0, err
	}
	return len(content), nil
}

// Close writes the first bytes of a character whose last ones never came. It leaves the writer
// below open.
func (s *Screen) Close() error {
	_, err := s.within(func() (int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n, err := io.WriteString(s.w, wording.Visible(string(s.rest), ""))
		s.rest = nil
		return n, s.keep(err)
	})
	return err
}

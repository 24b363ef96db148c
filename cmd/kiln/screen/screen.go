// Package screen is what every verb prints through: it keeps control characters from a terminal.
package screen

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"kiln/render/terminal"
)

// Screen is what every verb prints through, results and messages: a terminal obeys nothing of what it is
// given. Line ends and tabs are left as they are. A pipe is treated alike: most of what goes there is shown
// on a terminal in the end.
type Screen struct {
	w        io.Writer
	terminal bool
	colour   bool // colours are wanted on a terminal

	mu   sync.Mutex
	rest []byte // the beginning of a character that was cut off

	limit atomic.Int64 // nanoseconds that a write may wait for its reader; none is for ever
	stuck atomic.Bool  // a write has waited so long: all that follow fail
}

// errStuck comes when a screen is in a hurry and nobody reads it.
var errStuck = errors.New("nobody reads")

// New returns the screen of a writer. It is a terminal if the writer is a file that is one; colour
// allows colours there.
func New(w io.Writer, colour bool) *Screen {
	f, ok := w.(*os.File)
	return &Screen{w: w, terminal: ok && term.IsTerminal(int(f.Fd())), colour: colour}
}

// Coloured reports whether w is the screen of a terminal that may show colours.
func Coloured(w io.Writer) bool {
	s, ok := w.(*Screen)
	return ok && s.terminal && s.colour
}

// Hurry lets no write to w, if it is a screen, wait for its reader longer than limit. Nothing more is
// written after the first one that did. Close is held to it, too.
func Hurry(w io.Writer, limit time.Duration) {
	if s, ok := w.(*Screen); ok {
		s.limit.Store(int64(limit))
	}
}

// within calls write, and waits for it no longer than the limit.
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

// Stat tells what kind of file a screen writes to.
func (s *Screen) Stat() (fs.FileInfo, error) {
	if f, ok := s.w.(*os.File); ok {
		return f.Stat()
	}
	return nil, errors.ErrUnsupported
}

// Write writes text. The beginning of a character waits for its end, or for Close.
func (s *Screen) Write(text []byte) (int, error) {
	return s.within(func() (int, error) { return s.write(bytes.Clone(text)) })
}

func (s *Screen) write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(s.rest, text...)
	end := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if utf8.RuneStart(all[len(all)-back]) {
			if !utf8.FullRune(all[len(all)-back:]) {
				end -= back
			}
			break
		}
	}
	s.rest = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(s.w, terminal.Visible(string(all[:end]), "\n\t")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close writes the beginning of a character whose end never came. It leaves the writer below open.
func (s *Screen) Close() error {
	_, err := s.within(func() (int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n, err := io.WriteString(s.w, terminal.Visible(string(s.rest), ""))
		s.rest = nil
		return n, err
	})
	return err
}

// Raw returns what writes content as it is, for verbs that are asked for just that: the file that lies
// on a machine, or a text in kiln's own colours. A terminal is given what it can show, unless visible says
// that the text is so already.
func Raw(w io.Writer, visible bool) io.Writer {
	if s, ok := w.(*Screen); ok && (visible || !s.terminal) {
		return s.w
	}
	return w
}

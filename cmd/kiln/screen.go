package main

import (
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"kiln/render/terminal"
)

// screen is what every verb prints through, results and messages: a terminal obeys nothing of what it is
// given. Line ends and tabs are left as they are. A pipe is treated alike: most of what goes there is shown
// on a terminal in the end.
type screen struct {
	w        io.Writer
	terminal bool

	mu   sync.Mutex
	rest []byte // the beginning of a character that was cut off
}

func newScreen(w io.Writer) *screen {
	f, ok := w.(*os.File)
	return &screen{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// Write writes text. The beginning of a character waits for its end, or for Close.
func (s *screen) Write(text []byte) (int, error) {
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
func (s *screen) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.w, terminal.Visible(string(s.rest), ""))
	s.rest = nil
	return err
}

// exact returns what writes content as it is, for verbs that are asked for just that: the file that lies
// on a machine, or a text in kiln's own colours. A terminal is given what it can show, unless visible says
// that the text is so already.
func exact(w io.Writer, visible bool) io.Writer {
	if s, ok := w.(*screen); ok && (visible || !s.terminal) {
		return s.w
	}
	return w
}

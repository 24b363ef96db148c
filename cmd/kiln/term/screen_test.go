package term

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNames: the name of a file forges no line, in whatever form a verb shows it.
func TestNames(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewScreen(&out, false)
	s.Names([]string{"render", "dir/a\nkiln: forged/x", "--out=\tb/", "\n", "plain"})
	for text, want := range map[string]string{
		"a\nkiln: forged is there\n": "a\\u000akiln: forged is there\n",
		"in \tb: one\n\ttwo\n":       "in \\u0009b: one\n\ttwo\n",
		"plain\n\nlines\n":           "plain\n\nlines\n",
	} {
		out.Reset()
		_, err := io.WriteString(s, text)
		require.NoError(t, err)
		require.Equal(t, want, out.String())
		require.Equal(t, want, OneLine(s, text))
	}
	require.Equal(t, "a\nb", OneLine(&out, "a\nb"))
}

// TestScreen: nothing that a verb prints moves the cursor, in whatever pieces it is written.
func TestScreen(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                          "",
		"one\n\ttwo\n":              "one\n\ttwo\n",
		"ä 漢 🙂 …\n":                 "ä 漢 🙂 …\n",
		"\x1b[2J\rcluster is valid": `\u001b[2J\u000dcluster is valid`,
		"\u202ex\u2028":             `\u202ex\u2028`,
		"cut \xf0\x9f\x99":          `cut \xf0\x9f\x99`,
		"\x80\x80\x80\x80\x80":      `\x80\x80\x80\x80\x80`,
	} {
		for name, in := range map[string]io.Reader{
			"whole": strings.NewReader(content),
			"bytes": iotest.OneByteReader(strings.NewReader(content)),
		} {
			var out bytes.Buffer
			s := NewScreen(&out, true)
			_, err := io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{in})
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.Equal(t, want, out.String(), name)
		}
	}
}

// TestRaw: raw content goes to a file or a pipe unchanged, and to a terminal with escapes.
func TestRaw(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, row := range []struct {
		terminal, visible bool
		want              string
	}{
		{false, false, "\x1b"}, {true, false, `\u001b`},
		{true, true, "\x1b"}, {false, true, "\x1b"},
	} {
		out.Reset()
		_, err := Raw(&Screen{w: &out, terminal: row.terminal}, row.visible).Write([]byte("\x1b"))
		require.NoError(t, err)
		require.Equal(t, row.want, out.String(), "%+v", row)
	}
}

// TestFailure: a screen keeps the first error of its writer, so that it is known at the end of a
// verb that looked at no error.
func TestFailure(t *testing.T) {
	t.Parallel()
	full, later := errors.New("full"), errors.New("later")
	for _, to := range []func(s *Screen) io.Writer{
		func(s *Screen) io.Writer { return s },
		func(s *Screen) io.Writer { return Raw(s, true) },
	} {
		errs := []error{nil, full, later}
		s := NewScreen(writer(func([]byte) (int, error) {
			err := errs[0]
			errs = errs[1:]
			return 0, err
		}), true)
		for _, want := range []error{nil, full, full} {
			_, _ = to(s).Write([]byte("x"))
			require.Equal(t, want, s.Failure())
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestHurry: a screen that nobody reads delays the end of a verb by the limit, and not by the limit
// for each line.
func TestHurry(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = r.Close() }()
	s := NewScreen(w, true)
	Hurry(s, 10*time.Millisecond)
	for range 3 {
		_, err := s.Write([]byte("x"))
		require.ErrorIs(t, err, errStuck)
	}
	require.ErrorIs(t, s.Close(), errStuck)
	require.True(t, s.stuck.Load(), "no later write waits")
	require.NoError(t, s.Failure())
}

// TestHasColour: colours go to a terminal alone, and only if they are wanted.
func TestHasColour(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.True(t, HasColour(&Screen{w: &out, terminal: true, colour: true}))
	require.False(t, HasColour(&Screen{w: &out, terminal: true}))
	require.False(t, HasColour(NewScreen(&out, true)), "a pipe or a file")
	require.False(t, HasColour(&out))
}

package screen

import (
	"bytes"
	"testing"
	"testing/iotest"
	"time"

	"io"
	"strings"

	"github.com/stretchr/testify/require"
)

// TestScreen: nothing that a verb prints moves a cursor, however the text is cut into pieces.
func TestScreen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "",
		"one\n\ttwo\n":              "one\n\ttwo\n",
		"ä 漢 🙂 …\n":                 "ä 漢 🙂 …\n",
		"\x1b[2J\rcluster is valid": `\u001b[2J\u000dcluster is valid`,
		"\u202ex\u2028":             `\u202ex\u2028`,
		"cut \xf0\x9f\x99":          `cut \xf0\x9f\x99`,
		"\x80\x80\x80\x80\x80":      `\x80\x80\x80\x80\x80`,
	} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
			var out bytes.Buffer
			s := New(&out, true)
			_, err := io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{in})
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.Equal(t, want, out.String(), name)
		}
	}
}

// TestRaw: what is asked for as it is goes to a file or a pipe as it is, and to a terminal as it can be shown.
func TestRaw(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, row := range []struct {
		terminal, shown bool
		want            string
	}{
		{false, false, "\x1b"}, {true, false, `\u001b`}, {true, true, "\x1b"}, {false, true, "\x1b"},
	} {
		out.Reset()
		_, err := Raw(&Screen{w: &out, terminal: row.terminal}, row.shown).Write([]byte("\x1b"))
		require.NoError(t, err)
		require.Equal(t, row.want, out.String(), "%+v", row)
	}
}

// TestScreenInAHurry: a screen that nobody reads holds up a verb that is about to end for the limit
// at most, and not for every line.
func TestScreenInAHurry(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = r.Close() }()
	s := New(w, true)
	Hurry(s, 10*time.Millisecond)
	for range 3 {
		_, err := s.Write([]byte("x"))
		require.ErrorIs(t, err, errStuck)
	}
	require.ErrorIs(t, s.Close(), errStuck)
	require.True(t, s.stuck.Load(), "nobody waits again")
}

// TestColoured: colours go to a terminal alone, and only if they are wanted.
func TestColoured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.True(t, Coloured(&Screen{w: &out, terminal: true, colour: true}))
	require.False(t, Coloured(&Screen{w: &out, terminal: true}))
	require.False(t, Coloured(New(&out, true)), "a pipe or a file")
	require.False(t, Coloured(&out))
}

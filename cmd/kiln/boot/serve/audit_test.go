package serve

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStrangersFillNoDisk: clients that nobody let in cause few and short lines in a log, however
// many requests they send. The log counts the lines that are missing, and has every line about a
// document that was given.
func TestStrangersFillNoDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file, err := os.Create(filepath.Join(t.TempDir(), "log"))
		require.NoError(t, err)
		defer func() { _ = file.Close() }()
		a := newAudit(file)
		text := func() string {
			data, err := os.ReadFile(file.Name())
			require.NoError(t, err)
			return string(data)
		}
		for i := range 10 * strangerBurst {
			a.write(&record{Event: "request", Decision: "refused", Path: fmt.Sprint(i)})
			a.write(&record{Event: "request", Decision: "served", Path: "boot.ipxe"})
			_, _ = a.Write([]byte("TLS handshake error"))
		}
		require.Equal(t, strangerBurst, strings.Count(text(), "\n"))
		require.Equal(t, 29*strangerBurst, a.queue.Lost())
		for range 10 {
			a.write(&record{Event: "request", Decision: "served", given: true})
		}
		require.Equal(t, strangerBurst+11, strings.Count(text(), "\n"))
		require.Contains(t, text(), fmt.Sprintf(`"event":"lost","lines":%d}`, 29*strangerBurst))
		time.Sleep(10 * strangerEvery)
		for range 100 {
			a.write(&record{Event: "request", Decision: "refused"})
		}
		require.Equal(t, strangerBurst+21, strings.Count(text(), "\n"))
	})
}

// TestPoolFillsNoDisk: what the machines of a pool announce has a bounded number of lines, and
// leaves strangers and named machines theirs.
func TestPoolFillsNoDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log")
		file, err := os.Create(path)
		require.NoError(t, err)
		a := newAudit(file)
		for i := range 5000 {
			a.announced(&record{Event: "announce", Machine: fmt.Sprint("pooled-", i)}, true)
		}
		a.announced(&record{Event: "announce", Machine: "named"}, false)
		a.write(&record{Event: "request", Path: "/stranger"})
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, strangerBurst, strings.Count(string(text), "pooled-"))
		require.Equal(t, 1, strings.Count(string(text), `"named"`))
		require.Equal(t, 1, strings.Count(string(text), "/stranger"))
		require.Equal(t, 5000-strangerBurst, a.queue.Lost())
	})
}

// TestDisclosedLines: a client that takes a document again and again without confirming it causes
// few lines, hides no line about another client, and those that are missing are counted.
func TestDisclosedLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		a := newAudit(out)
		line := func(remote, decision string) {
			a.write(&record{Event: "request", Document: "a", Remote: remote, Decision: decision,
				given: true})
		}
		for i := range 1000 {
			line(fmt.Sprintf("10.0.0.1:%d", i+1), "disclosed")
		}
		line("10.0.0.2:1", "disclosed")
		line("10.0.0.1:1", "served")
		a.queue.End(time.Second)
		require.Equal(t, receiverBurst, strings.Count(out.String(), "10.0.0.1")-1)
		require.Contains(t, out.String(), "10.0.0.2")
		require.Contains(t, out.String(), "served")
		require.Equal(t, 1000-receiverBurst, a.queue.Lost())
	})
}

// TestAlarmsAreFew: a client that causes many alarms does not fill the terminal, and hides no alarm
// of another kind. All alarms are counted.
func TestAlarmsAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		a := &alarms{warn: func(line string) { lines = append(lines, line) }}
		for range 1000 {
			a.raise(askedOutside, "/cp-1/user-data", "the first")
		}
		require.Equal(t, []string{"the first"}, lines)
		a.raise(askedAgain, "/cp-1/user-data", "of another kind")
		require.Len(t, lines, 2)
		for i := range 1000 {
			a.raise(askedOutside, fmt.Sprint(i), "one of many")
		}
		require.Len(t, lines, 1+alarmBurst)
		lines = nil
		time.Sleep(quietTime)
		a.raise(askedOutside, "/cp-1/user-data", "much later")
		require.Equal(t, []string{
			"much later (and 993 more of this kind before it)",
		}, lines)
		lines = nil
		for range 3600 { // a client that goes on for an hour
			time.Sleep(time.Second)
			for i := range 20 {
				a.raise(askedOutside, fmt.Sprint(i), "on and on")
			}
		}
		require.LessOrEqual(t, len(lines), 3600/10+alarmBurst)
		require.Equal(t, []string{
			titles[askedAgain] + ": 1", titles[askedOutside] + ": 74001",
		}, a.summary())
	})
}

// TestAlarmsAreLines: nothing in an alarm moves the cursor or begins another line.
func TestAlarmsAreLines(t *testing.T) {
	t.Parallel()
	var line string
	a := &alarms{warn: func(text string) { line = text }}
	a.raise(askedAgain, "", "a\x1b[2Jb\r\nc\u202ed é")
	require.Equal(t, `a\u001b[2Jb\u000d\u000ac\u202ed é`, line)
	require.False(t, strings.ContainsAny(line, "\x1b\r\n"))
	for _, title := range titles {
		require.NotEmpty(t, title)
	}
}

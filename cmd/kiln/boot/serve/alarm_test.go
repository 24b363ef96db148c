package serve

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

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

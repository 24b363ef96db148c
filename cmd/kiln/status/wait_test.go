package status_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/status"
	"kiln.dev/kiln/cmd/kiln/term"
)

// TestMinute: --wait ends if for more than a minute nothing is left but what the user may not see,
// or the credential is refused. What the API server accepts meanwhile begins the minute anew.
func TestMinute(t *testing.T) {
	t.Parallel()
	with := func(path string, code int) api {
		w := whole()
		w[path] = answer(code, "{}")
		return w
	}
	blind, refused := with(daemonSetsPath, 403), with(nodesPath, 403)
	busy := with(markerPath, 404)
	const pause = 2 * time.Second
	for name, row := range map[string]struct {
		world func(passed time.Duration) api
		ends  time.Duration // after which it ends
		fails string
		want  string
	}{
		"what is not seen": {
			world: func(time.Duration) api { return blind },
			ends:  time.Minute + pause, want: "NOT SEEN DaemonSets: ",
		},
		"a refusal": {
			world: func(time.Duration) api { return refused },
			ends:  time.Minute + pause, fails: "HTTP 403",
		},
		"a refusal, and then an unseen kind": {
			world: func(passed time.Duration) api {
				if passed < 40*time.Second {
					return refused
				}
				return blind
			},
			ends: time.Minute + pause, want: "NOT SEEN DaemonSets: ",
		},
		"something is left for a look": {
			world: func(passed time.Duration) api {
				if passed == 40*time.Second {
					return busy
				}
				return blind
			},
			ends: 40*time.Second + time.Minute + pause, want: "NOT SEEN DaemonSets: ",
		},
		"the API server accepts it for a look": {
			world: func(passed time.Duration) api {
				if passed == 58*time.Second {
					return busy
				}
				return refused
			},
			ends: 58*time.Second + time.Minute + pause, fails: "HTTP 403",
		},
		"all is seen in the last look": {
			world: func(passed time.Duration) api {
				if passed == time.Minute {
					return whole()
				}
				return blind
			},
			ends: time.Minute, want: "workloads: 1 of 1 are ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			var passed atomic.Int64
			now := func() time.Time { return start.Add(time.Duration(passed.Load())) }
			after := func(d time.Duration) <-chan time.Time {
				passed.Add(int64(d))
				done := make(chan time.Time)
				close(done)
				return done
			}
			out, err := runCommand(t, status.CommandAt(now, after),
				func() api { return row.world(time.Duration(passed.Load())) }, "--wait")
			require.Equal(t, row.ends, time.Duration(passed.Load()), out)
			require.Contains(t, out, row.want)
			switch {
			case row.fails != "":
				require.ErrorContains(t, err, row.fails)
			case name == "all is seen in the last look":
				require.NoError(t, err)
			default:
				require.ErrorIs(t, err, term.ErrDifferent)
			}
		})
	}
}

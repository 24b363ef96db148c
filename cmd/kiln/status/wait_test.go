package status_test

import (
	"cmp"
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
	const pause, unseen = 2 * time.Second, "NOT SEEN DaemonSets: "
	for _, row := range []struct {
		name          string
		before        api
		at            time.Duration // of a look, which sees now
		now, after    api
		ends          time.Duration // after which it ends
		fails, prints string
	}{
		{"what is not seen", blind, 0, blind, blind, time.Minute + pause, "", unseen},
		{"a refusal", refused, 0, refused, refused, time.Minute + pause, "HTTP 403", ""},
		{"a refusal, and then an unseen kind", refused, 40 * time.Second, blind, blind,
			time.Minute + pause, "", unseen},
		{"something is left for a look", blind, 40 * time.Second, busy, blind,
			40*time.Second + time.Minute + pause, "", unseen},
		{"the API server accepts it for a look", refused, 58 * time.Second, busy, refused,
			58*time.Second + time.Minute + pause, "HTTP 403", ""},
		{"all is seen in the last look", blind, time.Minute, whole(), blind,
			time.Minute, "", "workloads: 1 of 1 are ready"},
	} {
		t.Run(row.name, func(t *testing.T) {
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
			out, err := runCommand(t, status.CommandAt(now, after), func() api {
				return []api{row.before, row.now, row.after}[1+cmp.Compare(
					time.Duration(passed.Load()), row.at)]
			}, "--wait")
			require.Equal(t, row.ends, time.Duration(passed.Load()), out)
			require.Contains(t, out, row.prints)
			switch {
			case row.fails != "":
				require.ErrorContains(t, err, row.fails)
			case row.name == "all is seen in the last look":
				require.NoError(t, err)
			default:
				require.ErrorIs(t, err, term.ErrDifferent)
			}
		})
	}
}

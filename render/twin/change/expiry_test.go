package change

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// issued is when the bundle of these tests was made.
var issued = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// TestSentences: the documents of a cluster at different times.
func TestSentences(t *testing.T) {
	t.Parallel()
	certificates := func(name string, stagger time.Duration) DocumentEnd {
		return DocumentEnd{Machine: name, Start: issued, Lifetime: year,
			Until: issued.Add(year - stagger)}
	}
	list := []DocumentEnd{
		certificates("cp-1", 0), certificates("cp-2", 0), certificates("cp-3", 2*day),
		{Machine: "blue", Pool: true, Start: issued, Lifetime: 7 * day,
			Until: issued.Add(7 * day)},
	}
	const pool = "no machine can join after that; run kiln token renew blue, do what it says, " +
		"and render again (docs/pools.md)"
	for name, row := range map[string]struct {
		after       time.Duration
		ended, near []string
	}{
		"a fresh cluster": {after: time.Hour},
		"a token in its last quarter": {after: 6 * day, near: []string{
			"pool blue: the bootstrap token ends on 2026-01-08: " + pool,
		}},
		"the second its token ends": {after: 7 * day, near: []string{
			"pool blue: the bootstrap token ended on 2026-01-08: its machines go on without it; " +
				"before another one joins: kiln token renew blue, do what it says, and render " +
				"again (docs/pools.md)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := issued.Add(row.after)
			require.Equal(t, row.ended, Ended(now, list))
			require.Equal(t, row.near, Near(now, list))
		})
	}

	external := certificates("cp-9", 0)
	external.External = true
	now := issued.Add(year - 3*day)
	require.Equal(t, []string{"cp-9: certificates end on 2027-01-01: run kiln certs csr " +
		"--within 60d, have the requests signed, run kiln certs add DIR, render again, and " +
		"follow kiln plan (docs/external-ca.md)"}, Near(now, []DocumentEnd{external}))
	external.Renewed = true
	require.Equal(t, []string{"cp-9: certificates end on 2027-01-01: follow kiln plan before " +
		"that day, with the new documents"}, Near(now, []DocumentEnd{external}))

	require.Equal(t, []string{"cp-1 … cp-3: certificates end from 2026-12-30 to " +
		"2027-01-01: run kiln secrets renew, render again, and follow kiln plan " +
		"(docs/changes.md)"}, Near(now, list[:3]))
	require.Empty(t, Ended(now, list[:3]))
	require.Empty(t, Near(issued.Add(year-31*day-2*day), list[:3]))

	now = issued.Add(2*year + day)
	require.Equal(t, []string{"cp-1 … cp-3: certificates ended from 2026-12-30 to " +
		"2027-01-01: run kiln secrets renew, render again, and follow kiln plan " +
		"(docs/changes.md)"}, Ended(now, list[:3]))
	require.Empty(t, Near(now, list[:3]))

	// No certificate outlives its CA.
	list[0].CAEnd = issued.Add(2*year + 10*day)
	require.Contains(t, Ended(now, list[:1])[0], "run kiln secrets renew")
	capped := list[0]
	capped.Start, capped.Until = now, capped.CAEnd.Add(-day) // renewed, and staggered
	require.Equal(t, []string{"cp-1: certificates end on 2028-01-10: the CAs end on 2028-01-11; " +
		"rotate them before that day: kiln secrets rotate ROOT (docs/rotation.md)"},
		Near(now, []DocumentEnd{capped}))
	list[0].CAEnd = issued.Add(year)
	require.Equal(t, []string{"cp-1: certificates ended on 2027-01-01: the CAs ended on " +
		"2027-01-01, and a CA can be rotated only before its end; make a new cluster, and move " +
		"what runs (docs/leaked.md)"}, Ended(now, list[:1]))

	// A lifetime of two days is near its end for half a day, and not always.
	short := []DocumentEnd{
		{Machine: "a", Start: issued, Lifetime: 2 * day, Until: issued.Add(2 * day)},
	}
	require.Empty(t, Near(issued.Add(day), short))
	require.Len(t, Near(issued.Add(2*day-time.Hour), short), 1)

	// The first render names the end of tokens, whatever their lifetime.
	require.Equal(t, []string{"pool blue: the bootstrap token ends on 2026-01-08: machines join " +
		"the pool until then; for machines that join later: kiln token renew blue, or, before " +
		"the first boot, raise tokenLifetime of the pool from 168h to 336h, and render again " +
		"(docs/pools.md)"}, Tokens(issued, list))
}

// TestRenewedTokens: a change that renews a token is not told to renew it.
func TestRenewedTokens(t *testing.T) {
	t.Parallel()
	list := []DocumentEnd{
		{Machine: "blue", Pool: true, Until: issued, Renewed: true},
	}
	now := issued.Add(time.Hour)
	require.Equal(t, []string{"pool blue: the bootstrap token ended on 2026-01-01: give new " +
		"machines the pool's new document, and apply the Secret of its token: " +
		"kiln token manifest POOL (docs/pools.md)"}, Near(now, list))
	require.Empty(t, Ended(now, list))
}

// TestRunning: what machines run with counts, unless they do not run yet.
func TestRunning(t *testing.T) {
	t.Parallel()
	machine := func(name, until string) *Machine {
		properties := Properties{{Name: "until", Value: until}}
		return &Machine{Name: name, Properties: properties}
	}
	const soon, later = "2026-02-01T00:00:00Z", "2028-01-01T00:00:00Z"
	old := &Cluster{Machines: []*Machine{
		machine("a", soon), machine("b", soon), machine("gone", soon),
	}}
	new := &Cluster{Machines: []*Machine{
		machine("a", later), machine("b", soon), machine("c", soon), machine("d", "never"),
	}}
	require.Equal(t, []string{
		"a: certificates end on 2026-02-01: follow kiln plan before that day, with the new " +
			"documents",
		"b, c: certificates end on 2026-02-01: run kiln secrets renew, render again, and " +
			"follow kiln plan (docs/changes.md)",
	}, Near(issued.Add(day), Running(old, new)))
}

// TestEarly: certificates that begin later than now show a wrong clock.
func TestEarly(t *testing.T) {
	t.Parallel()
	list := []DocumentEnd{
		{Machine: "a", Start: issued.Add(2 * day)}, {Machine: "b", Start: issued.Add(day)},
		{Machine: "c", Start: issued}, {Machine: "d"},
		{Machine: "blue", Pool: true, Start: issued},
	}
	require.Empty(t, Early(issued.Add(2*day), list))
	require.Equal(t, []string{"a, b: certificates date from 2026-01-02T00:00:00Z, and it is " +
		"2026-01-01T00:00:00Z now: set the clock of this computer, or correct the date in the " +
		"bundle"}, Early(issued, list))
}

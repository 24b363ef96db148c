package pki_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
)

// renewable returns a new bundle whose CAs live for ten years from the returned time on.
func renewable(t *testing.T) (*pki.Bundle, time.Time) {
	t.Helper()
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	b, err := pki.New(pki.Options{Name: "c1", Now: now, CALifetime: 10 * 365 * 24 * time.Hour,
		FormationWindow: 168 * time.Hour, Algorithm: private.P256})
	require.NoError(t, err)
	return b, now
}

// TestRenewal: a bundle that was never renewed has no word about it. The dates of renewals come
// back from a bundle and its public half, and a renewal of all replaces those of machines.
func TestRenewal(t *testing.T) {
	t.Parallel()
	b, issued := renewable(t)
	data, err := b.Marshal()
	require.NoError(t, err)
	require.NotContains(t, string(data), "renew")
	require.Equal(t, issued, b.Start("cp-1"))

	month := issued.AddDate(0, 1, 0)
	require.NoError(t, b.Renew(month, "cp-1", "cp-2"))
	require.Equal(t, month, b.Start("cp-1"))
	require.Equal(t, issued, b.Start("cp-3"))
	require.Equal(t, issued, b.Start(""))
	require.Equal(t, map[string]time.Time{"cp-1": month, "cp-2": month}, b.Renewals)

	year := issued.AddDate(1, 0, 0)
	stale := b.Public
	require.NoError(t, b.Renew(year))
	require.Empty(t, b.Renewals)
	require.Len(t, stale.Renewals, 2, "the dates of another copy stay")
	require.Equal(t, year, b.Start("cp-1"))
	require.NoError(t, b.Renew(year.Add(time.Hour), "cp-3"))
	require.Equal(t, issued, b.Issued)
	require.Equal(t, issued.Add(168*time.Hour), b.InstallEnd())

	data, err = b.Marshal()
	require.NoError(t, err)
	again, err := pki.Load(data)
	require.NoError(t, err)
	require.Equal(t, b.Renewed, again.Renewed)
	require.Equal(t, b.Renewals, again.Renewals)
	half, err := b.Public.Marshal()
	require.NoError(t, err)
	public, err := pki.LoadPublic(half)
	require.NoError(t, err)
	require.Equal(t, year.Add(time.Hour), public.Start("cp-3"))
}

// TestRenewalRefused: a clock that is behind, and CAs that have ended.
func TestRenewalRefused(t *testing.T) {
	t.Parallel()
	b, issued := renewable(t)
	require.EqualError(t, b.Renew(issued.Add(-time.Second)), "this computer's clock says "+
		"2025-12-31T23:59:59Z, and the certificates of the cluster date from "+
		"2026-01-01T00:00:00Z, which is later: set the clock, or restore the bundle from a copy")
	month := issued.AddDate(0, 1, 0)
	require.NoError(t, b.Renew(month, "cp-1"))
	require.ErrorContains(t, b.Renew(month.Add(-time.Hour)), "the certificates of cp-1 date from")
	require.ErrorContains(t, b.Renew(month.Add(-time.Hour), "cp-1"), "of cp-1 date from")
	require.NoError(t, b.Renew(month.Add(-time.Hour), "cp-2"), "cp-2 is older")
	end := b.AuthoritiesEnd()
	require.ErrorContains(t, b.Renew(end), "a CA of the cluster ended on 2035-12-30T00:00:00Z, "+
		"and no certificate outlives its CA: nothing can be renewed; ")
	require.NoError(t, b.Renew(end.Add(-time.Second)))
}

// TestRenewedLeaves: renewed leaves live for their lifetime from the renewal on, apart by the
// stagger, and never longer than the CAs. Near the end of the CAs they still end on different days,
// all of them after the renewal. The install credential stays as it is.
func TestRenewedLeaves(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	before := b.Specs(p, &p.Machines[0])
	lifetime := time.Duration(p.Config.Spec.Certificates.Lifetime)
	stagger := time.Duration(*p.Config.Spec.Certificates.Stagger)
	for _, left := range []time.Duration{lifetime * 2, lifetime, lifetime / 2, 24 * time.Hour} {
		now := b.AuthoritiesEnd().Add(-left)
		b.Renewed = now
		require.Equal(t, left < lifetime, b.Capped(lifetime, "cp-1"))
		ends := map[time.Time]bool{}
		for i := range p.Machines {
			for j, s := range b.Specs(p, &p.Machines[i]) {
				if s.Base == "install" {
					require.Equal(t, before[j].NotBefore, s.NotBefore)
					require.Equal(t, before[j].NotAfter, s.NotAfter)
					continue
				}
				span := min(left, lifetime)
				require.Equal(t, now.Add(-time.Hour), s.NotBefore)
				require.False(t, s.NotAfter.After(now.Add(span)), s.Name)
				require.True(t, s.NotAfter.After(now.Add(span-stagger-time.Second)), s.Name)
				require.True(t, s.NotAfter.After(now.Add(span*10/12)), s.Name)
				ends[s.NotAfter] = true
				_, err := b.Issue(s)
				require.NoError(t, err)
			}
		}
		require.Greater(t, len(ends), 1, "stagger")
	}
}

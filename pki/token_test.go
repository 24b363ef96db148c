package pki_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

const days = 24 * time.Hour

func poolOf(name string, lifetime time.Duration) *plan.Machine {
	return &plan.Machine{Name: name, Pool: true,
		TokenLifetime: config.Duration(lifetime)}
}

// TestTokenRenewal: a renewed token lives from its renewal on, and the one before until its own
// end, whatever the lifetime of tokens is later. Both come back from the bundle's file and from the
// public half.
func TestTokenRenewal(t *testing.T) {
	t.Parallel()
	b, issued := renewable(t)
	blue, green := poolOf("blue", 7*days), poolOf("green", 7*days)
	first := b.PoolToken("blue")
	require.Len(t, b.Joining(blue), 1)

	require.NoError(t, b.RenewTokens(issued.Add(5*days), false, blue))
	blue.TokenLifetime = config.Duration(30 * days)
	read := func() *pki.Public {
		data, err := b.Marshal()
		require.NoError(t, err)
		again, err := pki.Load(data)
		require.NoError(t, err)
		half, err := again.Public.Marshal()
		require.NoError(t, err)
		public, err := pki.LoadPublic(half)
		require.NoError(t, err)
		return public
	}
	for _, p := range []*pki.Public{&b.Public, read()} {
		require.Equal(t, []pki.Joining{
			{Pool: "blue", Generation: 2, Ends: issued.Add(35 * days)},
			{Pool: "blue", Generation: 1, Ends: issued.Add(7 * days), Previous: true},
		}, p.Joining(blue))
		require.Len(t, p.Joining(green), 1, "another pool keeps its token")
	}
	require.NotEqual(t, first, b.PoolToken("blue"))
	require.Equal(t, first, b.Joined(b.Joining(blue)[1]))

	// Only one token before the new one is kept.
	require.NoError(t, b.RenewTokens(issued.Add(6*days), false, blue))
	all := b.Joining(blue)
	require.Equal(t, []int{3, 2}, []int{all[0].Generation, all[1].Generation})
	// A token that has ended or leaked is not kept.
	require.NoError(t, b.RenewTokens(issued.Add(100*days), false, blue))
	require.Len(t, b.Joining(blue), 1)
	require.NoError(t, b.RenewTokens(issued.Add(101*days), true, blue))
	require.Len(t, read().Joining(blue), 1)

	err := b.RenewTokens(issued.Add(99*days), false, green, blue)
	require.ErrorContains(t, err, "clock says")
	require.Equal(t, 1, b.Generation(pki.TokenName(green.Name)), "a failed renewal changes nothing")
	err = b.RenewTokens(issued.AddDate(20, 0, 0), false, blue)
	require.ErrorContains(t, err, "a CA of the cluster ended")
}

// TestTokenOfNewSeed: a new leaf seed counts up the generation of a token once, as a renewal does,
// and nothing claims to know the token of the old seed.
func TestTokenOfNewSeed(t *testing.T) {
	t.Parallel()
	b, issued := renewable(t)
	blue := poolOf("blue", 7*days)
	require.NoError(t, b.RenewTokens(issued.Add(days), false, blue))
	require.NoError(t, b.Rotate(pki.RootLeafSeed, issued.Add(2*days), decade))
	require.Equal(t, []pki.Joining{{Pool: "blue", Generation: 3, Ends: issued.Add(8 * days)}},
		b.Joining(blue))
	require.NoError(t, b.RenewTokens(issued.Add(3*days), false, blue))
	require.Equal(t, 4, b.Generation(pki.TokenName(blue.Name)))
	data, err := b.Marshal()
	require.NoError(t, err)
	_, err = pki.Load(data)
	require.NoError(t, err)
}

// TestBrokenTokens: each contradiction in the file is named with its pool and its key.
func TestBrokenTokens(t *testing.T) {
	t.Parallel()
	b, issued := renewable(t)
	require.NoError(t, b.RenewTokens(issued.Add(days), false, poolOf("blue", 7*days)))
	data, err := b.Marshal()
	require.NoError(t, err)
	for _, c := range []struct{ old, text, want string }{
		{`renewed: "2026-01-02`, `renewed: "2025-01-02`, "tokens: blue: renewed: 2025-01-02"},
		{`renewed: "2026-01-02`, `renewed: "2056-01-02`, "is not before the end of the first CA"},
		{`renewed: "2026-01-02T`, `renewed: "2026-01-02 `, "tokens: blue: renewed: not a time"},
		{"previous: 1", "previous: 2", "2 is not before the generation in force (2)"},
		{"previous: 1", "previous: -1", "generations count from 1"},
		{"previous: 1", `previous: "1"`, "want a whole number without quotes"},
		{"previous: 1", "previous: 0", "there is no previous token"},
		{`previousEnds: "2026-01-08`, `previousEnds: "2026-01-01`, "is before renewed"},
		{"    previous: 1", "    previus: 1", "tokens: blue: a bundle has no such key here"},
	} {
		text := strings.Replace(string(data), c.old, c.text, 1)
		require.NotEqual(t, string(data), text, c.old)
		_, err := pki.Load([]byte(text))
		require.ErrorContains(t, err, c.want)
	}
}

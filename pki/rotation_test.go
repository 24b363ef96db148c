package pki_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
)

// decade is how long new CAs live.
const decade = 87600 * time.Hour

var day = time.Date(2027, 3, 4, 5, 6, 7, 0, time.UTC)

// TestRotationStages: each stage of each root is stored and read back, holds the keys that it needs
// and no other, and a bundle without a rotation is stored as before.
func TestRotationStages(t *testing.T) {
	t.Parallel()
	for _, root := range pki.Roots() {
		t.Run(string(root), func(t *testing.T) {
			t.Parallel()
			b, _ := load(t)
			before, err := b.Marshal()
			require.NoError(t, err)
			require.NotContains(t, string(before), "rotations")
			old := secrets(b, root)
			require.Len(t, old, 1)
			require.NoError(t, b.Rotate(root, day, decade))
			b = stored(t, b)
			if root == pki.RootLeafSeed {
				require.NotEqual(t, old, secrets(b, root))
				require.Equal(t, "apiserver/cp-1 g2", b.Mark("apiserver/cp-1"))
				require.Equal(t, b.Cluster, b.EtcdCluster(), "etcd keeps its identity")
				require.ErrorContains(t, b.NextStage(root, day), "no rotation is under way")
				return
			}
			require.Equal(t, pki.Trust, b.Rotation(root).Stage)
			require.Equal(t, day, b.Rotation(root).Since)
			require.ErrorContains(t, b.Rotate(root, day, decade), "is under way, in stage trust")
			both := secrets(b, root)
			require.Len(t, both, 2)
			require.Equal(t, old[0], both[0])

			require.NoError(t, b.PreviousStage(root, day))
			b = stored(t, b)
			require.Equal(t, &pki.Rotation{Generation: 1, Since: day}, b.Rotation(root))
			given := *b
			given.Rotations = nil
			again, err := given.Marshal()
			require.NoError(t, err)
			require.Equal(t, string(before), string(again), "a rotation that was given up")

			require.NoError(t, b.Rotate(root, day, decade))
			require.NoError(t, b.NextStage(root, day))
			b = stored(t, b)
			require.Equal(t, pki.Issue, b.Rotation(root).Stage)
			require.Equal(t, 2, b.Rotation(root).Issuing())
			both = secrets(b, root)
			require.Len(t, both, 2)
			require.NoError(t, b.PreviousStage(root, day))
			require.Equal(t, pki.Trust, stored(t, b).Rotation(root).Stage)
			require.NoError(t, b.NextStage(root, day))
			require.NoError(t, b.NextStage(root, day))
			b = stored(t, b)
			require.Equal(t, pki.Settled, b.Rotation(root).Stage)
			require.Equal(t, fmt.Sprintf("%s g2", root), b.Mark(string(root)))
			require.NotContains(t, secrets(b, root), old[0])
			require.ErrorContains(t, b.PreviousStage(root, day), "dropped is gone")
		})
	}
}

// secrets returns what the bundle holds of a root.
func secrets(b *pki.Bundle, root pki.Root) (all []string) {
	for _, s := range b.StoredSecrets() {
		if s.Root == root {
			all = append(all, string(s.Secret))
		}
	}
	return all
}

// stored returns the bundle as it is read again. Its public half is read as well, holds the same
// state and no secret.
func stored(t *testing.T, b *pki.Bundle) *pki.Bundle {
	t.Helper()
	text, err := b.Marshal()
	require.NoError(t, err)
	again, err := pki.Load(text)
	require.NoError(t, err)
	text2, err := again.Marshal()
	require.NoError(t, err)
	require.Equal(t, string(text), string(text2))
	half, err := b.Public.Marshal()
	require.NoError(t, err)
	public, err := pki.LoadPublic(half)
	require.NoError(t, err)
	for _, root := range pki.Roots() {
		require.Equal(t, b.Rotation(root).String(), public.Rotation(root).String())
		read, err := pki.ParseRotation(b.Rotation(root).String())
		require.NoError(t, err)
		require.Equal(t, b.Rotation(root).Position(), read.Position())
	}
	require.Equal(t, b.TrustPEM(pki.CA), public.TrustPEM(pki.CA))
	require.NotContains(t, string(half), "PRIVATE")
	require.NotContains(t, string(half), "key:")
	return again
}

// TestRotationRefusals: a bundle whose rotation is damaged or edited is refused, and the message
// quotes no secret.
func TestRotationRefusals(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	for _, root := range []pki.Root{pki.RootCA, pki.RootEncryption, pki.RootServiceAccount} {
		require.NoError(t, b.Rotate(root, day, decade))
	}
	text, err := b.Marshal()
	require.NoError(t, err)
	key := line(text[strings.Index(string(text), "rotations:"):], "  encryption:\n    key: ")
	other, _ := load(t)
	require.NoError(t, other.Rotate(pki.RootCA, day, decade))
	half, err := b.Public.Marshal()
	require.NoError(t, err)
	for name, row := range map[string]struct{ old, new, want string }{
		"stage": {"stage: trust", "stage: both", "stage: want trust or issue"},
		"since": {"since: \"2027-03-04T05:06:07Z\"", "since: yesterday",
			"since: not a time such as"},
		"no stage":  {"    stage: trust\n", "", "no new"},
		"short key": {"    key: " + key, "    key: AAAA", "encryption: key: want 32 bytes"},
		"root":      {"\n  ca:\n", "\n  cas:\n", "no such root; want one of ca, etcd-ca"},
		"a key of the leaf seed": {"\n  encryption:\n", "\n  leaf-seed:\n",
			"leaf-seed: it is rotated in one step"},
		"unknown part": {"    stage: trust\n", "    stage: trust\n    until: x\n",
			"a bundle has no such key here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(text), row.old)
			_, err := pki.Load([]byte(strings.Replace(string(text), row.old, row.new, 1)))
			require.ErrorContains(t, err, row.want)
			require.NotContains(t, err.Error(), key)
			require.NotContains(t, err.Error(), "PRIVATE KEY")
		})
	}
	_, err = pki.LoadPublic([]byte(strings.Replace(string(half), "    stage: trust\n",
		"    stage: trust\n    key: AAAA\n", 1)))
	require.ErrorContains(t, err, "not the public half")
	_, err = pki.Load([]byte(string(text[:len(text)-200])))
	require.ErrorContains(t, err, "its end is missing")
}

// TestRotationOlder: a bundle from before a step of a rotation is older than its public half, also
// if the step was one back. A bundle that goes on is not.
func TestRotationOlder(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	states := []pki.Public{b.Public}
	at := day
	take := func(step func(pki.Root, time.Time) error) {
		at = at.Add(time.Hour)
		require.NoError(t, step(pki.RootCA, at))
		states = append(states, stored(t, b).Public)
	}
	rotate := func(root pki.Root, now time.Time) error { return b.Rotate(root, now, decade) }
	for _, step := range []func(pki.Root, time.Time) error{
		rotate, b.PreviousStage, rotate, b.NextStage, b.PreviousStage, b.NextStage, b.NextStage,
	} {
		take(step)
	}
	for i := range states {
		for j := range states {
			older := states[i].Older(&states[j])
			require.Equal(t, i < j, older != "", "%d %d: %s", i, j, older)
		}
	}
	require.Equal(t, "the rotation of ca took its last step there, on "+
		"2027-03-04T06:06:07Z", states[0].Older(&states[1]))
	require.Equal(t, "the rotation of ca took its last step there, on "+
		"2027-03-04T07:06:07Z", states[1].Older(&states[2]))
	last := len(states) - 1
	require.Equal(t, "ca is 1 here and 2 there, and an old root would come back",
		states[last-1].Older(&states[last]))
	require.Empty(t, states[0].Older(&pki.Public{Cluster: "another"}))
}

// TestRotationDiverged: two rotations that begin from one copy of a bundle have two new roots.
func TestRotationDiverged(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	other, _ := load(t)
	require.NoError(t, b.Rotate(pki.RootEncryption, day, decade))
	require.Empty(t, b.Diverged(&other.Public))
	require.NoError(t, other.Rotate(pki.RootEncryption, day.Add(time.Hour), decade))
	why := other.Diverged(&b.Public)
	require.Contains(t, why, "encryption: a rotation began on ")
	require.Contains(t, why, "so that there are two new roots g2")
	require.Empty(t, b.Diverged(&b.Public))
	require.NoError(t, other.NextStage(pki.RootEncryption, day.Add(2*time.Hour)))
	require.NotEmpty(t, other.Diverged(&b.Public), "it has gone on, with another root")
	require.NoError(t, other.NextStage(pki.RootEncryption, day.Add(3*time.Hour)))
	require.NotEmpty(t, other.Diverged(&b.Public), "the other root is the only one now")
	require.NoError(t, b.PreviousStage(pki.RootEncryption, day.Add(4*time.Hour)))
	require.Empty(t, other.Diverged(&b.Public), "here it was given up")
}

// TestRotatedLifetime: a CA that took the place of another one lives as long as it is told to,
// however old the bundle is and however often it was rotated.
func TestRotatedLifetime(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	at := day
	for range 3 {
		require.NoError(t, b.Rotate(pki.RootCA, at, decade))
		require.NoError(t, b.NextStage(pki.RootCA, at))
		require.NoError(t, b.NextStage(pki.RootCA, at))
		b = stored(t, b)
		require.Equal(t, at.Add(decade), b.CA.Certificate.NotAfter)
		at = at.AddDate(5, 0, 0)
	}
}

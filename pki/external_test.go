package pki_test

import (
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
)

// elsewhere returns a bundle whose CA's key is elsewhere, with the certificates of the first
// machine that this CA signed.
func elsewhere(t *testing.T) *pki.Bundle {
	t.Helper()
	b, p := load(t)
	signed := map[string]*x509.Certificate{}
	for _, spec := range b.Specs(p, &p.Machines[0]) {
		cert, err := b.Issue(spec)
		require.NoError(t, err)
		if spec.Signer != pki.CA {
			continue
		}
		signed[b.SignedMark(spec)], err = x509.ParseCertificate(cert.DER)
		require.NoError(t, err)
	}
	b.CAKey = private.Key{}
	b.External.Roots = []pki.Root{pki.RootCA}
	b.External.Certificates = signed
	return stored(t, b)
}

// TestElsewhere: what was signed elsewhere comes out as it was signed, with its dates. What nobody
// signed is an error, and so is a key of another generation.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	own, p := load(t)
	b := elsewhere(t)
	m := &p.Machines[0]
	require.Equal(t, own.Specs(p, m), b.Specs(p, m))
	for _, spec := range b.Specs(p, m) {
		got, err := b.Issue(spec)
		require.NoError(t, err)
		want, err := own.Issue(spec)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := b.Issue(b.AdminSpec(p))
	require.ErrorContains(t, err, "certificate admin: the bundle has no key of its CA")
	_, err = b.IssuePerson(pki.Person{Name: "alice"}, day, day.Add(time.Hour))
	require.ErrorContains(t, err, "certificate person/alice: the bundle has no key of its CA")

	spec := b.Specs(p, m)[0]
	b.Generations = map[string]int{spec.Name: 2}
	_, err = b.Issue(spec)
	require.ErrorContains(t, err, "nobody has signed it yet")
	b.External.Certificates[spec.Name+" g2"] = b.External.Certificates[spec.Name+" g1"]
	_, err = b.Issue(spec)
	require.ErrorContains(t, err, "what was signed is for another key")
	require.ErrorContains(t, b.Rotate(pki.RootCA, day, decade), "ca: its key is not in the bundle")
	require.NoError(t, b.Rotate(pki.RootEtcdCA, day, decade))
	roots := []pki.Root{}
	for _, s := range b.StoredSecrets() {
		roots = append(roots, s.Root)
	}
	require.False(t, slices.Contains(roots, pki.RootCA))
}

// TestElsewhereRefused: a bundle that lost a key, or got one, is no bundle of an external CA.
func TestElsewhereRefused(t *testing.T) {
	t.Parallel()
	own, _ := load(t)
	b := elsewhere(t)
	text, err := b.Marshal()
	require.NoError(t, err)
	whole, err := own.Marshal()
	require.NoError(t, err)
	external := string(text[strings.Index(string(text), "external:"):])
	external = external[:strings.Index(external, "formationDeadline:")]
	for name, row := range map[string]struct{ text, want string }{
		"no word of it": {strings.Replace(string(text), external, "", 1), "ca: key: no PEM block"},
		"a key": {string(whole) + external,
			"ca: has a key, and external says that it has none"},
		"another root": {strings.Replace(string(text), "- ca\n", "- etcd-ca\n", 1),
			"etcdCA: has a key, and external says"},
		"a list": {strings.Replace(string(text), external, "external: [ca]\n", 1),
			"external: want the keys that kiln certs add writes"},
		"an odd key": {strings.Replace(string(text), "  roots:", "  rots:", 1),
			"external: a bundle has no such key here; did you mean"},
		"cut off": {string(text[:len(text)-100]), "the bundle is not whole"},
	} {
		_, err := pki.Load([]byte(row.text))
		require.ErrorContains(t, err, row.want, name)
	}
	half, err := b.Public.Marshal()
	require.NoError(t, err)
	public, err := pki.LoadPublic(half)
	require.NoError(t, err)
	require.Equal(t, b.External, public.External)

	b.Rotations = map[pki.Root]*pki.Rotation{
		pki.RootCA: {Generation: 1, Stage: pki.Trust, Since: day, Next: own.CA},
	}
	b.NextKeys = map[pki.Root]private.Key{pki.RootCA: own.CAKey}
	text, err = b.Marshal()
	require.NoError(t, err)
	_, err = pki.Load(text)
	require.ErrorContains(t, err, "external: roots: ca is being rotated")
}

// TestElsewhereOlder: a bundle from before a certificate was signed again is older.
func TestElsewhereOlder(t *testing.T) {
	t.Parallel()
	old, new := elsewhere(t), elsewhere(t)
	require.Empty(t, old.Older(&new.Public))
	const mark = "apiserver/cp-1 g1"
	all := maps.Clone(new.External.Certificates)
	backdated := *all[mark] // the CA chooses the dates
	backdated.NotBefore = backdated.NotBefore.Add(-time.Hour)
	all[mark] = &backdated
	new.External.Change(all, day)
	require.Equal(t, "kiln certs add changed its certificates later there, on 2027-03-04T05:06:07Z",
		old.Older(&new.Public))
	require.Empty(t, new.Older(&old.Public))
	newer := stored(t, new)
	require.Equal(t, new.External.Changed, newer.External.Changed)
	newer.External.Change(all, day.Add(-time.Hour)) // the clock went back
	require.NotEmpty(t, new.Older(&newer.Public))
	require.Empty(t, newer.Older(&new.Public))
}

package pki_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []private.Algorithm{private.P256, private.RSA2048} {
		b, err := pki.New(pki.Options{Name: "x", Now: time.Now(), Algorithm: algorithm,
			CALifetime: 24 * time.Hour, FormationWindow: time.Hour})
		require.NoError(t, err)
		text, err := b.Marshal()
		require.NoError(t, err)
		again, err := pki.Load(text)
		require.NoError(t, err)
		text2, err := again.Marshal()
		require.NoError(t, err)
		require.Equal(t, string(text), string(text2))
	}
}

// TestLoadRefuses: errors about a bundle quote nothing of it.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(filepath.Join(fixture, "bundle", "secrets.yaml"))
	require.NoError(t, err)
	b, err := pki.Load(good)
	require.NoError(t, err)
	replace := func(old, new string) string {
		require.Contains(t, string(good), old)
		return strings.Replace(string(good), old, new, 1)
	}
	seed := line(good, "leafSeed: ")
	half, err := b.Public.Marshal()
	require.NoError(t, err)
	for name, row := range map[string]struct{ text, want string }{
		"empty":       {"", "the bundle is empty"},
		"not YAML":    {"\t", "the bundle is empty"},
		"unknown key": {string(good) + "extra: 1\n", "a bundle has no such key here"},
		"encrypted":   {"-----BEGIN AGE ENCRYPTED FILE-----\n", "age -d"},
		"cut off": {string(good[:len(good)/2]),
			"the bundle is not whole: its end is missing"},
		"cut off early":   {string(good[:300]), "the bundle is not whole: its end is missing"},
		"SOPS":            {"apiVersion: ENC[x]\nsops:\n    mac: x\n", "sops -d"},
		"public half":     {string(half), "this is the public half of a bundle"},
		"short seed":      {replace(seed, "AAAA"), "leafSeed: want 32 bytes"},
		"bad uuid":        {replace(b.Cluster, "prod"), "cluster: not a UUID"},
		"binary":          {"\x89PNG\x00", "this is not a bundle, and no text"},
		"SOPS, JSON":      {`{"data": "x", "sops": {"mac": "x"}}`, "sops -d"},
		"bad date":        {replace("issued: \"", "issued: \"x"), "issued: not a time"},
		"generation zero": {string(good) + "generations: {admin: 0}\n", "generations count from 1"},
		"swapped keys":    {swapKeys(string(good)), "the key does not belong to the certificate"},
		"too large":       {strings.Repeat("#", 2<<20), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pki.Load([]byte(row.text))
			require.ErrorContains(t, err, row.want)
			require.NotContains(t, err.Error(), seed)
			require.NotContains(t, err.Error(), "PRIVATE KEY")
		})
	}
}

// TestLoadRefusesDates: a wrong date is one error, although no certificate could be made with it.
func TestLoadRefusesDates(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*pki.Public)
		want   string
	}{
		"issued early": {
			func(p *pki.Public) { p.Issued = p.Issued.AddDate(-9, 0, 0) },
			`^issued: 2017-\S+ is not in the time of the CA in ca, \S+ to \S+; ` +
				`restore the bundle from a copy$`,
		},
		"issued late": {
			func(p *pki.Public) { p.Issued = p.Issued.AddDate(99, 0, 0) },
			`^issued: 2125-\S+ is not in the time of the CA in ca, `,
		},
		"deadline early": {
			func(p *pki.Public) { p.FormationDeadline = p.Issued.AddDate(0, 0, -1) },
			`^formationDeadline: \S+ is before issued \(2026-\S+\); ` +
				`restore the bundle from a copy$`,
		},
		"deadline late": {
			func(p *pki.Public) { p.FormationDeadline = p.Issued.AddDate(99, 0, 0) },
			`^formationDeadline: \S+ is after the end of the CA in ca \(2035-\S+\); `,
		},
		"install late": {
			func(p *pki.Public) { p.InstallDeadline = p.Issued.AddDate(99, 0, 0) },
			`^installDeadline: \S+ is after the end of the CA in ca `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := load(t)
			row.change(&b.Public)
			bundle, err := b.Marshal()
			require.NoError(t, err)
			_, err = pki.Load(bundle)
			require.Error(t, err)
			require.Regexp(t, row.want, err.Error())
			require.NotContains(t, err.Error(), "\n")
			half, err := b.Public.Marshal()
			require.NoError(t, err)
			_, err = pki.LoadPublic(half)
			require.Error(t, err)
			require.Regexp(t, row.want, err.Error())
		})
	}
}

// TestNothingPrintsSecrets: whatever the verb, a secret prints as one word.
func TestNothingPrintsSecrets(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{b.LeafSeed, b.CAKey, b.ServiceAccountKey} {
			require.Equal(t, "REDACTED", fmt.Sprintf(verb, v))
		}
	}
	token := b.PoolToken("x")
	encoded, err := json.Marshal([]any{b, token})
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "bundle", b, "seed", b.LeafSeed)
	for _, text := range []string{
		fmt.Sprintf("%v %#v %+v %d", token, token, token, token),
		fmt.Sprintf("%v %+v %#v", *b, *b, *b), string(encoded), log.String(),
		fmt.Errorf("x: %w", fmt.Errorf("%v", b.LeafSeed)).Error(),
	} {
		require.Contains(t, text, "REDACTED")
		for _, secret := range [][]byte{
			[]byte(token.Secret), b.LeafSeed, b.CAKey.Private(),
			[]byte(base64.StdEncoding.EncodeToString(b.LeafSeed)),
			[]byte(hex.EncodeToString(b.LeafSeed)), []byte("PRIVATE KEY"),
		} {
			require.NotContains(t, text, string(secret))
		}
	}
}

func line(text []byte, key string) string {
	_, rest, _ := strings.Cut(string(text), key)
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// swapKeys puts the etcd CA's key in the place of the cluster CA's.
func swapKeys(text string) string {
	var keys []string
	rest := text
	for {
		i := strings.Index(rest, "key: |")
		if i < 0 {
			break
		}
		rest = rest[i+6:]
		j := strings.Index(rest, "-----END")
		keys = append(keys, rest[:j])
	}
	return strings.Replace(strings.Replace(strings.Replace(text, keys[0], "\x01", 1), keys[1],
		keys[0], 1), "\x01", keys[1], 1)
}

// TestPublicRoundTrip: the stored public half is read as it was written, agrees with the bundle,
// and holds no key.
func TestPublicRoundTrip(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	b.Generations = map[string]int{"apiserver/cp-1": 3}
	text, err := b.Public.Marshal()
	require.NoError(t, err)
	require.NotContains(t, string(text), "PRIVATE")
	public, err := pki.LoadPublic(text)
	require.NoError(t, err)
	again, err := public.Marshal()
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
	require.Equal(t, 3, public.Generation("apiserver/cp-1"))
	require.Equal(t, b.Specs(p, &p.Machines[0]), public.Specs(p, &p.Machines[0]))
	require.Equal(t, b.AdminSpec(p), public.AdminSpec(p))
}

// TestLoadPublicRefuses: a public half with mistakes is refused, and so is a whole bundle.
func TestLoadPublicRefuses(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	bundle, err := b.Marshal()
	require.NoError(t, err)
	good, err := b.Public.Marshal()
	require.NoError(t, err)
	replace := func(old, new string) string {
		require.Contains(t, string(good), old)
		return strings.Replace(string(good), old, new, 1)
	}
	for name, row := range map[string]struct{ text, want string }{
		"bundle":      {string(bundle), "holds a private key"},
		"empty":       {"", "the public half is empty"},
		"not YAML":    {"\t\x00", "not the public half"},
		"unknown key": {string(good) + "leafSeed: AAAA\n", "not the public half"},
		"bad uuid":    {replace(b.Cluster, "prod"), "cluster: not a UUID"},
		"no CA": {replace("-----BEGIN CERTIFICATE", "-----BEGIN NOTHING"),
			"want exactly one PEM block CERTIFICATE"},
		"too large": {strings.Repeat("#", 2<<20), "larger than"},
	} {
		_, err := pki.LoadPublic([]byte(row.text))
		require.ErrorContains(t, err, row.want, name)
	}
}

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
	"strconv"
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
		stored(t, b)
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

// TestForm: mistakes in the form of a bundle are reported by line and key, all of them at once, and
// never with a value.
func TestForm(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	text, err := b.Marshal()
	require.NoError(t, err)
	for name, row := range map[string]struct {
		added string
		want  []string // after "line N: ", with N counted from the first added line
	}{
		"a number in quotes": {"generations:\n  admin: \"2\"\n",
			[]string{`1: generations: admin: want a whole number without quotes, such as 2`}},
		"a word": {"generations:\n  admin: hunter2\n",
			[]string{`1: generations: admin: want a whole number without quotes, such as 2`}},
		"a fraction": {"generations: {admin: 1.5}\n",
			[]string{`0: generations: admin: want a whole number without quotes, such as 2`}},
		"a list": {"generations:\n- hunter2\n",
			[]string{`1: generations: want a line for each secret, such as admin: 2`}},
		"a repeated entry": {"generations:\n  admin: 2\n  admin: 3\n",
			[]string{`2: generations: admin stands there already, in line `}},
		"a repeated key": {"leafSeed: hunter2\n",
			[]string{`0: leafSeed stands there already, in line `}},
		"a misspelt key": {"generation:\n  admin: 2\n",
			[]string{`0: a bundle has no such key here; did you mean "generations"?`}},
		"an unknown key": {"hunter2: 1\n", []string{`0: a bundle has no such key here`}},
		"a secret as a list": {"restored: [hunter2]\n",
			[]string{`0: restored: want one value, not a list or a map`}},
		"a root that was rotated": {"rotations:\n  ca:\n    begun: \"2026-01-31T12:00:00Z\"\n" +
			"    keys: hunter2\n", []string{
			`3: rotations: ca: a bundle has no such key here; did you mean "key"?`}},
		"a rotation of nothing": {"rotations:\n  hunter2: []\n",
			[]string{`1: rotations: a bundle has no such key here`}},
		"tokens as a list": {"tokens:\n  blue: [hunter2]\n",
			[]string{`1: tokens: blue: want a line for each pool, such as blue: {renewed: `}},
		"two at once": {"generation:\n  admin: 2\ngenerations:\n  serve: two\n", []string{
			`0: a bundle has no such key here`, `3: generations: serve: want a whole number`,
		}},
		"no YAML": {"generations:\n  admin: 2\n hunter2\n",
			[]string{", column 2: has no key; write it like"}},
	} {
		_, err := pki.Load([]byte(string(text) + row.added))
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "hunter2", name)
		for _, want := range row.want {
			offset, message, found := strings.Cut(want, ":")
			if !found || len(offset) != 1 {
				require.ErrorContains(t, err, want, name)
				continue
			}
			line := strings.Count(string(text), "\n") + 1 + int(offset[0]-'0')
			require.Contains(t, err.Error(), "line "+strconv.Itoa(line)+":"+message, name)
		}
	}
	_, err = pki.Load([]byte(strings.Replace(string(text), "etcdCA:\n", "etcdCA:\n  hunter2: 1\n",
		1)))
	require.ErrorContains(t, err, ": etcdCA: a bundle has no such key here")
	require.NotContains(t, err.Error(), "hunter2")
}

// TestChecksum: one wrong letter in a key that nothing else verifies is found, and in the UUID and
// the time of issue. Generations, which
// operators edit, are no part of the checksum, and a bundle without one is valid.
func TestChecksum(t *testing.T) {
	t.Parallel()
	old, err := os.ReadFile(filepath.Join(fixture, "bundle", "secrets.yaml"))
	require.NoError(t, err)
	require.NotContains(t, string(old), "\nchecksum: ")
	b, err := pki.Load(old)
	require.NoError(t, err)
	data, err := b.Marshal()
	require.NoError(t, err)
	good := string(data)

	// slip returns the bundle with another letter at the beginning of a value.
	slip := func(key string) string {
		value := line(data, key+": ")
		letter := "A"
		if strings.HasPrefix(value, letter) {
			letter = "B"
		}
		return strings.Replace(good, key+": "+value, key+": "+letter+value[1:], 1)
	}
	other, err := private.NewKey(private.P256)
	require.NoError(t, err)
	swapped := *b
	swapped.ServiceAccountKey = other
	text, err := swapped.Marshal()
	require.NoError(t, err)
	sum := "checksum: " + line(data, "checksum: ")
	_, after, _ := strings.Cut(string(text), "\nserviceAccountKey:")
	before, _, _ := strings.Cut(good, "\nserviceAccountKey:")
	for name, wrong := range map[string]string{
		"encryptionKey":     slip("encryptionKey"),
		"leafSeed":          slip("leafSeed"),
		"serviceAccountKey": before + "\nserviceAccountKey:" + after,
		"cluster":           strings.Replace(good, "cluster: 22b3", "cluster: 22b4", 1),
		"issued":            strings.Replace(good, `"2026-01-01T00`, `"2026-01-01T01`, 1),
		"the line itself":   strings.Replace(good, sum, "checksum: 0123456789abcdef", 1),
	} {
		require.NotEqual(t, good, wrong, name)
		_, err := pki.Load([]byte(wrong))
		require.ErrorContains(t, err, "checksum: not that of the keys beside it", name)
		_, err = pki.Load([]byte(strings.Replace(wrong, "\nchecksum: ", "\n#", 1)))
		require.NoError(t, err, name)
	}
	// That of an earlier release is of the keys alone.
	const keys = "checksum: f62119cbc24b90a0"
	_, err = pki.Load([]byte(strings.Replace(good, sum, keys, 1)))
	require.NoError(t, err)

	edited, err := pki.Load([]byte(good + "generations: {admin: 2}\n"))
	require.NoError(t, err)
	require.Equal(t, 2, edited.Generations["admin"])
}

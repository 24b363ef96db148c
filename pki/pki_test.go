package pki_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/pki"
	"kiln/render"
	"kiln/render/plan"
)

// fixture is a case whose bundle is fixed for ever: the vectors below depend on it.
const fixture = "../testdata/clusters/ha"

func load(t testing.TB) (*pki.Bundle, *plan.Plan) {
	t.Helper()
	return loadCase(t, fixture)
}

func loadCase(t testing.TB, dir string) (*pki.Bundle, *plan.Plan) {
	t.Helper()
	c, err := render.Config(filepath.Join(dir, "cluster.yaml"))
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "bundle", "secrets.yaml"))
	require.NoError(t, err)
	b, err := pki.Load(data)
	require.NoError(t, err)
	p := plan.New(c)
	return b, p
}

// vectorBundle has a seed that everybody can type. Its CAs are the fixture's: derivation does not depend on them.
func vectorBundle(t testing.TB) *pki.Bundle {
	t.Helper()
	b, _ := load(t)
	b.Cluster = "00112233-4455-4677-8899-aabbccddeeff"
	b.LeafSeed = pki.Secret(strings.Repeat("\x01", 32))
	b.Generations = map[string]int{"rotated/cp-1": 2, "token/again": 3, "token/node/again": 2}
	return b
}

// TestDerivationVectors freezes the derivation of keys and tokens. A change here changes every certificate of
// every cluster: it is a new format, never a fix.
func TestDerivationVectors(t *testing.T) {
	t.Parallel()
	b := vectorBundle(t)
	for name, want := range vectors {
		cert, err := b.Issue(pki.Spec{Name: name, CommonName: "x", NotBefore: b.Issued, NotAfter: b.Issued.Add(time.Hour)})
		require.NoError(t, err)
		sum := sha256.Sum256(cert.Key.PEM())
		require.Equal(t, want, hex.EncodeToString(sum[:8]), "key %s", name)
	}
	for name, want := range tokenVectors {
		require.Equal(t, want, b.Token(name).Bearer(), "pool %s", name)
	}
	for name, want := range nodeTokenVectors {
		require.Equal(t, want, b.NodeToken(name).Bearer(), "node %s", name)
	}
}

// TestPrivate: the private half stands in every form of a key, and not in the public one.
func TestPrivate(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []pki.Algorithm{pki.P256, pki.RSA2048} {
		key, err := pki.NewKey(algorithm)
		require.NoError(t, err)
		private := []byte(key.Private())
		require.GreaterOrEqual(t, len(private), 32)
		for _, text := range [][]byte{key.PEM(), key.BarePEM()} {
			block, _ := pem.Decode(text)
			require.True(t, bytes.Contains(block.Bytes, private))
		}
		block, _ := pem.Decode(key.PublicPEM())
		require.False(t, bytes.Contains(block.Bytes, private))
		require.Equal(t, "REDACTED", key.Private().String())
	}
}

// TestBarePEM: Go and OpenSSL find the public key that is not there.
func TestBarePEM(t *testing.T) {
	t.Parallel()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(p384)
	require.NoError(t, err)
	given, err := pki.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	require.NoError(t, err)
	made, err := pki.NewKey(pki.P256)
	require.NoError(t, err)
	for _, key := range []pki.Key{made, given} {
		bare := key.BarePEM()
		same, err := pki.ParseKey(bare)
		require.NoError(t, err)
		require.Equal(t, key.PEM(), same.PEM())
		require.Less(t, len(bare), len(key.PEM())-80)
		openssl, err := exec.LookPath("openssl")
		if err != nil {
			t.Skip("there is no openssl")
		}
		cmd := exec.Command(openssl, "pkey", "-pubout") // #nosec G204 -- found above
		cmd.Stdin = bytes.NewReader(bare)
		public, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, string(key.PublicPEM()), string(public))
	}
}

func TestSerialIsFunctionOfContent(t *testing.T) {
	t.Parallel()
	b := vectorBundle(t)
	spec := pki.Spec{Name: "apiserver/cp-1", CommonName: "kube-apiserver", NotBefore: b.Issued, NotAfter: b.Issued.Add(time.Hour)}
	serial := func(s pki.Spec) string {
		cert, err := b.Issue(s)
		require.NoError(t, err)
		parsed, err := x509.ParseCertificate(cert.DER)
		require.NoError(t, err)
		require.Positive(t, parsed.SerialNumber.Sign())
		require.LessOrEqual(t, parsed.SerialNumber.BitLen(), 127)
		return parsed.SerialNumber.String()
	}
	first := serial(spec)
	require.Equal(t, first, serial(spec))
	for name, change := range map[string]func(*pki.Spec){
		"common name":  func(s *pki.Spec) { s.CommonName = "other" },
		"organisation": func(s *pki.Spec) { s.Organizations = []string{"o"} },
		"end":          func(s *pki.Spec) { s.NotAfter = s.NotAfter.Add(time.Second) },
		"begin":        func(s *pki.Spec) { s.NotBefore = s.NotBefore.Add(time.Second) },
		"usage":        func(s *pki.Spec) { s.Usages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} },
		"dns":          func(s *pki.Spec) { s.Names.DNS = []string{"a"} },
		"address":      func(s *pki.Spec) { s.Names.IPs = []netip.Addr{netip.MustParseAddr("10.0.0.1")} },
		"key":          func(s *pki.Spec) { s.Name = "apiserver/cp-2" },
		"signer":       func(s *pki.Spec) { s.Signer = pki.EtcdCA },
	} {
		changed := spec
		change(&changed)
		require.NotEqual(t, first, serial(changed), name)
	}
}

func TestGenerationChangesKey(t *testing.T) {
	t.Parallel()
	b := vectorBundle(t)
	key := func() string {
		cert, err := b.Issue(pki.Spec{Name: "apiserver/cp-1", CommonName: "x", NotBefore: b.Issued, NotAfter: b.Issued.Add(time.Hour)})
		require.NoError(t, err)
		return string(cert.Key.PEM())
	}
	first := key()
	b.Generations["apiserver/cp-1"] = 2
	require.NotEqual(t, first, key())
	b.Generations["apiserver/cp-1"] = 1
	require.Equal(t, first, key())
}

// TestEveryCertificate verifies each certificate of each machine by a second implementation as well, strictly.
func TestEveryCertificate(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	dir := t.TempDir()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Log("openssl is not installed: only Go's own verification is run")
	}
	for i := range p.Machines {
		m := &p.Machines[i]
		for _, spec := range b.Specs(p, m) {
			cert, err := b.Issue(spec)
			require.NoError(t, err)
			parsed, err := x509.ParseCertificate(cert.DER)
			require.NoError(t, err)
			require.IsType(t, &ecdsa.PublicKey{}, parsed.PublicKey)
			require.NotEmpty(t, parsed.SubjectKeyId, spec.Name)
			require.NotEmpty(t, parsed.AuthorityKeyId, spec.Name)
			require.Equal(t, b.Issued.Add(-time.Hour), parsed.NotBefore, spec.Name)
			if openssl == "" {
				continue
			}
			name := strings.ReplaceAll(spec.Name, "/", "-")
			ca, leaf := filepath.Join(dir, name+".ca"), filepath.Join(dir, name+".crt")
			require.NoError(t, os.WriteFile(ca, b.Authority(spec.Signer).PEM(), 0o600))
			require.NoError(t, os.WriteFile(leaf, cert.CertPEM(), 0o600))
			out, err := exec.Command(openssl, "verify", "-x509_strict", "-attime", fmt.Sprint(b.Issued.Unix()), "-CAfile", ca, leaf).CombinedOutput()
			require.NoError(t, err, "%s: %s", spec.Name, out)
		}
	}
}

// TestWorkerSecrets: a worker's own two certificates are all that it gets.
func TestWorkerSecrets(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	for i := range p.Machines {
		m := &p.Machines[i]
		var bases []string
		for _, s := range b.Specs(p, m) {
			bases = append(bases, s.Base)
		}
		if !m.ControlPlane() {
			require.Equal(t, []string{"kubelet-client", "kubelet-server"}, bases)
		}
	}
}

// TestEtcdMachineSecrets: a member's two certificates are all that an etcd machine gets, and nobody else gets them.
func TestEtcdMachineSecrets(t *testing.T) {
	t.Parallel()
	b, p := loadCase(t, filepath.Join(filepath.Dir(fixture), "etcd-machines"))
	for i := range p.Machines {
		m := &p.Machines[i]
		var bases []string
		for _, s := range b.Specs(p, m) {
			bases = append(bases, s.Base)
		}
		if m.Role == "etcd" {
			require.Equal(t, []string{"etcd-server", "etcd-peer"}, bases)
			continue
		}
		require.NotContains(t, bases, "etcd-server", m.Name)
		require.NotContains(t, bases, "etcd-peer", m.Name)
		require.Equal(t, m.ControlPlane(), slices.Contains(bases, "apiserver-etcd-client"), m.Name)
	}
}

func TestInstallCredentialEndsWithFormation(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	for _, s := range b.Specs(p, &p.Machines[0]) {
		for _, org := range s.Organizations {
			if org == "system:masters" {
				require.Equal(t, b.FormationDeadline, s.NotAfter, s.Name)
			}
		}
	}
	require.NotContains(t, b.AdminSpec(p).Organizations, "system:masters")
}

// TestInstallDeadline: the install credential has an end of its own once it was moved alone. A bundle that never was is
// written as before.
func TestInstallDeadline(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	old, err := b.Marshal()
	require.NoError(t, err)
	require.NotContains(t, string(old), "installDeadline")
	formation, later := b.FormationDeadline, b.FormationDeadline.Add(1000*time.Hour)

	b.ExtendInstall(later)
	text, err := b.Marshal()
	require.NoError(t, err)
	b, err = pki.Load(text)
	require.NoError(t, err)
	half, err := b.Public.Marshal()
	require.NoError(t, err)
	public, err := pki.LoadPublic(half)
	require.NoError(t, err)
	for _, one := range []*pki.Public{&b.Public, public} {
		require.Equal(t, formation, one.FormationDeadline)
		require.Equal(t, later, one.InstallEnd())
		for _, s := range one.Specs(p, &p.Machines[0]) {
			require.Equal(t, s.Base == "install", s.NotAfter.Equal(later), s.Name)
		}
	}

	b.Extend(formation)
	again, err := b.Marshal()
	require.NoError(t, err)
	require.Equal(t, string(old), string(again))
	b.ExtendInstall(later)
	b.Restore("a.db", formation)
	require.Equal(t, formation, b.InstallEnd(), "all machines get new documents")
	_, err = pki.Load(append(old, "installDeadline: soon\n"...))
	require.ErrorContains(t, err, "installDeadline: not a time")
}

func TestStagger(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	stagger := 720 * time.Hour
	ends := map[time.Time]bool{}
	for i := range p.Machines {
		plain := b.Specs(p, &p.Machines[i])[0].NotAfter
		p.Config.Spec.Certificates.Stagger = asDuration(stagger)
		end := b.Specs(p, &p.Machines[i])[0].NotAfter
		p.Config.Spec.Certificates.Stagger = 0
		require.LessOrEqual(t, plain.Sub(end), stagger)
		require.GreaterOrEqual(t, plain.Sub(end), time.Duration(0))
		ends[end] = true
	}
	require.Greater(t, len(ends), 1, "machines end at different times")
}

func TestIssueRefusesToOutliveItsCA(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	_, err := b.Issue(pki.Spec{Name: "x", CommonName: "x", NotBefore: b.Issued, NotAfter: b.CA.Certificate.NotAfter.Add(time.Second)})
	require.ErrorContains(t, err, "after its CA")
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []pki.Algorithm{pki.P256, pki.RSA2048} {
		b, err := pki.New(pki.Options{Name: "x", Now: time.Now(), Algorithm: algorithm, CALifetime: 24 * time.Hour, FormationWindow: time.Hour})
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

// TestLoadRefuses: what is wrong with a bundle is said without any of it.
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
		"empty":           {"", "the bundle is empty"},
		"not YAML":        {"\t\x00", "not a bundle"},
		"unknown key":     {string(good) + "extra: 1\n", "a bundle has no such key here"},
		"encrypted":       {"-----BEGIN AGE ENCRYPTED FILE-----\n", "age -d"},
		"cut off":         {string(good[:len(good)/2]), "the bundle is not whole: its end is missing"},
		"cut off early":   {string(good[:300]), "the bundle is not whole: its end is missing"},
		"SOPS":            {"apiVersion: ENC[x]\nsops:\n    mac: x\n", "sops -d"},
		"public half":     {string(half), "this is the public half of a bundle"},
		"short seed":      {replace(seed, "AAAA"), "leafSeed: want 32 bytes"},
		"bad uuid":        {replace(b.Cluster, "prod"), "cluster: not a UUID"},
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

// TestNothingPrintsSecrets: whatever the verb, a secret prints as one word.
func TestNothingPrintsSecrets(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{b.LeafSeed, b.CAKey, b.ServiceAccountKey} {
			require.Equal(t, "REDACTED", fmt.Sprintf(verb, v))
		}
	}
	require.NotContains(t, fmt.Sprint(b.Token("x")), b.Token("x").Secret)
}

func line(text []byte, key string) string {
	_, rest, _ := strings.Cut(string(text), key)
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// swapKeys puts the etcd CA's key where the cluster CA's belongs.
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
	return strings.Replace(strings.Replace(strings.Replace(text, keys[0], "\x01", 1), keys[1], keys[0], 1), "\x01", keys[1], 1)
}

// TestPublicRoundTrip: the stored public half is read as it was written, says what the bundle says, and holds no key.
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

// TestLoadPublicRefuses: above all a whole bundle, which would not belong where it was found.
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
		"empty":       {"", "apiVersion and kind: want kiln.dev/v1alpha1 and SecretsPublic"},
		"not YAML":    {"\t\x00", "not the public half"},
		"unknown key": {string(good) + "leafSeed: AAAA\n", "not the public half"},
		"bad uuid":    {replace(b.Cluster, "prod"), "cluster: not a UUID"},
		"no CA":       {replace("-----BEGIN CERTIFICATE", "-----BEGIN NOTHING"), "want exactly one PEM block CERTIFICATE"},
		"too large":   {strings.Repeat("#", 2<<20), "larger than"},
	} {
		_, err := pki.LoadPublic([]byte(row.text))
		require.ErrorContains(t, err, row.want, name)
	}
}

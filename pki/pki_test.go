package pki_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/test/need"
)

// fixture is a case whose bundle is fixed for ever: the vectors below depend on it.
const fixture = "../testdata/clusters/ha"

func load(t testing.TB) (*pki.Bundle, *plan.Plan) {
	t.Helper()
	c, err := render.Config(&folder.Input{Path: filepath.Join(fixture, "cluster.yaml")})
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(fixture, "bundle", "secrets.yaml"))
	require.NoError(t, err)
	b, err := pki.Load(data)
	require.NoError(t, err)
	return b, plan.New(c)
}

// vectorBundle has a seed that can be typed. Its CAs are the fixture's: derivation does not depend
// on them.
func vectorBundle(t testing.TB) *pki.Bundle {
	t.Helper()
	b, _ := load(t)
	b.Cluster = "00112233-4455-4677-8899-aabbccddeeff"
	b.LeafSeed = private.Secret(strings.Repeat("\x01", 32))
	b.Generations = map[string]int{"rotated/cp-1": 2, "token/again": 3}
	return b
}

// TestPrivate: every encoding of a key contains the private bytes, and the public key does not.
func TestPrivate(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []private.Algorithm{private.P256, private.RSA2048} {
		key, err := private.NewKey(algorithm)
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

// TestBarePEM: Go and OpenSSL compute the public key that is left out.
func TestBarePEM(t *testing.T) {
	t.Parallel()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(p384)
	require.NoError(t, err)
	block := &pem.Block{Type: "EC PRIVATE KEY", Bytes: der}
	given, err := private.ParseKey(pem.EncodeToMemory(block))
	require.NoError(t, err)
	made, err := private.NewKey(private.P256)
	require.NoError(t, err)
	for _, key := range []private.Key{made, given} {
		bare := key.BarePEM()
		same, err := private.ParseKey(bare)
		require.NoError(t, err)
		require.Equal(t, key.PEM(), same.PEM())
		require.Less(t, len(bare), len(key.PEM())-80)
		openssl := need.Program(t, "openssl")
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
	spec := pki.Spec{Name: "apiserver/cp-1", CommonName: "kube-apiserver", NotBefore: b.Issued,
		NotAfter: b.Issued.Add(time.Hour)}
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
		"usage": func(s *pki.Spec) {
			s.Usages = []x509.ExtKeyUsage{
				x509.ExtKeyUsageServerAuth}
		},
		"dns": func(s *pki.Spec) { s.Names.DNS = []string{"a"} },
		"address": func(s *pki.Spec) {
			s.Names.IPs = []netip.Addr{
				netip.MustParseAddr("10.0.0.1")}
		},
		"key":    func(s *pki.Spec) { s.Name = "apiserver/cp-2" },
		"signer": func(s *pki.Spec) { s.Signer = pki.EtcdCA },
	} {
		changed := spec
		change(&changed)
		require.NotEqual(t, first, serial(changed), name)
	}
}

// TestEveryCertificate verifies each certificate of each machine strictly, with OpenSSL too.
func TestEveryCertificate(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	dir := t.TempDir()
	hasOpenSSL := need.Has(t, "openssl")
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
			if !hasOpenSSL {
				continue
			}
			name := strings.ReplaceAll(spec.Name, "/", "-")
			ca, leaf := filepath.Join(dir, name+".ca"), filepath.Join(dir, name+".crt")
			require.NoError(t, os.WriteFile(ca, b.Authority(spec.Signer).PEM(), 0o600))
			require.NoError(t, os.WriteFile(leaf, cert.CertPEM(), 0o600))
			out, err := exec.Command(need.Program(t, "openssl"), "verify", "-x509_strict",
				"-attime", fmt.Sprint(b.Issued.Unix()), "-CAfile", ca, leaf).CombinedOutput()
			require.NoError(t, err, "%s: %s", spec.Name, out)
		}
	}
}

// TestIssueUnverified: whatever the key of the CA, a certificate whose signature is not verified at
// once is the same as one whose signature is.
func TestIssueUnverified(t *testing.T) {
	t.Parallel()
	b, p := load(t)
	other, err := pki.New(pki.Options{
		Name: "rsa", Now: b.Issued, CALifetime: 20 * 365 * 24 * time.Hour,
		Algorithm: private.RSA2048,
	})
	require.NoError(t, err)
	for _, b := range []*pki.Bundle{b, other} {
		for i := range p.Machines {
			for _, spec := range b.Specs(p, &p.Machines[i]) {
				verified, err := b.Issue(spec)
				require.NoError(t, err)
				unverified, err := b.IssueUnverified(spec)
				require.NoError(t, err)
				require.Equal(t, verified.DER, unverified.DER, spec.Name)
			}
		}
	}
	spec := b.Specs(p, &p.Machines[0])[0]
	b.CAKey = other.CAKey
	_, err = b.Issue(spec)
	require.Error(t, err)
	_, errUnverified := b.IssueUnverified(spec)
	require.Equal(t, err, errUnverified)
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

// TestInstallDeadline: ExtendInstall gives the install credential an end of its own. Without it the
// stored bundle has no such field.
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
		*p.Config.Spec.Certificates.Stagger = 0
		plain := b.Specs(p, &p.Machines[i])[0].NotAfter
		*p.Config.Spec.Certificates.Stagger = config.Duration(stagger)
		end := b.Specs(p, &p.Machines[i])[0].NotAfter
		require.LessOrEqual(t, plain.Sub(end), stagger)
		require.GreaterOrEqual(t, plain.Sub(end), time.Duration(0))
		ends[end] = true
	}
	require.Greater(t, len(ends), 1, "machines end at different times")
}

func TestIssueRefusesToOutliveItsCA(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	_, err := b.Issue(pki.Spec{Name: "x", CommonName: "x", NotBefore: b.Issued,
		NotAfter: b.CA.Certificate.NotAfter.Add(time.Second)})
	require.ErrorContains(t, err, "after its CA")
}

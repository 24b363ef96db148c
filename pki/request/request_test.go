package request_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/pki/request"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
)

// cluster returns a golden cluster whose bundle has lost the key of its CA, and has what that CA
// signed before.
func cluster(t *testing.T) (*pki.Bundle, *plan.Plan) {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "clusters", "offline-signing")
	c, err := render.Config(&folder.Input{Path: filepath.Join(dir, "cluster.yaml")})
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "bundle", "secrets.yaml"))
	require.NoError(t, err)
	b, err := pki.Load(data)
	require.NoError(t, err)
	p := plan.New(c)
	require.Empty(t, list(b, p, time.Time{}), "a bundle with all keys asks for nothing")
	require.NoError(t, lacking(b, p, time.Time{}))

	b.External.Roots = []pki.Root{pki.RootCA}
	wanted := list(b, p, b.Issued)
	b.External.Roots = nil
	signed := map[string]*x509.Certificate{}
	for i := range wanted {
		cert, err := b.Issue(wanted[i].Spec)
		require.NoError(t, err)
		signed[wanted[i].Mark()], err = x509.ParseCertificate(cert.DER)
		require.NoError(t, err)
	}
	b.CAKey, b.External.Certificates = private.Key{}, signed
	b.External.Roots = []pki.Root{pki.RootCA}
	return b, p
}

func list(b *pki.Bundle, p *plan.Plan, now time.Time) []request.Certificate {
	return (&request.Cluster{Public: &b.Public, Bundle: b, Plan: p, Now: now}).List()
}

func lacking(b *pki.Bundle, p *plan.Plan, now time.Time) error {
	return (&request.Cluster{Public: &b.Public, Bundle: b, Plan: p, Now: now}).Missing()
}

// TestMissing: every certificate that nobody signed as it is wanted is named, and what has ended if
// somebody asks. The install credential may end once nobody may use it.
func TestMissing(t *testing.T) {
	t.Parallel()
	b, p := cluster(t)
	require.NoError(t, lacking(b, p, time.Time{}))
	missing := func(now time.Time) []string {
		err := lacking(b, p, now)
		if err == nil {
			return nil
		}
		return strings.Split(err.Error(), "\n")
	}
	const what = " to be signed; kiln certs csr writes the requests for the CAs whose keys are " +
		"not in the bundle, and kiln certs add takes what they sign (docs/external-ca.md)"
	window := b.InstallEnd()
	require.Empty(t, missing(window.Add(-time.Second)))
	require.Empty(t, missing(window.Add(time.Second)), "the first boot is over")
	b.Extend(window.Add(time.Hour))
	require.Empty(t, missing(window.Add(-time.Second)))
	require.Equal(t, []string{
		"cp-1: certificate install: what was signed ended on 2026-01-08", "1 certificate" + what,
	}, missing(window))

	late := missing(b.Issued.AddDate(2, 0, 0))
	require.Contains(t, late, "worker-1: certificate kubelet-server: what was signed ended on "+
		b.Signed(find(t, b, p, "worker-1", "kubelet-server").Spec).NotAfter.Format(time.DateOnly))
	require.Equal(t, "9 certificates"+what, late[len(late)-1])

	// A control plane that is added later has no use for the credential.
	delete(b.External.Certificates, "install/cp-1 g1")
	const unsigned = "cp-1: certificate install: nobody has signed it yet"
	require.Equal(t, unsigned, missing(b.InstallEnd().Add(-time.Second))[0])
	require.Empty(t, missing(b.InstallEnd()))
	require.Empty(t, missing(time.Time{}))
	require.Contains(t, missing(b.Issued.Add(-2 * time.Hour))[0],
		"what was signed is not valid before")

	delete(b.External.Certificates, "admin g1")
	b.Generations = map[string]int{"scheduler/cp-1": 2}
	apiserver := find(t, b, p, "cp-1", "apiserver")
	other := *apiserver.Signed()
	other.DNSNames = other.DNSNames[1:]
	b.External.Certificates[apiserver.Mark()] = &other
	require.Equal(t, []string{
		"cp-1: certificate apiserver: it is not for DNS:cp-1: the names of the request are " +
			"missing, or have changed since",
		"cp-1: certificate scheduler: nobody has signed it yet",
		"certificate admin: nobody has signed it yet",
		"3 certificates" + what,
	}, missing(time.Time{}))

	p.OnlineSigning = true
	require.Contains(t, missing(time.Time{})[0], "write certificates: {signing: offline}")
}

// TestLack: what is stored is judged as what is given, each time anew, and what ends in a time
// counts for that time.
func TestLack(t *testing.T) {
	t.Parallel()
	b, p := cluster(t)
	lack := func(base string, at time.Time, within time.Duration) string {
		all := list(b, p, at)
		for i := range all {
			if all[i].Base == base {
				return all[i].Lack(within)
			}
		}
		return "not wanted"
	}
	end := b.External.Certificates["scheduler/cp-1 g1"].NotAfter
	day := end.Format(time.DateOnly)
	life := end.Sub(b.Issued)
	require.Empty(t, lack("scheduler", b.Issued, life-time.Second))
	require.Equal(t, "what was signed ends on "+day, lack("scheduler", b.Issued, life))
	require.Equal(t, "what was signed ended on "+day, lack("scheduler", end, 0))
	require.Empty(t, lack("scheduler", time.Time{}, 0))

	swap := func(mark string, change func(*x509.Certificate)) {
		c := *b.External.Certificates[mark]
		change(&c)
		b.External.Certificates[mark] = &c
	}
	swap("scheduler/cp-1 g1", func(c *x509.Certificate) { c.IsCA = true })
	require.Contains(t, lack("scheduler", time.Time{}, 0), "it is a CA")
	swap("admin g1", func(c *x509.Certificate) { c.Signature = []byte{1} })
	require.Contains(t, lack("admin", time.Time{}, 0), "did not sign it")
	signed := b.External.Certificates
	signed["apiserver/cp-1 g1"] = signed["kubelet-server/cp-1 g1"]
	require.Contains(t, lack("apiserver", time.Time{}, 0), "what was signed is for another key")

	// The credential ends when the cluster has been formed, also if that is sooner than before.
	require.Empty(t, lack("install", b.Issued, 0))
	b.ExtendInstall(b.Issued.Add(48 * time.Hour))
	require.Contains(t, lack("install", b.Issued, 0), "it would end on")
	require.Equal(t, "not wanted", lack("install", time.Time{}, 0), "no machine gets it")
}

// TestRequest: a request has everything that the certificate has to say, but no names where a
// client has none.
func TestRequest(t *testing.T) {
	t.Parallel()
	b, p := cluster(t)
	parse := func(base string) *x509.CertificateRequest {
		c := find(t, b, p, "cp-1", base)
		text, err := c.PEM(b)
		require.NoError(t, err)
		block, rest := pem.Decode(text)
		require.Empty(t, rest)
		require.Equal(t, "CERTIFICATE REQUEST", block.Type)
		r, err := x509.ParseCertificateRequest(block.Bytes)
		require.NoError(t, err)
		require.NoError(t, r.CheckSignature())
		require.True(t, b.LeafKey(c.Name).Fits(r.PublicKey))
		return r
	}
	r := parse("apiserver")
	require.Equal(t, "CN=kube-apiserver", r.Subject.String())
	require.Contains(t, r.DNSNames, "kubernetes.default.svc")
	require.Contains(t, r.IPAddresses[len(r.IPAddresses)-1].String(), ":")
	require.Len(t, r.Extensions, 3)
	require.Equal(t, []pkix.Extension{
		{Id: []int{2, 5, 29, 15}, Critical: true, Value: []byte{3, 2, 7, 0x80}},
		{Id: []int{2, 5, 29, 37}, Value: []byte{
			0x30, 0x0a, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1, // serverAuth
		}},
	}, r.Extensions[1:])
	r = parse("install")
	require.Equal(t, "CN=kiln:install,O=system:masters", r.Subject.String())
	require.Len(t, r.Extensions, 2, "no names")
	install := find(t, b, p, "cp-1", "install")
	require.Equal(t, 168*time.Hour, install.Lifetime)
	require.Equal(t, 168*time.Hour, install.Wanted.Longest)
	require.Zero(t, find(t, b, p, "cp-1", "scheduler").Wanted.Longest)
}

func find(
	t *testing.T, b *pki.Bundle, p *plan.Plan, machine, base string,
) *request.Certificate {
	t.Helper()
	for _, c := range list(b, p, time.Time{}) {
		if c.Machine == machine && c.Base == base {
			return &c
		}
	}
	require.Fail(t, "no such certificate")
	return nil
}

package render_test

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/pki/request"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// TestSignedElsewhere: a cluster whose CAs sign elsewhere is the same cluster. A golden one loses
// the keys of its CAs; somebody signs the requests, with the dates that kiln would have given.
// Every machine passes the checks, and differs in certificates alone.
func TestSignedElsewhere(t *testing.T) {
	t.Parallel()
	names := []string{
		"dual-stack", "etcd-machines", "external-etcd", "imported", "offline-signing",
		"pools-renewed", "rsa-ca", "vip",
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, own := inputs(t, name)
			p := plan.New(c)
			signers := []pki.Signer{pki.EtcdCA, pki.FrontProxyCA}
			if name == "imported" {
				c.Spec.Certificates.Signing = "offline"
				p = plan.New(c)
			}
			if !p.OnlineSigning {
				signers = append(signers, pki.CA)
			}
			b, keys := withoutKeys(t, own, signers)
			signed := request.Cluster{Public: &b.Public, Bundle: b, Plan: p, Now: b.Issued}
			wanted := signed.List()
			_, err := render.New(c, b)
			if len(wanted) == 0 {
				require.NoError(t, err)
				return // etcd is somebody else's, and no machine has the other certificates
			}
			require.ErrorContains(t, err, wanted[0].Of()+": nobody has signed it yet")
			b.External.Certificates = map[string]*x509.Certificate{}
			for i := range wanted {
				b.External.Certificates[wanted[i].Mark()] = sign(t, b, &wanted[i], keys)
			}
			text, err := b.Marshal()
			require.NoError(t, err)
			b, err = pki.Load(text)
			require.NoError(t, err)
			signed = request.Cluster{Public: &b.Public, Bundle: b, Plan: p, Now: b.Issued}
			require.NoError(t, signed.Missing())
			if !b.NeedsInstall(b.Issued) {
				requireNoInstall(t, c, b)
				return
			}

			elsewhere, err := render.New(c, b)
			require.NoError(t, err)
			here, err := render.New(c, own)
			require.NoError(t, err)
			for i := range p.Machines {
				requireSame(t, elsewhere, here, i)
			}
			twin, err := elsewhere.Twin(nil)
			require.NoError(t, err)
			public, err := render.NewPublic(c, &b.Public)
			require.NoError(t, err)
			again, err := public.Twin(nil)
			require.NoError(t, err)
			require.Equal(t, twin, again, "the public half is enough for the twin")
		})
	}
}

// requireNoInstall requires that the machines of a cluster that runs pass the checks without the
// install credential.
func requireNoInstall(t *testing.T, c *config.Cluster, b *pki.Bundle) {
	t.Helper()
	r, err := render.New(c, b)
	require.NoError(t, err)
	for i := range r.Plan.Machines {
		n, err := r.Node(i)
		require.NoError(t, err)
		require.NoError(t, r.Check(&r.Plan.Machines[i], n))
		require.Nil(t, n.File(plan.PKIDir+"/install.key"))
		if r.Plan.Machines[i].ControlPlane() {
			require.NotContains(t, string(n.File(plan.AdminConf).Content), "client-key")
		}
	}
}

// withoutKeys returns a bundle without the keys of its CAs, and these keys. A CA that is being
// rotated keeps its own.
func withoutKeys(
	t *testing.T, own *pki.Bundle, signers []pki.Signer,
) (*pki.Bundle, map[pki.Signer]private.Key) {
	t.Helper()
	b, keys := *own, map[pki.Signer]private.Key{}
	for _, s := range signers {
		if own.Rotation(s.Root()).Stage != pki.Settled {
			continue
		}
		keys[s] = own.IssuerKey(s)
		b.External.Roots = append(b.External.Roots, s.Root())
		switch s {
		case pki.EtcdCA:
			b.EtcdCAKey = private.Key{}
		case pki.FrontProxyCA:
			b.FrontProxyCAKey = private.Key{}
		default:
			b.CAKey = private.Key{}
		}
	}
	text, err := b.Marshal()
	require.NoError(t, err)
	stored, err := pki.Load(text)
	require.NoError(t, err)
	return stored, keys
}

// sign signs a request as a CA with its extensions, and requires that nothing is wrong with it.
func sign(
	t *testing.T, b *pki.Bundle, w *request.Certificate, keys map[pki.Signer]private.Key,
) *x509.Certificate {
	t.Helper()
	text, err := w.PEM(b)
	require.NoError(t, err)
	again, err := w.PEM(b)
	require.NoError(t, err)
	require.Equal(t, text, again, "requests repeat")
	block, _ := pem.Decode(text)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	require.NoError(t, err)
	require.NoError(t, csr.CheckSignature())
	ca := b.Authority(w.Signer).Certificate
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), RawSubject: csr.RawSubject, NotBefore: w.NotBefore,
		NotAfter: w.NotAfter, ExtraExtensions: csr.Extensions,
	}
	if template.NotBefore.Before(ca.NotBefore) {
		template.NotBefore = ca.NotBefore
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, csr.PublicKey, keys[w.Signer])
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	require.Empty(t, w.Wanted.Faults(cert, template.NotBefore.Add(time.Minute)), w.Of())
	return cert
}

// requireSame requires that a machine passes the checks, and that its files are those of the other
// cluster, except for certificates and for the list of all files.
func requireSame(t *testing.T, elsewhere, here *render.Cluster, i int) {
	t.Helper()
	m := &here.Plan.Machines[i]
	changed := []string{"/etc/kiln/files"}
	for _, spec := range here.Public.Specs(here.Plan, m) {
		changed = append(changed, spec.CertPath)
	}
	a, err := elsewhere.Node(i)
	require.NoError(t, err)
	require.NoError(t, elsewhere.Check(&elsewhere.Plan.Machines[i], a))
	b, err := here.Node(i)
	require.NoError(t, err)
	require.Len(t, a.Files, len(b.Files))
	for j := range a.Files {
		got, want := a.Files[j], b.Files[j]
		if slices.Contains(changed, got.Path) {
			require.Equal(t, len(strings.Split(string(want.Content), "\n")) > 1,
				len(strings.Split(string(got.Content), "\n")) > 1, got.Path)
			got.Content, want.Content = nil, nil
			got.Shown, want.Shown = nil, nil
		}
		require.Equal(t, want, got)
	}
}

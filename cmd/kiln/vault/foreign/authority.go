package foreign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render/text/wording"
)

// authority reads the certificate of a CA and, behind it in the file, the CAs that signed it. A
// root at the end is left out of the chain: clients that do not know it already would not trust it.
func (r *reader) authority(f GivenFile) pki.Authority {
	chain := r.certificates(f)
	if len(chain) == 0 {
		return pki.Authority{}
	}
	ca, known := chain[0], len(r.errs)
	for i, c := range chain {
		who := name(c)
		if i > 0 {
			who = fmt.Sprintf("%s, number %d in the file,", who, i+1)
		}
		r.signer(f, c, who, i)
	}
	for i, c := range chain[1:] {
		if len(r.errs) == known && !root.SignedCA(c, chain[i]) {
			r.fail(f, "several CAs: %s did not sign %s; want one CA and, behind it, "+
				"those that signed it, in their order. Of a CA that is being replaced, import the "+
				"one that signs, when the other one is trusted no longer", name(c), name(chain[i]))
		}
	}
	switch {
	case len(ca.ExtKeyUsage) == 0 || slices.Contains(ca.ExtKeyUsage, x509.ExtKeyUsageAny):
	case !slices.Contains(ca.ExtKeyUsage, x509.ExtKeyUsageServerAuth) ||
		!slices.Contains(ca.ExtKeyUsage, x509.ExtKeyUsageClientAuth):
		r.fail(f, "%s may not sign for servers and for clients (extendedKeyUsage); want a CA "+
			"without that limit", name(ca))
	}
	if last := len(chain) - 1; last > 0 && root.SignedCA(chain[last], chain[last]) {
		chain = chain[:last]
	}
	return pki.Authority{Certificate: ca, Chain: chain[1:]}
}

// certificates reads all certificates of a file.
func (r *reader) certificates(f GivenFile) (list []*x509.Certificate) {
	rest := []byte(f.Data)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			r.fail(f, "a PEM block %s; want certificates alone: the key goes into a file "+
				"of its own", block.Type)
			return nil
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			r.fail(f, "certificate %d cannot be read; want X.509 in PEM", len(list)+1)
			return nil
		}
		list = append(list, c)
	}
	if bytes.Contains(rest, []byte("-----BEGIN")) || len(list) == 0 {
		r.fail(f, "no whole PEM block CERTIFICATE; want the certificate of a CA in PEM")
		return nil
	}
	return list
}

// signer checks what each CA of a chain has to be. below is how many CAs come between it and a
// leaf.
func (r *reader) signer(f GivenFile, c *x509.Certificate, who string, below int) {
	switch {
	case !c.BasicConstraintsValid || !c.IsCA:
		r.fail(f, "%s is not a CA (basicConstraints); want the certificate of a CA", who)
	case c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0, c.KeyUsage == 0 && below == 0:
		r.fail(f, "%s may not sign certificates (keyUsage); want a CA with keyCertSign", who)
	case (c.MaxPathLen > 0 || c.MaxPathLenZero) && c.MaxPathLen < below:
		r.fail(f, "%s allows a path length of %d, and %d CAs stand below it; want a root that "+
			"allows them", who, c.MaxPathLen, below)
	}
	if len(c.UnhandledCriticalExtensions) > 0 {
		r.fail(f, "%s has the critical extension %s, which Go does not know, so that Kubernetes "+
			"refuses all that it signs; want a CA without it", who,
			c.UnhandledCriticalExtensions[0])
	}
	if r.Now.Before(c.NotBefore) {
		r.fail(f, "%s is not valid before %s; look at this computer's clock, or wait", who,
			c.NotBefore.UTC().Format(time.RFC3339))
	}
	switch {
	case r.Now.After(c.NotAfter):
		r.fail(f, "%s ended on %s; replace it where the cluster runs, and import the new one", who,
			day(c.NotAfter))
	case c.NotAfter.Before(r.Leaves):
		r.fail(f, "%s ends on %s, before the certificates of machines (%s); shorten "+
			"certificates.lifetime, or bring a CA that lives longer", who, day(c.NotAfter),
			day(r.Leaves))
	}
	if weak := weakness(c.PublicKey); weak != "" {
		r.fail(f, "the key of %s is %s; want ECDSA P-256 or P-384, or RSA with 2048 bits or more",
			who, weak)
	}
	if slices.Contains(root.Broken, c.SignatureAlgorithm) {
		r.fail(f, "%s is signed with %s, which no client accepts; want SHA-256 or better", who,
			c.SignatureAlgorithm)
	}
}

// weakness returns what keeps a public key out of a cluster; empty if nothing does. kiln takes
// neither P-521 nor Ed25519: kubeadm makes none, and no test of kiln has seen programs with them.
func weakness(key crypto.PublicKey) string {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 {
			return fmt.Sprintf("weak: RSA with %d bits", k.N.BitLen())
		}
		return root.Huge(key)
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() && k.Curve != elliptic.P384() {
			return "ECDSA " + k.Curve.Params().Name
		}
		return ""
	case nil:
		return "of a kind that Go does not know"
	default:
		return "neither RSA nor ECDSA"
	}
}

// name returns a CA as messages name it.
func name(c *x509.Certificate) string {
	return fmt.Sprintf("CA %q", wording.Visible(c.Subject.CommonName, ""))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Package request lists the certificates of a cluster that CAs sign whose keys are not in the
// bundle, says which of them are missing and why, and makes the requests for them. Package external
// says what is wrong with a certificate that comes back.
package request

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/external"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// Certificate is a certificate that is signed elsewhere.
type Certificate struct {
	pki.Spec
	Machine string // empty for the operator's
	Wanted  external.Wanted
	// Lifetime is how long it is of use at most.
	Lifetime time.Duration

	cluster *Cluster
}

// Cluster is the cluster whose certificates are listed.
type Cluster struct {
	Public *pki.Public
	// Bundle has the keys; without it nobody asks whether a certificate is for its key.
	Bundle *pki.Bundle
	Plan   *plan.Plan
	// Now is the time for which the certificates are wanted. With the zero time nobody asks what
	// is valid yet, or has ended, or is needed for the first boot alone.
	Now time.Time
}

// List returns the certificates of the cluster that are signed elsewhere: those of its machines, in
// the plan's order, and after them the operator's.
func (l *Cluster) List() (all []Certificate) {
	half, cluster := l.Public, l.Plan
	if len(half.External.Roots) == 0 {
		return nil
	}
	add := func(machine string, spec pki.Spec) {
		if !half.Lacks(spec.Signer) {
			return
		}
		c := Certificate{Spec: spec, Machine: machine, cluster: l,
			Lifetime: time.Duration(cluster.Config.Spec.Certificates.Lifetime),
			Wanted: external.Wanted{
				Leaf: spec.Leaf(), CA: half.Authority(spec.Signer).Certificate,
			},
		}
		if c.install() {
			c.Lifetime = time.Duration(cluster.Config.Spec.Boot.FormationWindow)
			c.Wanted.Longest, c.Wanted.Until = c.Lifetime, half.InstallEnd()
		}
		all = append(all, c)
	}
	for i := range cluster.Machines {
		m := &cluster.Machines[i]
		specs := half.Specs(cluster, m)
		if !l.Now.IsZero() {
			specs = half.SpecsAt(cluster, m, l.Now)
		}
		for _, spec := range specs {
			add(m.Name, spec)
		}
	}
	add("", half.AdminSpec(cluster))
	return all
}

// install reports whether c is the credential that only the first boot uses.
func (c *Certificate) install() bool { return c.Base == pki.InstallBase }

// Mark returns the name under which a bundle keeps the certificate.
func (c *Certificate) Mark() string { return c.cluster.Public.SignedMark(c.Spec) }

// Signed returns what was signed; nil if nobody did that.
func (c *Certificate) Signed() *x509.Certificate { return c.cluster.Public.Signed(c.Spec) }

// Of returns what the certificate is for, as messages name it: "cp-1: certificate apiserver".
func (c *Certificate) Of() string {
	if c.Machine == "" {
		return "certificate " + c.Base
	}
	return c.Machine + ": certificate " + c.Base
}

// Lack returns why c has to be signed, or signed again; empty if what is there will do. within is
// how long it has to be valid at least.
func (c *Certificate) Lack(within time.Duration) string {
	signed, now := c.Signed(), c.cluster.Now
	if signed == nil {
		return "nobody has signed it yet"
	}
	faults := c.Wanted.Faults(signed, time.Time{})
	if b := c.cluster.Bundle; b != nil && !b.LeafKey(c.Name).Fits(signed.PublicKey) {
		faults = append(faults, "what was signed is for another key")
	}
	day := signed.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case len(faults) > 0:
		return strings.Join(faults, "; ")
	case now.IsZero():
		return ""
	case now.Before(signed.NotBefore):
		return "what was signed is not valid before " +
			signed.NotBefore.UTC().Format(time.RFC3339) + "; look at this computer's clock"
	case !now.Before(signed.NotAfter):
		return "what was signed ended on " + day
	case !now.Add(within).Before(signed.NotAfter):
		return "what was signed ends on " + day
	}
	return ""
}

// Missing returns an error for each certificate that nobody has signed as the configuration wants
// it, and one with what to do.
func (l *Cluster) Missing() error {
	var errs []error
	if l.Public.Lacks(pki.CA) && l.Plan.OnlineSigning {
		errs = append(errs, errors.New("there is no key of the cluster's CA with which the "+
			"control planes could sign; write certificates: {signing: offline} into the "+
			"configuration"))
	}
	missing := 0
	for _, c := range l.List() {
		if why := c.Lack(0); why != "" {
			missing++
			errs = append(errs, fmt.Errorf("%s: %s", c.Of(), why))
		}
	}
	if missing > 0 {
		errs = append(errs, fmt.Errorf("%s; kiln certs csr writes the requests for the CAs whose "+
			"keys are not in the bundle, and kiln certs add takes what they sign "+
			"(docs/external-ca.md)", wording.Count(missing, "certificate")+" to be signed"))
	}
	return errors.Join(errs...)
}

// The extensions of RFC 5280 that Go does not write into a request by itself.
var (
	keyUsage    = asn1.ObjectIdentifier{2, 5, 29, 15}
	extKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}
	usages      = map[x509.ExtKeyUsage]asn1.ObjectIdentifier{
		x509.ExtKeyUsageServerAuth: {1, 3, 6, 1, 5, 5, 7, 3, 1},
		x509.ExtKeyUsageClientAuth: {1, 3, 6, 1, 5, 5, 7, 3, 2},
	}
)

// PEM returns the request (PKCS #10): subject, names and usages, signed with the key that the
// bundle derives. Equal inputs give equal bytes.
func (c *Certificate) PEM(b *pki.Bundle) ([]byte, error) {
	var purposes []asn1.ObjectIdentifier
	for _, u := range c.Usages {
		purposes = append(purposes, usages[u])
	}
	var extensions []pkix.Extension
	for _, e := range []struct {
		id       asn1.ObjectIdentifier
		critical bool
		value    any
	}{
		{keyUsage, true, asn1.BitString{Bytes: []byte{0x80}, BitLength: 1}}, // digitalSignature
		{extKeyUsage, false, purposes},
	} {
		der, err := asn1.Marshal(e.value)
		if err != nil {
			return nil, fmt.Errorf("request %s: %w", c.Name, err)
		}
		extensions = append(extensions,
			pkix.Extension{Id: e.id, Critical: e.critical, Value: der})
	}
	// Without a random reader ECDSA signs as in RFC 6979.
	leaf := c.Wanted.Leaf
	der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{
		Subject: leaf.Subject, DNSNames: leaf.DNSNames, IPAddresses: leaf.IPAddresses,
		ExtraExtensions: extensions,
	}, b.LeafKey(c.Name))
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", c.Name, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

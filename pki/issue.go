package pki

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"kiln.dev/kiln/pki/external"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/pki/root"
)

// newAuthority makes a self-signed CA that signs leaves only.
func newAuthority(
	name string, algorithm private.Algorithm, from, until time.Time,
) (Authority, private.Key, error) {
	key, err := private.NewKey(algorithm)
	if err != nil {
		return Authority{}, private.Key{}, err
	}
	serial, err := private.NewSerial()
	if err != nil {
		return Authority{}, private.Key{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		SubjectKeyId: keyID(key.PublicDER()),
		DNSNames:     []string{name},
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return Authority{}, private.Key{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return Authority{Certificate: cert}, key, err
}

// keyID is the subject key identifier of RFC 7093 §2 method 1: the leftmost 160 bits of the SHA-256
// of the key.
func keyID(public []byte) []byte {
	sum := sha256.Sum256(public)
	return sum[:20]
}

// Certificate is an issued leaf certificate with its derived key.
type Certificate struct {
	Spec Spec
	Key  private.Key
	DER  []byte
	// chain is what a server sends with its certificate.
	chain []byte
}

// CertPEM returns the certificate and, for a server, the CAs between its own and a root.
func (c *Certificate) CertPEM() []byte {
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER}), c.chain...)
}

// BothPEM returns certificate and key in one file, as the kubelet's certificate store keeps them.
func (c *Certificate) BothPEM() []byte { return append(c.CertPEM(), c.Key.BarePEM()...) }

// Issue returns the certificate that spec describes, with the key that is derived from the bundle's
// leaf seed. Its serial number is a function of everything that is signed, so that equal serial
// numbers mean equal certificates. It fails if the certificate would outlive its CA, and if the key
// of the CA is elsewhere and nobody has signed the certificate there.
func (b *Bundle) Issue(spec Spec) (*Certificate, error) {
	return b.issue(spec, b.LeafKey(spec.Name), x509.CreateCertificate)
}

// IssueUnverified is Issue for a caller that verifies the certificate: crypto/x509 verifies each
// signature that it has made, which takes longer than all the rest.
func (b *Bundle) IssueUnverified(spec Spec) (*Certificate, error) {
	return b.issue(spec, b.LeafKey(spec.Name), createUnverified)
}

// create is x509.CreateCertificate, or returns what that returns.
type create func(random io.Reader, template, ca *x509.Certificate, public, key any) ([]byte, error)

// issue is Issue with another key.
func (b *Bundle) issue(spec Spec, key private.Key, create create) (*Certificate, error) {
	ca := b.Authority(spec.Signer)
	template, err := b.Template(spec)
	if err != nil {
		return nil, err
	}
	der := template.Raw
	switch {
	case !b.Lacks(spec.Signer):
		public := key.PublicDER()
		template.SubjectKeyId = keyID(public)
		template.SerialNumber = b.serial(content(template, ca.Certificate, public))
		// Without a random reader ECDSA signs as in RFC 6979: the same content gives the same
		// bytes.
		der, err = create(nil, template, ca.Certificate, key.Public(), b.IssuerKey(spec.Signer))
	case !key.Fits(template.PublicKey):
		err = errors.New("what was signed is for another key; kiln certs csr writes a new request")
	}
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", spec.Name, err)
	}
	c := &Certificate{Spec: spec, Key: key, DER: der}
	for _, parent := range b.Sent(spec) {
		c.chain = append(c.chain, root.CertificatePEM(parent)...)
	}
	return c, nil
}

// createUnverified is x509.CreateCertificate without the verification at its end.
func createUnverified(
	random io.Reader, template, ca *x509.Certificate, public, key any,
) ([]byte, error) {
	s := &onlySigner{Signer: key.(crypto.Signer)}
	der, err := x509.CreateCertificate(random, template, ca, public, s)
	if !errors.Is(err, errSigned) {
		return der, err
	}
	var named struct { // TBSCertificate of RFC 5280, as far as it is of use
		Version   int `asn1:"explicit,tag:0"`
		Serial    asn1.RawValue
		Algorithm asn1.RawValue
	}
	if _, err := asn1.Unmarshal(s.content, &named); err != nil {
		return nil, err
	}
	return asn1.Marshal(struct {
		Content, Algorithm asn1.RawValue
		Signature          asn1.BitString
	}{
		asn1.RawValue{FullBytes: s.content}, named.Algorithm,
		asn1.BitString{Bytes: s.signature, BitLength: 8 * len(s.signature)},
	})
}

// onlySigner signs a content, keeps both, and ends the work of its caller with errSigned.
type onlySigner struct {
	crypto.Signer
	content, signature []byte
}

var errSigned = errors.New("signed")

// SignMessage is that of crypto.MessageSigner.
func (s *onlySigner) SignMessage(
	random io.Reader, content []byte, o crypto.SignerOpts,
) (_ []byte, err error) {
	s.content = content
	s.signature, err = crypto.SignMessage(s.Signer, random, content, o)
	return nil, cmp.Or(err, errSigned)
}

// Sent returns the certificates of CAs that go with the certificate of spec: those of a server's
// chain. A client sends none, because servers here trust its CA itself.
func (p *Public) Sent(spec Spec) []*x509.Certificate {
	if !slices.Contains(spec.Usages, x509.ExtKeyUsageServerAuth) {
		return nil
	}
	return p.Authority(spec.Signer).Chain
}

// content returns everything that a certificate says except its serial number. The length of each
// field comes before it.
func content(t, ca *x509.Certificate, public []byte) []byte {
	var buf bytes.Buffer
	field := func(kind string, values ...string) {
		buf.Write(encode(append([]string{kind}, values...)...))
	}
	field("issuer", string(ca.RawSubject), string(ca.SubjectKeyId))
	field("subject", append([]string{t.Subject.CommonName}, t.Subject.Organization...)...)
	field("dates", fmt.Sprint(t.NotBefore.Unix()), fmt.Sprint(t.NotAfter.Unix()))
	for _, u := range t.ExtKeyUsage {
		field("usage", string(binary.BigEndian.AppendUint32(nil, uint32(u))))
	}
	field("dns", t.DNSNames...)
	for _, ip := range t.IPAddresses {
		field("ip", string(ip))
	}
	field("key", string(public))
	return buf.Bytes()
}

// Lacks reports whether the key of a CA is not in the bundle: somebody signs with it elsewhere.
func (p *Public) Lacks(s Signer) bool { return slices.Contains(p.External.Roots, s.Root()) }

// SignedMark returns the name under which the bundle keeps what was signed elsewhere for spec. With
// a new generation of the key it is another one.
func (p *Public) SignedMark(spec Spec) string {
	return generationMark(spec.Name, p.Generation(spec.Name))
}

// Signed returns the certificate of spec that was signed elsewhere; nil if nobody did that, or if
// the bundle has the key of its CA.
func (p *Public) Signed(spec Spec) *x509.Certificate {
	if !p.Lacks(spec.Signer) {
		return nil
	}
	return p.External.Certificates[p.SignedMark(spec)]
}

// HasInstall reports whether the named control plane gets an install credential. Where the key of
// the CA is elsewhere, it gets the one that was signed there, if that ends in time.
func (p *Public) HasInstall(machine string) bool {
	signed := p.Signed(Spec{Name: InstallBase + "/" + machine, Signer: CA})
	return !p.Lacks(CA) ||
		signed != nil && p.NeedsInstall(p.Issued) && external.InTime(signed, p.InstallEnd())
}

// NeedsInstall reports whether an install credential is of use at the time now. It is not in a
// cluster that runs, unless kiln secrets extend has moved its end.
func (p *Public) NeedsInstall(now time.Time) bool {
	return p.InstallEnd().After(p.Issued) && now.Before(p.InstallEnd())
}

// dated returns spec with the dates of the certificate that was signed elsewhere, if there is one.
func (p *Public) dated(spec Spec) Spec {
	if c := p.Signed(spec); c != nil {
		spec.NotBefore, spec.NotAfter = c.NotBefore.UTC(), c.NotAfter.UTC()
	}
	return spec
}

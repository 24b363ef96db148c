// This file holds the certificate of a CA, with the CAs that lead from it to a root, and
// their form in PEM.

package root

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// Authority is the certificate of a CA. The bundle holds the key.
type Authority struct {
	Certificate *x509.Certificate
	// Chain has the CAs that lead from the CA to a root which others know, without that root: first
	// the one that signed Certificate. No machine trusts them. Servers send them, so that a client
	// with that root alone accepts the server.
	Chain []*x509.Certificate
}

// All returns the CA's certificate and, behind it, its chain.
func (a Authority) All() []*x509.Certificate {
	return append([]*x509.Certificate{a.Certificate}, a.Chain...)
}

// PEM returns the CA's certificate.
func (a Authority) PEM() []byte { return CertificatePEM(a.Certificate) }

// StoredPEM returns the CA's certificate and its chain, which ParseAuthority reads.
func (a Authority) StoredPEM() []byte { return append(a.PEM(), a.chainPEM()...) }

func (a Authority) chainPEM() (all []byte) {
	for _, c := range a.Chain {
		all = append(all, CertificatePEM(c)...)
	}
	return all
}

// CertificatePEM returns a certificate.
func CertificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// ParseAuthority reads the certificate of a CA that can sign leaves and, behind it, those of the
// CAs that signed it.
func ParseAuthority(text string) (a Authority, err error) {
	rest := []byte(text)
	for len(bytes.TrimSpace(rest)) > 0 || a.Certificate == nil {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return Authority{}, errOneBlock
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return Authority{}, errors.New("certificate: not an X.509 certificate")
		case Huge(cert.PublicKey) != "":
			return Authority{}, errors.New("certificate: its key is " + Huge(cert.PublicKey))
		case a.Certificate == nil:
			a.Certificate = cert
		case !SignedCA(cert, a.All()[len(a.Chain)]):
			return Authority{}, errOneBlock
		default:
			a.Chain = append(a.Chain, cert)
		}
	}
	cert := a.Certificate
	switch {
	case !cert.IsCA || !cert.BasicConstraintsValid:
		return Authority{}, errors.New("certificate: not a CA")
	case cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return Authority{}, errors.New("certificate: its key usage does not allow signing " +
			"certificates")
	case slices.Contains(Broken, cert.SignatureAlgorithm):
		return Authority{}, fmt.Errorf("certificate: signed with %s, which no client accepts",
			cert.SignatureAlgorithm)
	}
	return a, nil
}

// errOneBlock comes if a CA's certificate is not alone, and what follows did not sign it.
var errOneBlock = errors.New("certificate: want exactly one PEM block CERTIFICATE, " +
	"or behind it the CAs that signed it")

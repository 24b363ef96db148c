package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"time"
)

// Authority is the certificate of a CA. The bundle holds the key.
type Authority struct {
	Certificate *x509.Certificate
}

// PEM returns the CA's certificate.
func (a Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw})
}

// parseAuthority reads the certificate of a CA that can sign leaves.
func parseAuthority(text string) (Authority, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
		return Authority{}, errors.New("certificate: want exactly one PEM block CERTIFICATE")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Authority{}, errors.New("certificate: not an X.509 certificate")
	}
	switch {
	case !cert.IsCA || !cert.BasicConstraintsValid:
		return Authority{}, errors.New("certificate: not a CA")
	case cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return Authority{}, errors.New("certificate: its key usage does not allow signing " +
			"certificates")
	case cert.SignatureAlgorithm == x509.SHA1WithRSA ||
		cert.SignatureAlgorithm == x509.ECDSAWithSHA1:
		return Authority{}, errors.New("certificate: signed with SHA-1, which no client accepts")
	}
	return Authority{Certificate: cert}, nil
}

// damaged is what to do about a value of a stored bundle that nobody can correct by hand.
const damaged = "restore the bundle from a copy"

// stamp returns a time as a bundle has it.
func stamp(t time.Time) string { return t.Format(time.RFC3339) }

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

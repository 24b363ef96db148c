package root

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
)

// Broken are the algorithms that rest on MD5 or SHA-1.
var Broken = []x509.SignatureAlgorithm{
	x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1,
}

// maxRSA bounds the modulus of RSA, in bits: one signature of a key with millions of bits takes
// minutes to check.
const maxRSA = 16384

// Huge returns what a public key is if it is too large to be used, or "".
func Huge(key crypto.PublicKey) string {
	if k, ok := key.(*rsa.PublicKey); ok && k.N.BitLen() > maxRSA {
		return fmt.Sprintf("too large: RSA with %d bits, want %d at most", k.N.BitLen(), maxRSA)
	}
	return ""
}

// Signed reports whether the signature of c is ca's, and c names ca. It looks at names first, and
// uses no key that is too large.
func Signed(ca, c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, ca.RawSubject) && Huge(ca.PublicKey) == "" &&
		ca.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// SignedCA is Signed, and reports in addition whether ca may sign c.
func SignedCA(ca, c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, ca.RawSubject) && Huge(ca.PublicKey) == "" &&
		c.CheckSignatureFrom(ca) == nil
}

package foreign

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHuge: nothing is computed with a key that is too large, also if a CA has it.
func TestHuge(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	n := new(big.Int).Lsh(big.NewInt(1), 5_000_000)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "huge"},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template,
		&rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}, key)
	require.NoError(t, err)
	var asked taker // it has no bundle whose CAs could be compared
	asked.take(&block{from: "x.crt", der: der})
	require.Len(t, asked.errs, 1)
	require.EqualError(t, asked.errs[0],
		"x.crt: CN=huge: its key is too large: RSA with 5000001 bits, want 16384 at most")
}

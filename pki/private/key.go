// Package private holds private keys and other secrets. None of them prints itself, whatever
// program, verb or encoder asks. No other room of the rendering draws random numbers.
package private

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
)

// Algorithm is a key's algorithm, named as in cluster.yaml.
type Algorithm string

// The algorithms. RSA is for CAs and the service account key, on request; leaves are always P-256.
const (
	P256    Algorithm = "ECDSA-P256"
	RSA2048 Algorithm = "RSA-2048"
)

// Key is a private key.
type Key struct{ signer crypto.Signer }

// FromECDSA returns k as a Key.
func FromECDSA(k *ecdsa.PrivateKey) Key { return Key{k} }

// IsZero reports whether k is no key at all.
func (k Key) IsZero() bool { return k.signer == nil }

// Public returns the public key.
func (k Key) Public() crypto.PublicKey { return k.signer.Public() }

// Sign signs as crypto.Signer says. Without a random reader ECDSA signs as in RFC 6979.
func (k Key) Sign(random io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	return k.signer.Sign(random, digest, o)
}

// Secret is a byte string that never prints itself.
type Secret []byte

// String returns the word that stands for every secret in messages.
func (Secret) String() string { return "REDACTED" }

// GoString is String for the verb %#v.
func (Secret) GoString() string { return "REDACTED" }

// Format writes the word that stands for every secret, whatever the verb.
func (Secret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "REDACTED") }

// MarshalText is String for encoders: JSON, YAML, and the handlers of package log/slog.
func (Secret) MarshalText() ([]byte, error) { return []byte("REDACTED"), nil }

// NewKey draws a random key.
func NewKey(a Algorithm) (Key, error) {
	switch a {
	case P256:
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		return Key{k}, err
	case RSA2048:
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		return Key{k}, err
	default:
		return Key{}, fmt.Errorf("unknown key algorithm %q", a)
	}
}

// SecretBytes is the length of the leaf seed and of the encryption key.
const SecretBytes = 32

// NewSecret draws a random secret.
func NewSecret() (Secret, error) {
	s := make(Secret, SecretBytes)
	_, err := rand.Read(s)
	return s, err
}

// NewSerial draws the serial number of a CA's certificate: positive, of at most 127 bits.
func NewSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil
}

// Algorithm returns the algorithm for a key that replaces k.
func (k Key) Algorithm() Algorithm {
	if _, ok := k.signer.(*rsa.PrivateKey); ok {
		return RSA2048
	}
	return P256
}

// ParseKey reads one PEM block with an unencrypted key in SEC 1, PKCS #1 or PKCS #8 form: ECDSA
// P-256 or P-384, or RSA with at least 2048 bits. No error quotes the key.
func ParseKey(data []byte) (Key, error) {
	block, rest := pem.Decode(data)
	if block == nil {
		return Key{}, errors.New("key: no PEM block")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return Key{}, errors.New("key: more than one PEM block")
	}
	if block.Headers["Proc-Type"] != "" || block.Type == "ENCRYPTED PRIVATE KEY" {
		return Key{}, errors.New("key: encrypted; decrypt it first")
	}
	var parsed any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	default:
		return Key{}, errors.New("key: the PEM block is not a private key")
	}
	if err != nil {
		return Key{}, errors.New("key: not a private key that Go can read")
	}
	switch k := parsed.(type) {
	case *ecdsa.PrivateKey:
		if k.Curve != elliptic.P256() && k.Curve != elliptic.P384() {
			return Key{}, errors.New("key: only the curves P-256 and P-384 are supported")
		}
		return Key{k}, nil
	case *rsa.PrivateKey:
		if k.N.BitLen() < 2048 {
			return Key{}, errors.New("key: RSA keys need at least 2048 bits")
		}
		return Key{k}, nil
	default:
		return Key{}, errors.New("key: only ECDSA and RSA keys are supported")
	}
}

// PEM returns the key as kubeadm writes it: SEC 1 for ECDSA, PKCS #1 for RSA.
func (k Key) PEM() []byte {
	switch s := k.signer.(type) {
	case *ecdsa.PrivateKey:
		return ecPEM(x509.MarshalECPrivateKey(s))
	case *rsa.PrivateKey:
		return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
			Bytes: x509.MarshalPKCS1PrivateKey(s)})
	default:
		panic("private: the zero key has no PEM form")
	}
}

// BarePEM returns the key as PEM does, but an ECDSA key without the public key, which is optional
// in SEC 1. Those are 64 random bytes that the key's certificate has too. Go and OpenSSL, and so
// all programs on kiln's machines, compute the public key; the Rust library ring does not.
func (k Key) BarePEM() []byte {
	s, ok := k.signer.(*ecdsa.PrivateKey)
	if !ok {
		return k.PEM()
	}
	curve := oidP256
	if s.Curve == elliptic.P384() {
		curve = oidP384
	}
	return ecPEM(asn1.Marshal(bareKey{1, k.Private(), curve}))
}

// BarePEM returns the P-256 key whose private half s is, as that of Key does.
func (s Secret) BarePEM() []byte { return ecPEM(asn1.Marshal(bareKey{1, s, oidP256})) }

func ecPEM(der []byte, err error) []byte {
	if err != nil {
		panic("private: a P-256 or P-384 key cannot be encoded: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// Private returns the private bytes of the key: an ECDSA key's scalar, an RSA key's first prime.
// Every encoding of the key contains them unchanged, and no encoding of its public half does.
func (k Key) Private() Secret {
	switch s := k.signer.(type) {
	case *ecdsa.PrivateKey:
		scalar, err := s.Bytes()
		if err != nil {
			panic("private: a P-256 or P-384 key has no bytes: " + err.Error())
		}
		return scalar
	case *rsa.PrivateKey:
		return s.Primes[0].Bytes()
	default:
		panic("private: the zero key has no private half")
	}
}

// bareKey is ECPrivateKey of RFC 5915 without its optional public key.
type bareKey struct {
	Version    int
	PrivateKey []byte
	Curve      asn1.ObjectIdentifier `asn1:"optional,explicit,tag:0"`
}

var (
	oidP256 = asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7}
	oidP384 = asn1.ObjectIdentifier{1, 3, 132, 0, 34}
)

// PublicPEM returns the public key in PKIX form.
func (k Key) PublicPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.PublicDER()})
}

// PublicDER is PublicPEM without its armor.
func (k Key) PublicDER() []byte {
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		panic("private: a public key cannot be encoded: " + err.Error())
	}
	return der
}

// Fits reports whether pub is k's public key.
func (k Key) Fits(pub crypto.PublicKey) bool {
	switch own := k.Public().(type) {
	case *ecdsa.PublicKey:
		return own.Equal(pub)
	case *rsa.PublicKey:
		return own.Equal(pub)
	default:
		return false
	}
}

// Format keeps a key out of every message.
func (k Key) Format(s fmt.State, _ rune) { Secret(nil).Format(s, 'v') }

// MarshalText is Format for encoders.
func (k Key) MarshalText() ([]byte, error) { return Secret(nil).MarshalText() }

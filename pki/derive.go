package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"

	"kiln.dev/kiln/pki/private"
)

// The derivation is a file format. docs/derivation.json freezes it: with another derivation every
// certificate of every cluster would change.
//
//	ikm    = HKDF-SHA256(secret = leaf seed, salt = cluster UUID,
//	         info = encode("kiln/v1", purpose, name, generation), 32 bytes)
//	key    = RFC 9180 §7.1.3 DeriveKeyPair(ikm) of DHKEM(P-256, HKDF-SHA256)
//	serial = HKDF-SHA256(…, purpose "serial", name = SHA-256 of what is signed, 16 bytes),
//	         top bit cleared
//	token  = HKDF-SHA256(…, purpose "token", 176 bytes), written in 36 characters
//	announce = HKDF-SHA256(…, purpose "announce" of a machine, "announce/pool" of a pool,
//	         16 bytes), written in digits from 0 to 3
//
// encode writes the length of each field before it (4 bytes, big endian), so that no two lists of
// fields give equal bytes.
const derivation = "kiln/v1"

// derive returns n bytes that belong to purpose, name and generation alone.
func (b *Bundle) derive(purpose, name string, generation, n int) []byte {
	info := encode(derivation, purpose, name, fmt.Sprint(generation))
	out, err := hkdf.Key(sha256.New, b.LeafSeed, []byte(b.Cluster), string(info), n)
	if err != nil {
		panic("pki: HKDF of a short output cannot fail: " + err.Error())
	}
	return out
}

// LeafKey returns the P-256 key of the named leaf in its generation.
func (b *Bundle) LeafKey(name string) private.Key {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), b.LeafSecret(name))
	if err != nil {
		panic("pki: a derived key is not on P-256: " + err.Error())
	}
	return private.FromECDSA(key)
}

// LeafSecret returns the private half of LeafKey. crypto/hpke would compute the public half too,
// which takes ten times as long.
func (b *Bundle) LeafSecret(name string) private.Secret {
	const suite = "HPKE-v1KEM\x00\x10" // DHKEM(P-256, HKDF-SHA256)
	secret := append([]byte(suite+"dkp_prk"),
		b.derive("key", name, b.Generation(name), private.SecretBytes)...)
	for counter := byte(0); ; counter++ {
		info := "\x00\x20" + suite + "candidate" + string([]byte{counter})
		scalar, err := hkdf.Key(sha256.New, secret, nil, info, private.SecretBytes)
		if err != nil {
			panic("pki: HKDF of a short output cannot fail: " + err.Error())
		}
		n := new(big.Int).SetBytes(scalar)
		if n.Sign() > 0 && n.Cmp(elliptic.P256().Params().N) < 0 {
			return scalar
		}
	}
}

// serial returns the serial number that belongs to content alone: positive and of at most 127 bits.
func (b *Bundle) serial(content []byte) *big.Int {
	sum := sha256.Sum256(content)
	raw := b.derive("serial", string(sum[:]), 1, 16)
	raw[0] &= 0x7f
	n := new(big.Int).SetBytes(raw)
	if n.Sign() == 0 {
		n.SetInt64(1)
	}
	return n
}

const tokenAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789"

// Token is a bootstrap token.
type Token struct {
	ID     string // 6 characters; public
	Secret string // 16 characters
}

// String returns the token's public half alone.
func (t Token) String() string { return t.ID + ".REDACTED" }

// Format writes the token's public half alone, whatever the verb.
func (t Token) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, t.String()) }

// MarshalText is String for encoders.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Bearer returns the whole token, as a kubeconfig holds it.
func (t Token) Bearer() string { return t.ID + "." + t.Secret }

// poolToken is the purpose of bootstrap tokens. In Generations and in the review twin a slash
// follows, and then the name of the pool.
const poolToken = "token"

// Purposes of the keys with which machines announce the state of their first boot. They are names
// in Generations too, as those of tokens. A pool and a node of one name have two keys. A pool's
// name is a DNS label and has no slash, so the two kinds of names never collide.
const (
	nodeAnnounce = "announce"
	poolAnnounce = "announce/pool"
)

// TokenName returns the name of a pool's bootstrap token.
func TokenName(pool string) string { return poolToken + "/" + pool }

// token derives a token. Every character is equally likely: bytes from 252 on are not used.
func (b *Bundle) token(pool string, generation int) Token {
	const length = 6 + 16
	stream := b.derive(poolToken, pool, generation, 8*length)
	text := make([]byte, 0, length)
	for _, c := range stream {
		if c < 252 && len(text) < length {
			text = append(text, tokenAlphabet[int(c)%len(tokenAlphabet)])
		}
	}
	return Token{ID: string(text[:6]), Secret: string(text[6:])}
}

func encode(fields ...string) []byte {
	var out []byte
	for _, f := range fields {
		out = binary.BigEndian.AppendUint32(out, uint32(len(f)))
		out = append(out, f...)
	}
	return out
}

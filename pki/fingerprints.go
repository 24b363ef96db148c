package pki

import (
	"crypto/sha256"
	"encoding/hex"
)

// Fingerprints returns the SHA-256 of the public key of each CA that is trusted, by its mark.
func (p *Public) Fingerprints() map[string]string {
	prints := map[string]string{}
	for _, signer := range []Signer{CA, EtcdCA, FrontProxyCA} {
		for _, ca := range p.Trusted(signer) {
			prints[ca.Mark] = Fingerprint(ca.Certificate)
		}
	}
	return prints
}

// Fingerprints is that of the public half, and has the keys of service account tokens as well.
func (b *Bundle) Fingerprints() map[string]string {
	prints := b.Public.Fingerprints()
	generations := b.Rotation(RootServiceAccount).Generations()
	for i, key := range b.ServiceAccountKeys() {
		sum := sha256.Sum256(key.PublicDER())
		prints[generationMark(string(RootServiceAccount), generations[i])] =
			hex.EncodeToString(sum[:])
	}
	return prints
}

package pki

import (
	"fmt"
	"slices"

	"kiln.dev/kiln/pki/private"
)

// Root returns the root that s signs with.
func (s Signer) Root() Root {
	switch s {
	case EtcdCA:
		return RootEtcdCA
	case FrontProxyCA:
		return RootFrontProxyCA
	default:
		return RootCA
	}
}

// Rotation returns the state of a root.
func (p *Public) Rotation(root Root) *Rotation {
	if r := p.Rotations[root]; r != nil {
		return r
	}
	return &Rotation{Generation: 1}
}

// Trusted is a CA that machines trust, and Mark how a reviewer knows it: "ca g1".
type Trusted struct {
	*Authority
	Mark string
}

// Trusted returns the CAs that are trusted in the place of s: the one that signs, and after it, in
// a rotation, the other one.
func (p *Public) Trusted(s Signer) []Trusted {
	r := p.Rotation(s.Root())
	mark := func(generation int) string { return fmt.Sprintf("%s g%d", s.Root(), generation) }
	list := []Trusted{{p.stored(s), mark(r.Generation)}}
	if r.Stage != Settled {
		list = append(list, Trusted{&r.Next, mark(r.Generation + 1)})
	}
	if r.Stage == Issue {
		slices.Reverse(list)
	}
	return list
}

// TrustPEM returns the certificates of the CAs that are trusted in the place of s.
func (p *Public) TrustPEM(s Signer) (all []byte) {
	for _, ca := range p.Trusted(s) {
		all = append(all, ca.PEM()...)
	}
	return all
}

// NamedKey is a key that encrypts Secrets in etcd. What is stored begins with the provider, which
// is an algorithm, and the name.
type NamedKey struct {
	Provider, Name string
	Key            private.Secret
}

// EncryptionKeys returns the keys of Secrets in etcd: the one that writes, and after it, in a
// rotation, the other one.
func (b *Bundle) EncryptionKeys() []NamedKey {
	r := b.Rotation(RootEncryption)
	keys := []NamedKey{b.namedKey(r.Generation, b.EncryptionKey)}
	if r.Stage != Settled {
		keys = append(keys, b.namedKey(r.Generation+1, b.NextEncryptionKey))
	}
	if r.Stage == Issue {
		slices.Reverse(keys)
	}
	return keys
}

// AcceptedKeys returns the public keys, in PEM, whose tokens API servers accept beside those of the
// bundle's service account keys.
func (p *Public) AcceptedKeys() []byte {
	if p.Rotation(RootServiceAccount).Generation > 1 {
		return nil
	}
	return p.Imported.Accepted
}

// namedKey returns an encryption key of a generation as the API servers know it.
func (b *Bundle) namedKey(generation int, key private.Secret) NamedKey {
	if generation == 1 && b.Imported.Provider != "" {
		return NamedKey{b.Imported.Provider, b.Imported.Name, key}
	}
	return NamedKey{OwnProvider, fmt.Sprintf("g%d", generation), key}
}

// ServiceAccountKeys returns the keys of service account tokens: the one that signs, and after it,
// in a rotation, the other one.
func (b *Bundle) ServiceAccountKeys() []private.Key {
	keys := []private.Key{b.ServiceAccountKey}
	stage := b.Rotation(RootServiceAccount).Stage
	if stage != Settled {
		keys = append(keys, b.NextKeys[RootServiceAccount])
	}
	if stage == Issue {
		slices.Reverse(keys)
	}
	return keys
}

// IssuerKey returns the key of the CA that signs in the place of s.
func (b *Bundle) IssuerKey(s Signer) private.Key {
	if b.Rotation(s.Root()).Stage == Issue {
		return b.NextKeys[s.Root()]
	}
	return *b.storedKey(s.Root())
}

// storedKey returns the place of a root's key in the bundle. The encryption key and the leaf seed
// are no such keys.
func (b *Bundle) storedKey(r Root) *private.Key {
	switch r {
	case RootEtcdCA:
		return &b.EtcdCAKey
	case RootFrontProxyCA:
		return &b.FrontProxyCAKey
	case RootServiceAccount:
		return &b.ServiceAccountKey
	default:
		return &b.CAKey
	}
}

// Stored is a secret that the bundle holds itself.
type Stored struct {
	Root   Root
	Secret private.Secret
}

// StoredSecrets returns every secret that the bundle holds itself. A root in rotation has two.
func (b *Bundle) StoredSecrets() (all []Stored) {
	for _, r := range Roots() {
		rotated := b.Rotation(r).Stage != Settled
		switch r {
		case RootLeafSeed:
			all = append(all, Stored{r, b.LeafSeed})
		case RootEncryption:
			for _, k := range b.EncryptionKeys() {
				all = append(all, Stored{r, k.Key})
			}
		default:
			if key := b.storedKey(r); !key.IsZero() {
				all = append(all, Stored{r, key.Private()})
			}
			if rotated {
				all = append(all, Stored{r, b.NextKeys[r].Private()})
			}
		}
	}
	return all
}

// externalErrors returns an error for each CA that cannot be rotated, because its key is elsewhere,
// and is nevertheless.
func (p *Public) externalErrors() (errs []error) {
	for _, r := range p.External.Roots {
		if p.Rotation(r).Stage != Settled {
			errs = append(errs, fmt.Errorf("external: roots: %s is being rotated, and its key is "+
				"not here; %s", r, damaged))
		}
	}
	return errs
}

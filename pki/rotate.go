package pki

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"kiln.dev/kiln/pki/private"
)

// Rotate begins the rotation of a root. It draws the new root and trusts it beside the old one,
// which still signs and writes; a new CA lives for lifetime from now. The leaf seed has no stages,
// so that it is replaced at once. It fails if a rotation of the root is under way.
func (b *Bundle) Rotate(root Root, now time.Time, lifetime time.Duration) error {
	r := *b.Rotation(root)
	if r.Stage != Settled {
		return fmt.Errorf("%s: a rotation is under way, in stage %s since %s", root, r.Stage,
			r.Since.Format(time.DateOnly))
	}
	if slices.Contains(b.External.Roots, root) {
		return fmt.Errorf("%s: its key is not in the bundle, so that kiln can make no successor "+
			"that it would sign with; a new CA wants a new cluster (docs/external-ca.md)", root)
	}
	r.Since = now.UTC().Truncate(time.Second)
	if root == RootLeafSeed {
		seed, err := private.NewSecret()
		if err != nil {
			return fmt.Errorf("make leaf seed: %w", err)
		}
		r.Generation++
		b.LeafSeed = seed
		b.forgetPrevious()
		b.setRotation(root, &r)
		return nil
	}
	r.Stage, r.Begun = Trust, r.Since
	if root == RootEncryption {
		key, err := private.NewSecret()
		if err != nil {
			return fmt.Errorf("make encryption key: %w", err)
		}
		b.NextEncryptionKey = key
		b.setRotation(root, &r)
		return nil
	}
	key, err := b.newRoot(root, &r, lifetime)
	if err != nil {
		return fmt.Errorf("make %s: %w", root, err)
	}
	b.NextKeys = maps.Clone(b.NextKeys)
	if b.NextKeys == nil {
		b.NextKeys = map[Root]private.Key{}
	}
	b.NextKeys[root] = key
	b.setRotation(root, &r)
	return nil
}

// newRoot draws the new key of a root, of the old one's algorithm, and puts the certificate of a CA
// into r.
func (b *Bundle) newRoot(root Root, r *Rotation, life time.Duration) (private.Key, error) {
	algorithm := b.storedKey(root).Algorithm()
	signer, isCA := map[Root]Signer{
		RootCA: CA, RootEtcdCA: EtcdCA, RootFrontProxyCA: FrontProxyCA,
	}[root]
	if !isCA {
		return private.NewKey(algorithm)
	}
	// The new CA has a name of its own. A certificate says by it which CA signed it, to people, to
	// the review twin, and to programs that look for an issuer by name.
	name := fmt.Sprintf("%s-%d", authorityNames[signer], r.Generation+1)
	// Leaf certificates begin an hour before the bundle's issue time, also those that the new CA
	// signs. Some verifiers want them to lie within the time of their CA.
	from := b.Issued
	if r.Since.Before(from) {
		from = r.Since
	}
	next, key, err := newAuthority(name, algorithm, from.Add(-caBackdate), r.Since.Add(life))
	r.Next = next
	return key, err
}

// NextStage takes a rotation to its next stage. From Issue on, the old root is dropped: no copy of
// it stays. It fails if no rotation of the root is under way.
func (b *Bundle) NextStage(root Root, now time.Time) error {
	r := *b.Rotation(root)
	switch r.Stage {
	case Settled:
		return fmt.Errorf("%s: no rotation is under way; kiln secrets rotate %s begins one",
			root, root)
	case Trust:
		r.Stage = Issue
	case Issue:
		switch root {
		case RootEncryption:
			b.EncryptionKey = b.NextEncryptionKey
		case RootCA:
			b.CA = r.Next
		case RootEtcdCA:
			b.EtcdCA = r.Next
		case RootFrontProxyCA:
			b.FrontProxyCA = r.Next
		}
		if root != RootEncryption {
			*b.storedKey(root) = b.NextKeys[root]
		}
		b.forget(root)
		r = Rotation{Generation: r.Generation + 1, Begun: r.Begun}
	}
	r.Since = now.UTC().Truncate(time.Second)
	b.setRotation(root, &r)
	return nil
}

// PreviousStage takes a rotation back by one stage. From Trust on, the new root is forgotten. It
// fails if no rotation of the root is under way: a root that was dropped is gone.
func (b *Bundle) PreviousStage(root Root, now time.Time) error {
	r := *b.Rotation(root)
	switch r.Stage {
	case Settled:
		return fmt.Errorf("%s: no rotation is under way, and a root that was dropped is gone; "+
			"rotate again", root)
	case Issue:
		r.Stage, r.Since = Trust, now.UTC().Truncate(time.Second)
	case Trust:
		b.forget(root)
		r = Rotation{Generation: r.Generation, Since: now.UTC().Truncate(time.Second)}
	}
	b.setRotation(root, &r)
	return nil
}

// forget removes the second key of a root.
func (b *Bundle) forget(root Root) {
	if root == RootEncryption {
		b.NextEncryptionKey = nil
		return
	}
	b.NextKeys = maps.Clone(b.NextKeys)
	delete(b.NextKeys, root)
}

// setRotation stores the state of a root.
func (b *Bundle) setRotation(root Root, r *Rotation) {
	b.Rotations = maps.Clone(b.Rotations)
	if b.Rotations == nil {
		b.Rotations = map[Root]*Rotation{}
	}
	b.Rotations[root] = r
}

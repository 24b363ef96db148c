package root

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/pki/private"
)

// damaged is what to do about a value of a stored bundle that nobody can correct by hand.
const damaged = "restore the bundle from a copy"

// Head is the state of a root as the public half has it.
type Head struct {
	Generation  int    `json:"generation,omitempty"` // absent means 1
	Stage       Stage  `json:"stage,omitempty"`
	Since       string `json:"since,omitempty"`
	Begun       string `json:"begun,omitempty"` // absent in the stage trust: it is Since
	Certificate string `json:"certificate,omitempty"`
}

// File is the state of a root as the bundle has it: with the new key.
type File struct {
	Head
	Key string `json:"key,omitempty"`
}

// Heads returns the states of roots as the public half has them.
func Heads(rotations map[Root]*Rotation) map[Root]Head {
	if len(rotations) == 0 {
		return nil
	}
	heads := map[Root]Head{}
	for root, r := range rotations {
		h := Head{Stage: r.Stage}
		if r.Generation > 1 {
			h.Generation = r.Generation
		}
		if !r.Since.IsZero() {
			h.Since = r.Since.Format(time.RFC3339)
		}
		if began := r.began(); !began.IsZero() {
			h.Begun = began.Format(time.RFC3339)
		}
		if r.Next.Certificate != nil {
			h.Certificate = string(r.Next.PEM())
		}
		heads[root] = h
	}
	return heads
}

// Files returns the states of roots, with the new keys, as the bundle has them.
func Files(
	rotations map[Root]*Rotation, keys map[Root]private.Key, encryption private.Secret,
) map[Root]File {
	if len(rotations) == 0 {
		return nil
	}
	files := map[Root]File{}
	for root, h := range Heads(rotations) {
		f := File{Head: h}
		if key, ok := keys[root]; ok {
			f.Key = string(key.PEM())
		}
		if root == Encryption && len(encryption) > 0 {
			f.Key = base64.StdEncoding.EncodeToString(encryption)
		}
		files[root] = f
	}
	return files
}

// rotation checks the stored state of a root and returns its values. It calls fail for each
// mistake.
func (h *Head) rotation(root Root, fail func(string, ...any)) *Rotation {
	r := &Rotation{Generation: max(1, h.Generation), Stage: h.Stage}
	inStage := h.Stage == Trust || h.Stage == Issue
	isCA := slices.Contains([]Root{CA, EtcdCA, FrontProxyCA}, root)
	switch {
	case !slices.Contains(All(), root):
		fail("rotations: a bundle has no such root; want one of %s",
			strings.Join(Names(), ", "))
		return r
	case h.Generation < 0 || h.Generation > MaxGeneration:
		fail("rotations: %s: generation: counts from 1", root)
	case h.Stage != Settled && !inStage:
		fail("rotations: %s: stage: want trust or issue", root)
	case inStage && !root.Staged():
		fail("rotations: %s: it is rotated in one step; remove its stage", root)
	case h.Certificate != "" && !(inStage && isCA):
		fail("rotations: %s: certificate: no new CA belongs here; "+damaged, root)
	}
	if h.Since != "" || inStage {
		since, err := time.Parse(time.RFC3339, h.Since)
		if err != nil {
			fail("rotations: %s: since: not a time such as 2026-01-31T12:00:00Z", root)
		}
		r.Since = since.UTC()
	}
	if h.Stage == Trust {
		r.Begun = r.Since
	}
	if h.Begun != "" {
		begun, err := time.Parse(time.RFC3339, h.Begun)
		if err != nil {
			fail("rotations: %s: begun: not a time such as 2026-01-31T12:00:00Z", root)
		}
		r.Begun = begun.UTC()
	}
	if inStage && isCA {
		next, err := ParseAuthority(h.Certificate)
		if err != nil {
			fail("rotations: %s: %w; "+damaged, root, err)
		}
		r.Next = next
	}
	return r
}

// Names returns the names of all roots.
func Names() (names []string) {
	for _, r := range All() {
		names = append(names, string(r))
	}
	return names
}

// ReadHeads returns the states of roots from the public half. It calls fail for each mistake.
func ReadHeads(heads map[Root]Head, fail func(string, ...any)) map[Root]*Rotation {
	var rotations map[Root]*Rotation
	for _, root := range slices.Sorted(maps.Keys(heads)) {
		if rotations == nil {
			rotations = map[Root]*Rotation{}
		}
		h := heads[root]
		rotations[root] = h.rotation(root, fail)
	}
	return rotations
}

// ReadFiles returns the states of roots and the new keys from the bundle. It calls fail for each
// mistake.
func ReadFiles(files map[Root]File, fail func(string, ...any)) (
	rotations map[Root]*Rotation, keys map[Root]private.Key, encryption private.Secret,
) {
	heads := map[Root]Head{}
	for root, f := range files {
		heads[root] = f.Head
	}
	rotations = ReadHeads(heads, fail)
	for _, root := range slices.Sorted(maps.Keys(files)) {
		r, text := rotations[root], files[root].Key
		switch {
		case r.Stage == Settled:
			if text != "" {
				fail("rotations: %s: key: no new key belongs here; "+damaged, root)
			}
		case root == Encryption:
			key, err := base64.StdEncoding.DecodeString(text)
			if err != nil || len(key) != private.SecretBytes {
				fail("rotations: %s: key: want %d bytes as base64; "+damaged, root,
					private.SecretBytes)
			}
			encryption = key
		case root.Staged():
			key, err := private.ParseKey([]byte(text))
			switch ca := r.Next.Certificate; {
			case err != nil:
				fail("rotations: %s: %w; "+damaged, root, err)
			case ca != nil && !key.Fits(ca.PublicKey):
				fail("rotations: %s: the key does not belong to the certificate; "+damaged, root)
			}
			if keys == nil {
				keys = map[Root]private.Key{}
			}
			keys[root] = key
		}
	}
	return rotations, keys, encryption
}

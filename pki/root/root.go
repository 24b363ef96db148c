// Package root names the roots of a bundle, which everything else rests on, and holds how far the
// rotation of each is, in the form in which a bundle keeps that too.
package root

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Root is a secret of the bundle that everything else rests on: what it signs, or what is derived
// from it, is worth nothing without it. Roots are named as the table of secrets names them.
type Root string

// The roots.
const (
	CA             Root = "ca"
	EtcdCA         Root = "etcd-ca"
	FrontProxyCA   Root = "front-proxy-ca"
	ServiceAccount Root = "service-account"
	Encryption     Root = "encryption"
	LeafSeed       Root = "leaf-seed"
)

// All returns all roots. Every one but the leaf seed is rotated in stages.
func All() []Root {
	return []Root{CA, EtcdCA, FrontProxyCA, ServiceAccount, Encryption,
		LeafSeed}
}

// Staged reports whether a rotation of r has stages. The leaf seed needs none: a certificate is
// verified by its CA, whatever its key is derived from.
func (r Root) Staged() bool { return r != LeafSeed && slices.Contains(All(), r) }

// MaxGeneration is the highest generation that a bundle may have: nobody rotates anything as often.
const MaxGeneration = 1_000_000

// Stage is how far a rotation is. In each stage, machines of the stage before and of the stage
// after can talk to each other.
type Stage string

// The stages. After Issue the old root is dropped, and the stage is Settled again.
const (
	Settled Stage = ""      // there is one root
	Trust   Stage = "trust" // both roots are trusted, and the old one signs, or writes
	Issue   Stage = "issue" // both roots are trusted, and the new one signs, or writes
)

// Rotation is the state of one root.
type Rotation struct {
	// Generation counts the roots that there have been, from 1. In the stages Trust and Issue it is
	// the old root's, and the new one has the next number.
	Generation int
	Stage      Stage
	Since      time.Time // the time at which the stage began; zero if the root never was rotated
	// Begun is the time at which the newest root was made, by which two roots of one number are
	// told apart. It is zero if it is not known: of the first root, and of one whose successor was
	// given up.
	Begun time.Time
	// Next is the new CA of a rotation that is under way. It is empty for keys.
	Next Authority
}

// Issuing returns the generation of the root that signs, or writes.
func (r *Rotation) Issuing() int {
	if r.Stage == Issue {
		return r.Generation + 1
	}
	return r.Generation
}

// Generations returns the generations of all roots that are trusted, or read: the one that signs,
// or writes, and after it, in a rotation, the other one.
func (r *Rotation) Generations() []int {
	issuing := r.Issuing()
	if r.Stage == Settled {
		return []int{issuing}
	}
	return []int{issuing, 2*r.Generation + 1 - issuing}
}

// Newest returns the generation of the newest root.
func (r *Rotation) Newest() int {
	if r.Stage == Settled {
		return r.Generation
	}
	return r.Generation + 1
}

// Rivals reports whether r and other have two newest roots of one number: somebody has given one
// up, or restored a copy of the bundle, and has rotated again.
func (r *Rotation) Rivals(other *Rotation) bool {
	return r.Newest() == other.Newest() && !r.Begun.IsZero() && !other.Begun.IsZero() &&
		!r.Begun.Equal(other.Begun)
}

// began returns when the newest root was made, if the beginning of the stage does not say it.
func (r *Rotation) began() time.Time {
	if r.Stage == Trust && r.Begun.Equal(r.Since) {
		return time.Time{}
	}
	return r.Begun
}

// String returns the rotation as the review twin and the inventory have it: "g1 trust since
// 2026-11-24T00:00:00Z", and after that stage "g1 issue since 2026-12-01T00:00:00Z, begun
// 2026-11-24T00:00:00Z". Parse reads it.
func (r *Rotation) String() string {
	text := fmt.Sprintf("g%d", r.Generation)
	if r.Stage != Settled {
		text += " " + string(r.Stage)
	}
	if !r.Since.IsZero() {
		text += " since " + r.Since.Format(time.RFC3339)
	}
	if began := r.began(); !began.IsZero() {
		text += ", begun " + began.Format(time.RFC3339)
	}
	return text
}

// Parse reads what String wrote. The empty text is a root that never was rotated.
func Parse(text string) (r Rotation, err error) {
	if text == "" {
		return Rotation{Generation: 1}, nil
	}
	text, began, _ := strings.Cut(text, ", begun ")
	state, since, _ := strings.Cut(text, " since ")
	generation, stage, _ := strings.Cut(state, " ")
	r.Generation, err = strconv.Atoi(strings.TrimPrefix(generation, "g"))
	if err != nil || r.Generation < 1 || generation != fmt.Sprintf("g%d", r.Generation) {
		return r, errors.New("not the state of a rotation")
	}
	for _, t := range []struct {
		text string
		into *time.Time
	}{{since, &r.Since}, {began, &r.Begun}} {
		if t.text == "" {
			continue
		}
		if *t.into, err = time.Parse(time.RFC3339, t.text); err != nil {
			return r, errors.New("not the state of a rotation")
		}
	}
	r.Stage = Stage(stage)
	if r.Stage == Trust && r.Begun.IsZero() {
		r.Begun = r.Since
	}
	if r.Stage != Settled && r.Stage != Trust && r.Stage != Issue {
		return r, errors.New("not the state of a rotation")
	}
	return r, nil
}

// Position returns how many stages a root has gone through since it was made: three for each
// rotation. Machines whose positions differ by one can talk to each other.
func (r *Rotation) Position() int {
	return 3*(r.Generation-1) + slices.Index([]Stage{Settled, Trust, Issue}, r.Stage)
}

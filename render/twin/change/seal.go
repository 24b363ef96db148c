package change

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Seal stands for the content of a secret, so that two contents can be compared. It is compared in
// memory alone: no report, no twin and no digest of a machine has it, and it prints as nothing. The
// zero Seal is that of a state which does not have the content.
type Seal struct {
	sum [sha256.Size]byte
}

// SealOf returns the seal of a content.
func SealOf(content []byte) Seal { return Seal{sha256.Sum256(content)} }

// String keeps the seal out of messages.
func (s Seal) String() string { return "<seal>" }

// GoString keeps the seal out of messages for developers.
func (s Seal) GoString() string { return s.String() }

// differs reports whether two contents are known, and are not the same.
func (s Seal) differs(other Seal) bool {
	return s != Seal{} && other != Seal{} && s != other
}

// sameContent reports whether two entries have the same content, as far as their states have it.
func (e *Entry) sameContent(other *Entry) bool {
	return bytes.Equal(e.Content, other.Content) && !e.Seal.differs(other.Seal)
}

// Words that stand for the contents of a secret in a difference.
const (
	oldSecret = "<secret>"
	newSecret = "<another secret>"
)

// resealed reports whether a secret has another content, and nothing else says so: neither its
// generation nor a certificate beside the key.
func resealed(old, new *Entry, others int) bool {
	return old.Seal.differs(new.Seal) && old.Secret == new.Secret &&
		(others == 0 || len(old.Shown)+len(new.Shown) == 0)
}

// Unseen says of which secrets a difference cannot know whether their contents changed, because one
// state does not have them: secrets that users add, whose names have no generation. It is empty if
// there are none.
func (d *Diff) Unseen() string {
	var names []string
	for _, p := range d.machines {
		if p.What() != Changed {
			continue
		}
		for _, both := range pairEntries(p.Old.Entries, p.New.Entries) {
			a, b := both[0], both[1]
			if a == nil || b == nil || a.Seal != (Seal{}) && b.Seal != (Seal{}) {
				continue
			}
			if name := cmp.Or(addedSecret(a), addedSecret(b)); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return ""
	}
	count := "1 secret of yours"
	if n := len(names); n > 1 {
		count = fmt.Sprintf("%d secrets of yours", n)
	}
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("%d more", more))
	}
	return count + ": " + strings.Join(names, ", ") + "; if the content alone changed, only two " +
		"folders of documents show it"
}

// addedSecret returns the name of a secret that a user added; empty for one of the cluster's own,
// which has a generation.
func addedSecret(e *Entry) string {
	kind, name, _ := strings.Cut(e.Secret, " ")
	switch kind {
	case "file", "object":
		return name
	}
	return ""
}

// Package credential finds secrets that grant access by themselves: private keys, kubeconfigs with
// keys, tokens, the bundle of a cluster. Each is a row of one table and known by its form. What is
// packed in base64, hex, gzip, a data URL or UTF-16 is searched as well.
//
// A password is found only in a place that the table names: nothing distinguishes it from another
// word. What is encrypted is not found, nor what is packed in another way, such as an archive's own
// compression. A content that unpacks to too much is taken for a credential.
package credential

import (
	"math/bits"
	"slices"
	"strings"
)

// Found is a credential in a content. It says what the credential is and holds nothing of it.
type Found struct {
	What string // for messages: "a private key"
	// Bundle is the name of the cluster whose bundle it is; empty if it is no bundle.
	Bundle string
	// Packing is how the credential is packed, outermost first: base64, then gzip.
	Packing []string
}

// String returns what was found, and how it is packed: a private key (in base64 of gzip).
func (f Found) String() string {
	if len(f.Packing) == 0 {
		return f.What
	}
	return f.What + " (in " + strings.Join(f.Packing, " of ") + ")"
}

// tooMuch is Found.What for a content that unpacks to so much that it is not searched to its end.
// A credential may be in it.
const tooMuch = "packed data that is too large to search for secrets"

// Find returns the first credential. A content that cannot be searched to its end counts as one.
func Find(content []byte) (Found, bool) {
	for layer := range Layers(content) {
		if f, ok := layer.Credential(); ok {
			return f, true
		}
	}
	return Found{}, false
}

// Holds reports whether a content holds a credential: what lets somebody in by itself.
func Holds(content []byte) bool {
	_, ok := Find(content)
	return ok
}

// Credential returns the first credential in the layer itself, and whether there is one.
func (l Layer) Credential() (Found, bool) {
	if l.Unread {
		return Found{What: tooMuch}, true
	}
	least := shortest
	if len(l.Packing) == 0 {
		least = shortestURL
	}
	if len(l.Content) < least {
		return Found{}, false
	}
	for rows := hinted(l.Content); rows != 0; rows &= rows - 1 {
		i := bits.TrailingZeros64(rows)
		if what := forms[i].in(l.Content); what != "" {
			f := Found{What: what, Packing: slices.Clone(l.Packing)}
			if i == bundleForm {
				f.Bundle = bundleName(l.Content)
				f.What = "the bundle of cluster " + f.Bundle
			}
			return f, true
		}
	}
	return Found{}, false
}

// This file finds credentials and the secrets of one cluster in the contents of files: plain,
// or in any encoding that package credential knows. Package check decides what may lie where.

package check

import (
	"bytes"
	"iter"
	"slices"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/credential"
)

// searcher searches contents for credentials and for the secrets of one cluster. Its methods may be
// called from several goroutines.
type searcher struct {
	cluster string          // the cluster's name
	stored  []*storedSecret // empty without a bundle
	// tokenOf holds the names of bootstrap tokens, by their secret halves.
	tokenOf map[string]string
	// names holds the base names of all secrets that are searched for. A file that is marked with
	// one of them must hold it.
	names map[string]bool

	found once.Values[*finding] // by contents
}

// storedSecret is a secret of the bundle, or the operator's key.
type storedSecret struct {
	Name   string
	Secret private.Secret
}

// finding is what a content holds, allowed or not. Callers share findings.
type finding struct {
	Credential string // a description for messages; empty if there is none
	Bundle     string // the same for the bundle of this cluster
	// Secrets are those of this cluster, by their names. A previous token has its generation, too.
	Secrets []string
}

var noFinding = &finding{}

// newSearcher returns a searcher for the secrets of a bundle. b may be nil; then the searcher finds
// credentials, and no secrets of the cluster.
func newSearcher(p *plan.Plan, b *pki.Bundle) *searcher {
	s := &searcher{cluster: p.Name, tokenOf: map[string]string{}, names: map[string]bool{}}
	if b == nil {
		return s
	}
	for _, stored := range b.StoredSecrets() {
		s.stored = append(s.stored, &storedSecret{string(stored.Root), stored.Secret})
	}
	s.stored = append(s.stored, &storedSecret{"admin", b.LeafSecret("admin")})
	for _, stored := range s.stored {
		s.names[stored.Name] = true
	}
	for i := range p.Machines {
		if m := &p.Machines[i]; m.Pool {
			for _, j := range b.Joining(m) {
				name := pki.TokenName(m.Name)
				if j.Previous {
					name = j.Mark()
				}
				s.tokenOf[b.Joined(j).Secret] = name
			}
			s.names["token"] = true
		}
	}
	return s
}

// Find returns the credentials in a content and the secrets of this cluster.
func (s *searcher) Find(content []byte) *finding {
	return s.found.Of(content, func() *finding { return s.search(content, true) })
}

// search does what Find does, each time anew, and with credentials or without.
func (s *searcher) search(content []byte, credentials bool) *finding {
	found := &finding{}
	add := func(name string) {
		if !slices.Contains(found.Secrets, name) {
			found.Secrets = append(found.Secrets, name)
		}
	}
	for layer := range credential.Layers(content) {
		if credentials {
			c, ok := layer.Credential()
			if ok && found.Credential == "" {
				found.Credential = c.String()
			}
			if ok && c.Bundle == s.cluster {
				found.Bundle = c.String()
			}
		}
		for _, stored := range s.stored {
			if bytes.Contains(layer.Content, stored.Secret) {
				add(stored.Name)
			}
		}
		if len(s.tokenOf) == 0 {
			continue
		}
		for candidate := range tokenCandidates(layer.Content) {
			if name, known := s.tokenOf[string(candidate)]; known {
				add(name)
			}
		}
	}
	if found.Credential == "" && found.Bundle == "" && len(found.Secrets) == 0 {
		return noFinding
	}
	return found
}

// tokenCandidates returns every string in a content that has the form of the secret half of a
// bootstrap token: exactly 16 lower-case letters and digits.
func tokenCandidates(content []byte) iter.Seq[[]byte] {
	const length = 16
	isPart := func(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' }
	return func(yield func([]byte) bool) {
		begin := 0
		for i := 0; i <= len(content); i++ {
			if i < len(content) && isPart(content[i]) {
				continue
			}
			if i-begin == length && !yield(content[begin:i]) {
				return
			}
			begin = i + 1
		}
	}
}

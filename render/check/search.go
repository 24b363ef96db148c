package check

import (
	"bytes"
	"crypto/sha256"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"kiln/pki"
	"kiln/render/credential"
	"kiln/render/plan"
)

// finding is what a content holds, whoever's it is.
type finding struct {
	credential string   // in words for messages; empty if there is none
	bundle     string   // likewise, if it is the bundle of this cluster
	secrets    []string // of this cluster, by their names without generations
}

// noFinding is what most contents hold.
var noFinding = &finding{}

// searcher finds the secrets of one cluster in the contents of files. It may be used from several
// goroutines.
type searcher struct {
	cluster string         // the cluster's name
	stored  []storedSecret // the secrets of the bundle that files are searched for
	// tokenOf holds the machines and pools by the secret half of their bootstrap token.
	tokenOf map[string]string
	// searched are the names of both: a file that is marked with one has to hold it.
	names map[string]bool
	// examined are what were found in contents, by their SHA-256.
	cache  sync.Map
	cached atomic.Int64 // how many of examined
}

// newSearcher takes the secrets that Check looks for in files. Without a bundle there are none.
func newSearcher(p *plan.Plan, b *pki.Bundle) *searcher {
	s := &searcher{cluster: p.Name, tokenOf: map[string]string{}, names: map[string]bool{}}
	if b == nil {
		return s
	}
	s.stored = []storedSecret{
		{"ca", b.CAKey.Private()}, {"etcd-ca", b.EtcdCAKey.Private()},
		{"front-proxy-ca", b.FrontProxyCAKey.Private()},
		{"service-account", b.ServiceAccountKey.Private()},
		{"encryption", b.EncryptionKey}, {"leaf-seed", b.LeafSeed},
		{"admin", b.LeafKey("admin").Private()},
	}
	for _, stored := range s.stored {
		s.names[stored.name] = true
	}
	for i := range p.Machines {
		if m := &p.Machines[i]; m.Token {
			s.tokenOf[b.MachineToken(m).Secret] = pki.TokenName(m)
			s.names["token"] = true
		}
	}
	return s
}

// examine looks for credentials in a content, and for the secrets of this cluster. Many machines
// have the same files, so what it found is kept. The files of the first machines are enough: what
// is not among them is each machine's own.
func (s *searcher) examine(content []byte) *finding {
	const most = 10_000
	key := sha256.Sum256(content)
	if known, ok := s.cache.Load(key); ok {
		return known.(*finding)
	}
	h := s.search(content, true)
	if s.cached.Add(1) <= most {
		s.cache.Store(key, h)
	}
	return h
}

// search is examine without memory. Without credentials it looks for the secrets of this cluster
// alone.
func (s *searcher) search(content []byte, credentials bool) *finding {
	h := noFinding
	note := func() *finding {
		if h == noFinding {
			h = &finding{}
		}
		return h
	}
	for layer := range credential.Layers(content) {
		var found credential.Found
		ok := false
		if credentials {
			found, ok = layer.Credential()
		}
		if ok && h.credential == "" {
			note().credential = found.String()
		}
		if ok && found.Bundle == s.cluster {
			note().bundle = found.String()
		}
		for _, stored := range s.stored {
			if bytes.Contains(layer.Content, stored.secret) && !slices.Contains(h.secrets, stored.name) {
				note().secrets = append(h.secrets, stored.name)
			}
		}
		if len(s.tokenOf) == 0 {
			continue
		}
		for run := range tokenCandidates(layer.Content, tokenSecretLen) {
			if name, known := s.tokenOf[string(run)]; known && !slices.Contains(h.secrets, name) {
				note().secrets = append(h.secrets, name)
			}
		}
	}
	return h
}

// storedSecret is a secret that is stored in the bundle, or the operator's.
type storedSecret struct {
	name   string
	secret pki.Secret
}

// tokenSecretLen is how long the secret half of a bootstrap token is.
const tokenSecretLen = 16

// tokenCandidates returns every run of exactly n letters in lower case and digits.
func tokenCandidates(text []byte, n int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		begin := 0
		for i := 0; i <= len(text); i++ {
			if i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] >= '0' && text[i] <= '9') {
				continue
			}
			if i-begin == n && !yield(text[begin:i]) {
				return
			}
			begin = i + 1
		}
	}
}

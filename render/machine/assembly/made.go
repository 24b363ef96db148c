package assembly

import (
	"crypto/sha256"
	"fmt"

	"kiln.dev/kiln/manifests"
)

// made keeps streams by all that they are made from.
type made struct {
	streams map[key][]byte
	bytes   int
}

// maxMade is how many bytes of streams are kept. A control plane has some 20 kB of them.
const maxMade = 16 << 20

type key [sha256.Size]byte

// keyOf returns the key of a source and the user's patches.
func keyOf(src manifests.Source, user []*Patch) (k key) {
	h := sha256.New()
	fmt.Fprintf(h, "%q", src.Base)
	for _, content := range src.Texts() {
		fmt.Fprintf(h, "%q", content)
	}
	for _, u := range user {
		fmt.Fprintf(h, " %s", u.Path)
	}
	h.Sum(k[:0])
	return k
}

// find returns a stream that was kept.
func (s *PatchSet) find(k key) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, ok := s.made.streams[k]
	return out, ok
}

// keep keeps a stream, unless it would be too much.
func (s *PatchSet) keep(k key, out []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.made.streams[k]; ok || s.made.bytes+len(out) > maxMade {
		return
	}
	if s.made.streams == nil {
		s.made.streams = map[key][]byte{}
	}
	s.made.bytes += len(out)
	s.made.streams[k] = out
}

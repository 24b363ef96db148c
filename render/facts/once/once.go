// Package once keeps what was made from texts. The machines of a cluster have most of their texts
// in common, and what follows from a text is made once for all of them.
package once

import (
	"hash/maphash"
	"sync"
)

// Values keeps the values that were made from texts, in memory. The zero value is ready. Its
// methods may be called from several goroutines. The values are shared: nobody may change them.
type Values[V any] struct {
	mu    sync.RWMutex
	known map[string]V
	bytes int
	// met holds hashes of texts that were not kept, each in the place that it names: the last one.
	met []uint64
}

// What Values keeps at most: bytes of texts, those of texts that came only once, and hashes.
const (
	maxBytes  = 4 << 20
	maxSingle = 1 << 20
	maxMet    = 1 << 13
)

var seed = maphash.MakeSeed()

// Of returns the value of a text: the one that was kept, or a new one from make. It keeps what it
// makes until the texts have 1 MiB together, and from then on, up to 4 MiB, only the values of
// texts that come again: the many texts of single machines do not take the place of those that
// machines share. Two goroutines that ask at a time may both make the value.
func (v *Values[V]) Of(text []byte, make func() V) V {
	v.mu.RLock()
	value, ok := v.known[string(text)]
	v.mu.RUnlock()
	if ok {
		return value
	}
	value = make()
	v.mu.Lock()
	defer v.mu.Unlock()
	if other, ok := v.known[string(text)]; ok {
		return other // another goroutine made it meanwhile
	}
	if v.keeps(text) {
		v.known[string(text)] = value
		v.bytes += len(text)
	}
	return value
}

// keeps reports whether the value of a text that is not known is worth its place.
func (v *Values[V]) keeps(text []byte) bool {
	if v.known == nil {
		v.known, v.met = map[string]V{}, make([]uint64, maxMet)
	}
	if v.bytes+len(text) <= maxSingle {
		return true
	}
	hash := maphash.Bytes(seed, text)
	last := &v.met[hash%maxMet]
	again := *last == hash
	*last = hash
	return again && v.bytes+len(text) <= maxBytes
}

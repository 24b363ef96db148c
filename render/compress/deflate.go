package compress

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Dense returns doc as gzip (RFC 1952), some six percent smaller than Gzip and some twenty times slower: for documents that do not fit
// otherwise. Equal bytes for equal documents, with every release of Go and on every machine: all it computes with are integers.
func Dense(doc []byte) []byte {
	// No name, no time; 2: "maximum compression", 255: an unknown system.
	out := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255}
	out = append(out, deflate(doc)...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(doc))
	return binary.LittleEndian.AppendUint32(out, uint32(len(doc))) // #nosec G115 -- the format counts modulo 2^32
}

// rounds is how often the cheapest way through a document is sought, each time with the costs that the one before led to.
const rounds = 3

// deflate returns doc as a stream of RFC 1951: the cheapest sequence of literals and matches, by the costs of the codes that it leads to,
// in blocks that each have codes of their own.
func deflate(doc []byte) []byte {
	var w bitWriter
	if len(doc) == 0 {
		w.add(1|1<<1, 3) // the last block, of fixed codes
		w.add(0, 7)      // its end
		return w.bytes()
	}
	found := findMatches(doc)
	blocks := [][2]int{{0, len(doc)}}
	parsed := [][]symbol{greedy(doc, found)}
	for round := range rounds {
		if round > 0 {
			blocks = split(parsed)
			parsed = cut(parsed, blocks)
		}
		for i, b := range blocks {
			parsed[i] = cheapest(doc, found, b[0], b[1], costsOf(countSymbols(parsed[i])))
		}
	}
	for i, p := range parsed {
		writeBlock(&w, p, i == len(parsed)-1)
	}
	return w.bytes()
}

// symbol is a literal, whose length is 1 and whose distance is 0, or a match.
type symbol struct {
	length, distance uint16
	literal          byte
}

// size is how many bytes of the document it stands for.
func (s symbol) size() int { return int(s.length) }

// greedy takes the longest match at each place, to have numbers to begin with.
func greedy(doc []byte, found matches) []symbol {
	var out []symbol
	for at := 0; at < len(doc); {
		s := symbol{length: 1, literal: doc[at]}
		if m := found.at(at); len(m) > 0 {
			s = symbol{length: m[len(m)-1].length, distance: m[len(m)-1].distance}
		}
		out = append(out, s)
		at += s.size()
	}
	return out
}

// cheapest returns the symbols for doc[from:to] that cost least. Each place has the cheapest way to it from those before.
func cheapest(doc []byte, found matches, from, to int, c *costs) []symbol {
	n := to - from
	const far = 1 << 62
	cost := make([]int, n+1)
	by := make([]symbol, n+1)
	for i := range cost[1:] {
		cost[1+i] = far
	}
	for i := range n {
		here := cost[i]
		if lit := here + c.literals[doc[from+i]]; lit < cost[i+1] {
			cost[i+1], by[i+1] = lit, symbol{length: 1, literal: doc[from+i]}
		}
		length := minMatch
		for _, m := range found.at(from + i) {
			base := here + c.distances[distanceCode(int(m.distance))]
			for ; length <= int(m.length) && i+length <= n; length++ {
				if here := base + c.lengths[length]; here < cost[i+length] {
					cost[i+length], by[i+length] = here, symbol{length: uint16(length), distance: m.distance} // #nosec G115 -- at most 258
				}
			}
		}
	}
	var out []symbol
	for i := n; i > 0; i -= by[i].size() {
		out = append(out, by[i])
	}
	slices.Reverse(out)
	return out
}

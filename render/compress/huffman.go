package compress

import (
	"cmp"
	"slices"
)

// codeLengths returns the lengths, at most longest, of the codes that write symbols so often in the fewest bits (package-merge, Larmore
// and Hirschberg 1990). What does not occur has no code. One symbol alone gets a code of one bit.
func codeLengths(count []int, longest int) []byte {
	type pack struct {
		weight int
		leaves []int
	}
	var leaves []pack
	for i, n := range count {
		if n > 0 {
			leaves = append(leaves, pack{n, []int{i}})
		}
	}
	out := make([]byte, len(count))
	if len(leaves) == 1 {
		out[leaves[0].leaves[0]] = 1
		return out
	}
	byWeight := func(a, b pack) int { return cmp.Compare(a.weight, b.weight) }
	slices.SortStableFunc(leaves, byWeight)
	packs := leaves
	for range longest - 1 {
		next := slices.Clone(leaves)
		for i := 0; i+1 < len(packs); i += 2 {
			next = append(next, pack{packs[i].weight + packs[i+1].weight, slices.Concat(packs[i].leaves, packs[i+1].leaves)})
		}
		slices.SortStableFunc(next, byWeight)
		packs = next
	}
	for _, p := range packs[:max(0, 2*len(leaves)-2)] {
		for _, leaf := range p.leaves {
			out[leaf]++
		}
	}
	return out
}

// code is a symbol's bits, the first of them lowest.
type code struct {
	bits   uint32
	length int
}

// codes returns the canonical codes of these lengths (RFC 1951, 3.2.2).
func codes(lengths []byte) []code {
	var count, next [16]uint32
	for _, n := range lengths {
		if n > 0 {
			count[n]++
		}
	}
	for n := 1; n < len(next); n++ {
		next[n] = (next[n-1] + count[n-1]) << 1
	}
	out := make([]code, len(lengths))
	for i, n := range lengths {
		if n == 0 {
			continue
		}
		value, reversed := next[n], uint32(0)
		next[n]++
		for range n {
			reversed = reversed<<1 | value&1
			value >>= 1
		}
		out[i] = code{reversed, int(n)}
	}
	return out
}

package compress

import "math/bits"

// unit is the cost of one bit.
const unit = 1 << 12

// counts are how often the symbols of the two alphabets occur: literals, the end of a block and lengths; distances.
type counts struct {
	literals  [286]int
	distances [30]int
}

const endOfBlock = 256

func (c *counts) add(s symbol) {
	if s.distance == 0 {
		c.literals[s.literal]++
		return
	}
	c.literals[lengthCode(int(s.length))]++
	c.distances[distanceCode(int(s.distance))]++
}

func countSymbols(symbols []symbol) *counts {
	c := new(counts)
	c.literals[endOfBlock] = 1
	for _, s := range symbols {
		c.add(s)
	}
	return c
}

// costs are those of literals, of matches by their length, and of distances by their code, with their extra bits.
type costs struct {
	literals  [256]int
	lengths   [maxMatch + 1]int
	distances [30]int
}

// costsOf expects symbols to occur in the future as often as they have. What has not occurred costs as much as what occurred once.
func costsOf(c *counts) *costs {
	out := new(costs)
	literals := informations(c.literals[:])
	copy(out.literals[:], literals)
	for length := minMatch; length <= maxMatch; length++ {
		code := lengthCode(length)
		out.lengths[length] = literals[code] + lengthExtra(code)*unit
	}
	distances := informations(c.distances[:])
	for code := range out.distances {
		out.distances[code] = distances[code] + distanceExtra(code)*unit
	}
	return out
}

// informations are the bits that an ideal code gives to each symbol, in units.
func informations(count []int) []int {
	total := 0
	for _, n := range count {
		total += n
	}
	out := make([]int, len(count))
	for i, n := range count {
		out[i] = log2(max(total, 1)) - log2(max(n, 1))
	}
	return out
}

// size is what symbols so often would take in a block of their own, in units: their codes, and roughly the codes' description.
func (c *counts) size() int {
	return 100*unit + sizeOf(c.literals[:], lengthExtra) + sizeOf(c.distances[:], distanceExtra)
}

func sizeOf(count []int, extra func(int) int) int {
	total, out := 0, 0
	for i, n := range count {
		if n > 0 {
			total += n
			out += n*(extra(i)*unit-log2(n)) + 4*unit
		}
	}
	return out + total*log2(max(total, 1))
}

// log2 returns the logarithm of n > 0 to the base 2, in units, rounded down.
func log2(n int) int {
	if n < len(logarithms) {
		return int(logarithms[n])
	}
	return computeLog2(n)
}

// logarithms are those that are asked for again and again.
var logarithms = func() (out [1 << 12]int32) {
	for n := range out[1:] {
		out[n+1] = int32(computeLog2(n + 1)) // #nosec G115 -- below 12 units
	}
	return out
}()

// computeLog2 squares the mantissa, which yields one more bit each time.
func computeLog2(n int) int {
	whole := bits.Len(uint(n)) - 1 // #nosec G115 -- n is positive
	x := uint64(n) << 31 >> whole  // #nosec G115 -- n is positive; 1 ≤ x < 2 with 31 bits behind the point
	out := whole
	for u := unit; u > 1; u >>= 1 {
		x = x * x >> 31
		out <<= 1
		if x >= 1<<32 {
			x >>= 1
			out |= 1
		}
	}
	return out
}

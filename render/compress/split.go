package compress

// grain is how many symbols stay together when blocks are sought.
const grain = 128

// split returns the bounds, in bytes of the document, of the blocks that the symbols are best written in: keys in base64 want other codes
// than scripts.
func split(parsed [][]symbol) [][2]int {
	var grains []*counts
	ends := []int{0}
	at := 0
	for _, symbols := range parsed {
		for i, s := range symbols {
			if i%grain == 0 {
				grains = append(grains, new(counts))
				ends = append(ends, at)
			}
			grains[len(grains)-1].add(s)
			at += s.size()
			ends[len(ends)-1] = at
		}
	}
	// best[i] is the least that the first i grains take, and from[i] where the last block of that begins.
	best, from := make([]int, len(grains)+1), make([]int, len(grains)+1)
	for i := range grains {
		sum := new(counts)
		sum.literals[endOfBlock] = 1
		best[i+1] = 1 << 62
		for j := i; j >= 0; j-- {
			sum.join(grains[j])
			if size := best[j] + sum.size(); size < best[i+1] {
				best[i+1], from[i+1] = size, j
			}
		}
	}
	var out [][2]int
	for i := len(grains); i > 0; i = from[i] {
		out = append([][2]int{{ends[from[i]], ends[i]}}, out...)
	}
	return out
}

func (c *counts) join(other *counts) {
	for i, n := range other.literals {
		c.literals[i] += n
	}
	for i, n := range other.distances {
		c.distances[i] += n
	}
}

// cut deals the symbols out to blocks.
func cut(parsed [][]symbol, blocks [][2]int) [][]symbol {
	out := make([][]symbol, len(blocks))
	at, i := 0, 0
	for _, symbols := range parsed {
		for _, s := range symbols {
			if at == blocks[i][1] {
				i++
			}
			out[i] = append(out[i], s)
			at += s.size()
		}
	}
	return out
}

package compress

// bitWriter writes bits, the lowest of a value first.
type bitWriter struct {
	out  []byte
	held uint64
	n    int
}

func (w *bitWriter) add(value uint32, n int) {
	w.held |= uint64(value) << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.held))
		w.held >>= 8
	}
}

func (w *bitWriter) bytes() []byte {
	if w.n > 0 {
		return append(w.out, byte(w.held))
	}
	return w.out
}

// writeBlock writes the symbols as a block with codes of its own (RFC 1951, 3.2.7).
func writeBlock(w *bitWriter, symbols []symbol, final bool) {
	c := countSymbols(symbols)
	literalLengths, distanceLengths := codeLengths(c.literals[:], 15), codeLengths(c.distances[:], 15)
	last := uint32(0)
	if final {
		last = 1
	}
	w.add(last|2<<1, 3)
	writeCodes(w, trimmed(literalLengths, 257), trimmed(distanceLengths, 1))
	literals, distances := codes(literalLengths), codes(distanceLengths)
	for _, s := range symbols {
		if s.distance == 0 {
			w.add(literals[s.literal].bits, literals[s.literal].length)
			continue
		}
		i := lengthCode(int(s.length))
		w.add(literals[i].bits, literals[i].length)
		w.add(uint32(int(s.length)-lengthBase(i)), lengthExtra(i)) // #nosec G115 -- below 32
		i = distanceCode(int(s.distance))
		w.add(distances[i].bits, distances[i].length)
		w.add(uint32(int(s.distance)-distanceBase(i)), distanceExtra(i)) // #nosec G115 -- below 8192
	}
	w.add(literals[endOfBlock].bits, literals[endOfBlock].length)
}

// trimmed leaves out the zeros at the end, down to least.
func trimmed(lengths []byte, least int) []byte {
	for len(lengths) > least && lengths[len(lengths)-1] == 0 {
		lengths = lengths[:len(lengths)-1]
	}
	return lengths
}

// run is an element of the codes' description: a length, or one of three ways to repeat one, with so many extra bits.
type run struct {
	symbol byte
	extra  uint32
	bits   int
}

const (
	repeatLast   = 16 // 3 to 6 times
	repeatZeros  = 17 // 3 to 10
	repeatZeros2 = 18 // 11 to 138
)

// describe shortens runs of equal lengths. Zeros always; others if it is told to, which does not always pay.
func describe(lengths []byte, others bool) []run {
	var out []run
	for i := 0; i < len(lengths); {
		length, n := lengths[i], 1
		for i+n < len(lengths) && lengths[i+n] == length {
			n++
		}
		i += n
		if length > 0 {
			out = append(out, run{symbol: length})
			n--
		}
		for n >= 3 && (length == 0 || others) {
			var r run
			most := 0
			switch {
			case length > 0:
				r, most = run{symbol: repeatLast, bits: 2}, 6
			case n <= 10:
				r, most = run{symbol: repeatZeros, bits: 3}, 10
			default:
				r, most = run{symbol: repeatZeros2, bits: 7}, 138
			}
			times, least := min(n, most), 3
			if r.symbol == repeatZeros2 {
				least = 11
			}
			r.extra = uint32(times - least) // #nosec G115 -- below 128
			out = append(out, r)
			n -= times
		}
		for range n {
			out = append(out, run{symbol: length})
		}
	}
	return out
}

// The order in which the lengths of the description's own codes are written.
var order = [...]byte{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// writeCodes writes the lengths of both codes, in the shorter of two descriptions.
func writeCodes(w *bitWriter, literals, distances []byte) {
	lengths := append(append([]byte(nil), literals...), distances...)
	runs, own, size := described(lengths, true)
	if r, o, s := described(lengths, false); s < size {
		runs, own = r, o
	}
	n := len(order)
	for n > 4 && own[order[n-1]] == 0 {
		n--
	}
	w.add(uint32(len(literals)-257), 5) // #nosec G115 -- at most 29
	w.add(uint32(len(distances)-1), 5)  // #nosec G115 -- at most 29
	w.add(uint32(n-4), 4)               // #nosec G115 -- at most 15
	for _, i := range order[:n] {
		w.add(uint32(own[i]), 3)
	}
	code := codes(own)
	for _, r := range runs {
		w.add(code[r.symbol].bits, code[r.symbol].length)
		w.add(r.extra, r.bits)
	}
}

// described returns a description, the lengths of its own codes, and its size in bits without those.
func described(lengths []byte, others bool) ([]run, []byte, int) {
	runs := describe(lengths, others)
	count := make([]int, len(order))
	for _, r := range runs {
		count[r.symbol]++
	}
	own := codeLengths(count, 7)
	size := 0
	for _, r := range runs {
		size += int(own[r.symbol]) + r.bits
	}
	return runs, own, size
}

package compress

const (
	minMatch = 3
	maxMatch = 258
	window   = 1 << 15
	// chain bounds how many earlier places with the same three bytes are looked at.
	chain = 2048
)

// match is a place before, length bytes of which are the bytes here.
type match struct{ length, distance uint16 }

// matches has, for each place of a document, its matches: each longer than the one before, and the nearest of its length.
type matches struct {
	all   []match
	start []int32 // of a place's matches in all; one more than there are places
}

func (m matches) at(place int) []match { return m.all[m.start[place]:m.start[place+1]] }

func findMatches(doc []byte) matches {
	out := matches{start: make([]int32, len(doc)+1)}
	var last [1 << 15]int32 // the last place with a hash, plus one
	before := make([]int32, len(doc))
	for i := range doc {
		out.start[i] = int32(len(out.all)) // #nosec G115 -- documents are at most 64 MiB
		if i+minMatch > len(doc) {
			continue
		}
		h := (uint32(doc[i])<<16 | uint32(doc[i+1])<<8 | uint32(doc[i+2])) * 2654435761 >> 17
		best := minMatch - 1
		limit := min(maxMatch, len(doc)-i)
		for j, n := int(last[h])-1, 0; j >= 0 && i-j <= window && n < chain && best < limit; j, n = int(before[j])-1, n+1 {
			if doc[j+best] != doc[i+best] {
				continue
			}
			length := 0
			for length < limit && doc[j+length] == doc[i+length] {
				length++
			}
			if length > best {
				best = length
				out.all = append(out.all, match{uint16(length), uint16(i - j)}) // #nosec G115 -- at most 258 and 32768
			}
		}
		before[i], last[h] = last[h], int32(i+1) // #nosec G115 -- as above
	}
	out.start[len(doc)] = int32(len(out.all)) // #nosec G115 -- as above
	return out
}

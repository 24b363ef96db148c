package compress

import "math/bits"

// lengthCode returns the symbol for a match of 3 to 258 bytes (RFC 1951, 3.2.5): eight codes for the first eight lengths, then four for
// each further power of two, and one for 258 alone.
func lengthCode(length int) int {
	switch n := length - minMatch; {
	case length == maxMatch:
		return 285
	case n < 8:
		return 257 + n
	default:
		extra := bits.Len(uint(n)) - 3 // #nosec G115 -- n is positive
		return 257 + 4*extra + n>>extra
	}
}

// lengthExtra is how many bits follow the symbol.
func lengthExtra(code int) int {
	if code < 265 || code == 285 {
		return 0
	}
	return (code - 261) / 4
}

// lengthBase is the smallest length with that symbol.
func lengthBase(code int) int {
	if code == 285 {
		return maxMatch
	}
	if code < 265 {
		return code - 257 + minMatch
	}
	return (4+(code-261)%4)<<lengthExtra(code) + minMatch
}

// distanceCode returns the symbol for a distance of 1 to 32768: four codes for the first four distances, then two for each further power
// of two.
func distanceCode(distance int) int {
	n := distance - 1
	if n < 4 {
		return n
	}
	extra := bits.Len(uint(n)) - 2 // #nosec G115 -- n is positive
	return 2*extra + n>>extra
}

func distanceExtra(code int) int {
	if code < 4 {
		return 0
	}
	return (code - 2) / 2
}

func distanceBase(code int) int {
	if code < 4 {
		return code + 1
	}
	return (2+code%2)<<distanceExtra(code) + 1
}

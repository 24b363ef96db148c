// This file reads quantities of Kubernetes, such as 500m and 2Gi, within bounds.
//
// Quantities lie between 1n and 2^63-1, so that no more than some 30 digits mean anything. The code
// of Kubernetes has no bounds: its parser divides by 10 as often as a negative exponent says, and a
// comparison multiplies by 10 as often as a positive one says, for hours.

package wording

import (
	"errors"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxLength is how many characters a quantity may have. The parser takes a time that grows with
	// their square.
	maxLength = 10_000
	// maxExponent is how large a decimal exponent may be, and how small with a minus.
	maxExponent = 999
)

// form matches every string that the parser of Kubernetes reads as a number, and its exponent.
var form = regexp.MustCompile(`^[+-]?[0-9.]+(?:[numkMGTPE]|[KMGTPE]i|[eE]([+-]?[0-9]+))?$`)

var errBounds = errors.New("has too many digits or too large an exponent")

// ParseQuantity reads a quantity as Kubernetes does, and fails for one beyond the bounds.
func ParseQuantity(s string) (resource.Quantity, error) {
	if !QuantityInBounds(s) {
		return resource.Quantity{}, errBounds
	}
	return resource.ParseQuantity(s)
}

// QuantityInBounds reports whether a string can be read in time as a quantity, or as none.
func QuantityInBounds(s string) bool {
	n, ok := exponent(s)
	return ok && n <= maxExponent && n >= -maxExponent
}

// IsEndlessQuantity reports whether the parser of Kubernetes alone would take long for a string. It
// takes a positive exponent of any size: an identifier such as 1234e5678901 is not endless.
func IsEndlessQuantity(s string) bool {
	n, ok := exponent(s)
	return !ok || n < -maxExponent
}

// exponent returns the decimal exponent of a quantity, 0 if a string is none or has none. ok
// reports whether the string is short enough.
func exponent(s string) (n int, ok bool) {
	match := form.FindStringSubmatch(s)
	if match == nil {
		return 0, true
	}
	// Beyond the range of int, Atoi returns the nearest number of the range.
	n, _ = strconv.Atoi(match[1])
	return n, len(s) <= maxLength
}

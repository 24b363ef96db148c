// This file finds the known word that a misspelt one was meant to be, and says it in an
// error.

package wording

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxWord is the length of the longest word for which Nearest looks: no key and no name of a
	// cluster is longer, and the search takes time.
	maxWord = 64
	// maxListed is how many known words an error lists.
	maxListed = 12
)

// Unknown is the error for a word that names nothing, or nothing that may be shown.
type Unknown struct {
	Message string // with the nearest known word, or with all of them if they are few
	Nearest string // the known word that was probably meant, "" if none is near
}

// Error returns the message.
func (u *Unknown) Error() string { return u.Message }

// NoSuch returns the error for a word that is not among the known ones. format and args say what
// there is not; NoSuch adds the nearest known word or, if none is near, the known words.
func NoSuch(word string, known []string, format string, args ...any) *Unknown {
	known = slices.Compact(slices.Clone(known))
	u := &Unknown{fmt.Sprintf(format, args...), Nearest(word, known)}
	switch {
	case u.Nearest != "":
		u.Message += Hint(word, known)
	case len(known) > 0 && len(known) <= maxListed:
		u.Message += "; there is " + strings.Join(known, ", ")
	}
	return u
}

// Hint returns "; did you mean ...?" with the nearest known word, "" if none is near.
func Hint(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// Nearest returns the known word that a misspelt one was most likely meant to be, "" if none is
// near. A third of the letters may be wrong, but at least one and at most three.
func Nearest(word string, known []string) string {
	if len(word) > maxWord {
		return ""
	}
	nearest, least := "", 1+min(3, max(1, len(word)/3))
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return k
		}
		if n := distance(strings.ToLower(word), strings.ToLower(k)); n < least {
			nearest, least = k, n
		}
	}
	return nearest
}

// distance returns how many bytes must be added, dropped, replaced or swapped with their neighbour
// to turn a into b: the optimal string alignment distance. It keeps three rows of its table.
func distance(a, b string) int {
	beforeLast, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], beforeLast[j-2]+1)
			}
		}
		beforeLast, last, row = last, row, beforeLast
	}
	return last[len(b)]
}

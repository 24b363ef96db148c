package term_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/term"
)

// TestNames: a list of names reads like a sentence.
func TestNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a, b", term.Names([]string{"a", "b"}))
	require.Equal(t, "a, b, c, d, e and 2 more", term.Names(strings.Split("abcdefg", "")))
}

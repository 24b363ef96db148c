package message_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/cmd/kiln/message"
)

// TestNames: a list of names reads like a sentence.
func TestNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a, b", message.Names([]string{"a", "b"}))
	require.Equal(t, "a, b, c, d, e and 2 more", message.Names(strings.Split("abcdefg", "")))
}

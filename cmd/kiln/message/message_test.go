package message_test

import (
	"os/exec"
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

// TestShellWord: a shell reads a quoted word as the word, and a plain word stays as it is.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"nodes/admin.conf", "./a-b_1", "/srv/x"} {
		require.Equal(t, plain, message.ShellWord(plain))
	}
	for _, word := range []string{"a b", "it's", "$HOME", "*", "a;b", "`x`", "ä", "~", "a\nb"} {
		out, err := exec.Command("sh", "-c", "printf %s "+message.ShellWord(word)).Output()
		require.NoError(t, err)
		require.Equal(t, word, string(out))
	}
}

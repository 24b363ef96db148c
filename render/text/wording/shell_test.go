package wording_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/wording"
)

// TestWord: a shell reads a quoted word as the word, and a plain word stays as it is.
func TestWord(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"nodes/admin.conf", "./a-b_1", "/srv/x", "main:review"} {
		require.Equal(t, plain, wording.ShellWord(plain))
	}
	for _, word := range []string{
		"", "a b", "it's", "$HOME", "*", "a;b", "`x`", "ä", "~", "a\nb", "HEAD~1:review",
	} {
		out, err := exec.Command("sh", "-c", "printf %s "+wording.ShellWord(word)).Output()
		require.NoError(t, err)
		require.Equal(t, word, string(out))
	}
}

// TestBare: comments go, and the line that names the shell stays.
func TestBare(t *testing.T) {
	t.Parallel()
	require.Equal(t, "#!/bin/sh\ntrue # yes\n",
		wording.WithoutComments("#!/bin/sh\n# about\n\t# more\ntrue # yes\n"))
	require.Equal(t, "a\nb\n", wording.JoinLines([]string{"a", "b"}))
	require.Empty(t, wording.JoinLines(nil))
}

package shell_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/shell"
)

// TestWord: a shell reads a quoted word as the word, and a plain word stays as it is.
func TestWord(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"nodes/admin.conf", "./a-b_1", "/srv/x", "main:review"} {
		require.Equal(t, plain, shell.Word(plain))
	}
	for _, word := range []string{
		"", "a b", "it's", "$HOME", "*", "a;b", "`x`", "ä", "~", "a\nb", "HEAD~1:review",
	} {
		out, err := exec.Command("sh", "-c", "printf %s "+shell.Word(word)).Output()
		require.NoError(t, err)
		require.Equal(t, word, string(out))
	}
}

// TestBare: comments go, and the line that names the shell stays.
func TestBare(t *testing.T) {
	t.Parallel()
	require.Equal(t, "#!/bin/sh\ntrue # yes\n",
		shell.Bare("#!/bin/sh\n# about\n\t# more\ntrue # yes\n"))
	require.Equal(t, "a\nb\n", shell.Lines([]string{"a", "b"}))
	require.Empty(t, shell.Lines(nil))
}

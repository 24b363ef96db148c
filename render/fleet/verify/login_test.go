package verify

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/test/need"
)

// TestLogin: what the user's shell makes of a file of public keys. K is kept, G goes, N is new.
func TestLogin(t *testing.T) {
	t.Parallel()
	const keys = "keep ssh-ed25519 AAAAK a b\ngone ssh-rsa AAAAG== c\nnew ssh-ed25519 AAAAN d\n"
	const k, g, n = "ssh-ed25519 AAAAK a b\n", "ssh-rsa AAAAG== c\n", "ssh-ed25519 AAAAN d\n"
	const own, root = "ssh-rsa AAAAplatform p\n", `no-pty,command="echo 'ssh-rsa \"desk-admin\"'" `
	for name, row := range map[string]struct {
		keys, before, after string
		code                int
	}{
		"as it should be":       {keys, own + k + g, own + k + n, 0},
		"again":                 {keys, own + k + n, own + k + n, 0},
		"no end of the last":    {keys, own + k + strings.TrimSpace(g), own + k + n, 0},
		"options of cloud-init": {keys, root + k + root + g, root + k + root + n, 0},
		"another comment": {keys, "ssh-ed25519 AAAAK x\nssh-rsa AAAAG==\n",
			"ssh-ed25519 AAAAK x\n" + n, 0},
		"a comment with a key": {keys, "# " + g + k, "# " + g + k + n, 0},
		"somebody else's":      {keys, own, own, 3},
		"an indented comment":  {"gone " + k + "new " + n, " \t# " + n + k, " \t# " + n + n, 0},
		"only an indented one": {keys, "  # " + k, "  # " + k, 3},
		"blanks and tabs": {keys, "ssh-ed25519\t AAAAK\nssh-rsa  AAAAG== c\n",
			"ssh-ed25519\t AAAAK\n" + n, 0},
		"one of several":         {"some " + k + "some " + n, k, k + n, 0},
		"the other of several":   {"some " + k + "some " + n, n, n + k, 0},
		"one with the new alone": {keys, own + n, own + n, 0},
		"other options":          {keys, "restrict " + k + g, "restrict " + k + g, 4},
		"a longer key":           {keys, "ssh-ed25519 AAAAKK\n", "ssh-ed25519 AAAAKK\n", 3},
		"empty":                  {keys, "", "", 3},
		"all are others":         {"gone " + k + "new " + n, k, n, 0},
		"and again":              {"gone " + k + "new " + n, n, n, 0},
		"one goes":               {"keep " + k + "gone " + g, k + g, k, 0},
		"one is gone":            {"keep " + k + "gone " + g, k, k, 0},
	} {
		for i, words := range need.Usable(t) {
			dir := t.TempDir()
			file := filepath.Join(dir, "authorized_keys")
			require.NoError(t, os.WriteFile(file, []byte(row.before), 0o600))
			sh := need.Words(words)
			program := wording.WithoutComments(loginSource)
			cmd := exec.Command(sh[0], append(sh[1:], "-c", program, "sh", file)...)
			cmd.Stdin = strings.NewReader(row.keys)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.True(t, err == nil || errors.As(err, &exit), err)
			require.Equal(t, row.code, cmd.ProcessState.ExitCode(), "%s, %d: %s", name, i, out)
			require.Empty(t, out, name)
			got, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, row.after, string(got), "%s, %s", name, words)
			list, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, list, 1, name)
		}
	}
}

package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/test/need"
)

// TestGitFetchesNothing: in a partial clone, git would fetch missing files with a program that the
// settings of the clone name. kiln's git does not.
func TestGitFetchesNothing(t *testing.T) {
	t.Parallel()
	git := need.Program(t, "git")
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	script := `set -e
cd "$1"
git init -q up
cd up
mkdir review
echo text >review/INDEX
git add . && git -c user.name=x -c user.email=x@example.com commit -qm x
git config uploadpack.allowFilter true
cd ..
git clone -q --no-local --filter=blob:none --no-checkout "file://$PWD/up" clone
cd clone
git config remote.origin.url ssh://host.invalid/x
git config core.sshCommand "touch $2; false"
`
	own := []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	cmd := exec.Command("sh", "-c", script, "--", dir, mark)
	cmd.Env = append(os.Environ(), own...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	cmd = command("-C", filepath.Join(dir, "clone"), "cat-file", "-p", "HEAD:review/INDEX")
	cmd.Env = append(cmd.Env, own...)
	_, err = cmd.Output()
	require.Error(t, err, "the file is not in the clone")
	require.NoFileExists(t, mark)

	// Without kiln's settings git starts the program, so the test can fail.
	cmd = exec.Command(git, "-C", filepath.Join(dir, "clone"),
		"cat-file", "-p", "HEAD:review/INDEX")
	cmd.Env = append(os.Environ(), own...)
	_, err = cmd.Output()
	require.Error(t, err)
	require.FileExists(t, mark)
}

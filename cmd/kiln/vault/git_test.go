package vault

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
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
	cmd = gitCommand("-C", filepath.Join(dir, "clone"), "cat-file", "-p", "HEAD:review/INDEX")
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

// TestRevisionBounds: what git packs into little is not read: a large file, many files of one
// content, and a tree that names another one again and again.
func TestRevisionBounds(t *testing.T) {
	need.Program(t, "git")
	dir := t.TempDir()
	t.Chdir(dir)
	script := `set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
git init -q -b trunk
mkdir good large many
echo text >good/INDEX
truncate -s 65M large/INDEX
truncate -s 33M many/a
for name in b c d e f g h; do ln many/a "many/$name"; done
git add .
tree=$(git write-tree --prefix=good/)
for level in 1 2 3 4 5 6 7; do
	tree=$(for name in a b c d e f g h i j; do printf '040000 tree %s\t%s\n' "$tree" "$name"; done |
		git mktree)
done
echo "$tree" >bomb
git -c user.name=x -c user.email=x@example.com commit -qm x
`
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	require.NoError(t, err, string(out))
	bomb, err := os.ReadFile("bomb")
	require.NoError(t, err)
	files, err := ReadRevision("HEAD:good")
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"INDEX": []byte("text\n")}, files)
	for _, tree := range []string{"HEAD:large", "HEAD:many", strings.TrimSpace(string(bomb))} {
		_, err := ReadRevision(tree)
		require.ErrorIs(t, err, errTooMuch)
	}

	// A tag that has a branch's name is no revision that anybody meant.
	out, err = exec.Command("sh", "-c", "git tag main; git branch -f main; "+
		"git config core.warnAmbiguousRefs false").CombinedOutput()
	require.NoError(t, err, string(out))
	_, err = ReadRevision("main:good")
	require.ErrorIs(t, err, errAmbiguous)
	for _, tree := range []string{"refs/heads/main:good", "tags/main:good"} {
		files, err := ReadRevision(tree)
		require.NoError(t, err)
		require.Len(t, files, 1)
	}
}

// TestTrackedBounds: a folder of which git tracks very many files is one that it tracks, and no
// amount of messages fills the memory.
func TestTrackedBounds(t *testing.T) {
	need.Program(t, "git")
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "many"), 0o700))
	for i := range 400 {
		name := filepath.Join(dir, "many", strings.Repeat("a", 200)+strconv.Itoa(i))
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	cmd := exec.Command("sh", "-c", "git init -q && git add .")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, isTracked(dir, "many"))
	require.False(t, isTracked(dir, "others"))
	var messages head
	for range 100 {
		n, err := messages.Write(make([]byte, 1000))
		require.NoError(t, err)
		require.Equal(t, 1000, n)
	}
	require.Len(t, messages, maxMessages)
}

package vault

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// TestCovers: a line of a .gitignore covers what it covers for git. If kiln took a line to cover
// more, it would leave a secret to the next git add.
func TestCovers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rules, place string
		folder       bool
		want         bool
	}{
		{"*.secrets.yaml\n", "prod.secrets.yaml", false, true},
		{"/nodes/\n", "nodes", true, true},
		{"/nodes/\n", "nodes", false, false},
		{"# *.yaml\n", "a.yaml", false, false},
		{"*.yaml\n!prod.yaml\n", "prod.yaml", false, false},
		{"[!a]b\n", "ab", false, false},
		{"[!a]b\n", "cb", false, true},
		{"nodes   \n", "nodes", true, true},
		{"nodes\t\n", "nodes", true, false},
		{"nodes\\ \n", "nodes ", false, true},
		{"nodes\\ \n", "nodes", false, false},
		{"nodes\r\n", "nodes", true, true},
		{"nodes\r\r\n", "nodes", true, false},
		{"*\n!*/\n!**/*.yaml\n", "prod.secrets.yaml", false, false},
		{"*\n!a/**\n*.yaml\n", "prod.secrets.yaml", false, true},
		{"nodes/\n!NODES/\n", "nodes", true, false},
		{"nodes/\n!n[o]des/\n", "nodes", true, false},
	} {
		got := covers([]byte(row.rules), row.place, row.folder, false)
		require.Equal(t, row.want, got, "%q in %q", row.place, row.rules)
	}
	// The line that kiln adds for a path covers that path, and no other.
	for _, place := range []string{
		"prod.secrets.yaml", "a b", "end ", "a*b", "[x]", `a\b`, "!x", "#x",
	} {
		line := pattern(place, false)
		require.True(t, covers([]byte(line+"\n"), place, false, false), line)
		other := strings.ReplaceAll(place, "a", "c") + "x"
		require.False(t, covers([]byte(line+"\n"), other, false, false), line)
	}
}

// TestCoversForGit: what kiln says is ignored is so for git, whatever rules there are. The rules
// are made of parts that git knows and kiln does not, among others.
func TestCoversForGit(t *testing.T) {
	t.Parallel()
	program := need.Program(t, "git")
	top := t.TempDir()
	git := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, append([]string{"-C", top}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		return cmd
	}
	require.NoError(t, git("init", "-q").Run())
	require.NoError(t, git("config", "core.ignorecase", "true").Run())
	require.NoError(t, os.MkdirAll(filepath.Join(top, "nodes", "cp-1"), 0o700))
	places := map[string]bool{"nodes": true, "nodes/cp-1": true, "nodes/cp-1/user-data": false,
		"prod.secrets.yaml": false}
	parts := []string{"nodes", "NODES", "prod.secrets.yaml", "*.yaml", "*", "**", "/", "/", "!",
		"cp-1", "user-data", "[n]odes", "[[:lower:]]", "?", `\`, "[!x]", "[", "]", " ", "\r", "\t",
		"\x00", "#", "\ufeff"}
	rules := []string{
		"*\n!*/\n!**/*.yaml\n!.gitignore\n", "*.secrets.yaml\nnodes/\n!**/prod.secrets.yaml\n",
		"*.yaml\n![[:lower:]]rod.secrets.yaml\nnodes/\n!node[[:lower:]]/\n", "nodes/\n!NODES/\n",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		text := "*\n"
		for range 1 + random.IntN(4) {
			line := ""
			for range 1 + random.IntN(4) {
				line += parts[random.IntN(len(parts))]
			}
			if random.IntN(2) == 0 {
				line = "!" + line
			}
			text += line + "\n"
		}
		rules = append(rules, text)
	}
	covered := 0
	for _, text := range rules {
		require.NoError(t, os.WriteFile(filepath.Join(top, ".gitignore"), []byte(text), 0o600))
		for place, isFolder := range places {
			if !isIgnored(top, place, isFolder) {
				continue
			}
			covered++
			name := place
			if isFolder {
				name += "/"
			}
			require.NoError(t, git("check-ignore", "-q", "--no-index", name).Run(), "%q in %q",
				place, text)
		}
	}
	require.Greater(t, covered, 100, "the rules cover next to nothing")
}

package main

import (
	"os/exec"
	"testing"

	"kiln.dev/kiln/test/need"

	"github.com/stretchr/testify/require"
)

// TestModule: make module gives the whole project another import path, in each of its modules.
func TestModule(t *testing.T) {
	t.Parallel()
	git := need.Program(t, "git")
	need.Basic(t, "make")
	dir := clone(t)
	in := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %q: %s", name, args, out)
		return string(out)
	}
	in(git, "init", "--quiet")
	in("make", "module", "TO=forge.example/team/kiln")
	require.Equal(t, "forge.example/team/kiln\n", in("go", "list", "-m"))
	in("go", "list", "-deps", "-test", "./...") // which fails for an import that is nowhere
	require.Empty(t, in("gofmt", "-l", "."))
	in("sh", "-c", "! grep -rIl --exclude-dir=.git kiln.dev/kiln .")
}

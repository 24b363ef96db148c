package assembly_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/test/need"
)

// packaged returns a machine of that system with packages.
func packaged(t *testing.T, name, mirror string) *plan.Machine {
	t.Helper()
	s, ok := target.SystemNamed(name)
	require.True(t, ok)
	m := &plan.Machine{System: &s, Settings: &config.Effective{}, KubeletVersion: "v1.36.3",
		KubeletMinor: 36}
	m.Settings.Binaries.Source = target.SourcePackages
	m.Settings.Binaries.Mirror = mirror
	return m
}

// TestPackagesOfAPT: apt reads the repository, and asks it alone.
func TestPackagesOfAPT(t *testing.T) {
	t.Parallel()
	apt := need.Program(t, "apt-get")
	for mirror, want := range map[string]string{
		"": "https://pkgs.k8s.io/core:/stable:/v1.36/deb/",
		"http://mirror.example.com/k8s": "http://mirror.example.com/k8s" +
			"/core:/stable:/v1.36/deb/",
	} {
		_, files := assembly.Packages(packaged(t, "debian", mirror), nil, []byte("key"))
		require.Len(t, files, 2)
		require.Equal(t, "key", string(files[0].Content))
		require.Contains(t, string(files[1].Content), "Signed-By: "+files[0].Path+"\n")
		dir := t.TempDir()
		parts := filepath.Join(dir, "parts")
		require.NoError(t, os.Mkdir(parts, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(parts, filepath.Base(files[1].Path)),
			files[1].Content, 0o600))
		out, err := exec.Command(apt, "-o", "Dir::Etc::SourceList=/dev/null",
			"-o", "Dir::Etc::SourceParts="+parts, "-o", "Dir::State="+dir,
			"--print-uris", "update").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "'"+want+"InRelease' ")
		for line := range strings.Lines(string(out)) {
			require.True(t, strings.HasPrefix(line, "'"+want), "%s", line)
		}
	}
}

// TestNoPackages: a machine whose programs come from elsewhere has neither unit nor files.
func TestNoPackages(t *testing.T) {
	t.Parallel()
	m := packaged(t, "debian", "")
	m.Settings.Binaries.Source = target.SourceDownload
	unit, files := assembly.Packages(m, nil, nil)
	require.Empty(t, unit)
	require.Empty(t, files)
}

package render_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/ignition"
	"kiln.dev/kiln/test/golden"
	"kiln.dev/kiln/test/twins"
)

var update = flag.Bool("update", false, "rewrite the goldens")

var clusters = golden.Clusters()

// inputs returns a case's configuration and bundle.
func inputs(t testing.TB, name string) (*config.Cluster, *pki.Bundle) {
	t.Helper()
	c, b, err := readInputs(name)
	require.NoError(t, err)
	return c, b
}

// newFixture draws a bundle for a new case; it is committed with it.
func newFixture(path string, c *config.Cluster) ([]byte, error) {
	b, err := pki.New(pki.Options{
		Name:            c.Metadata.Name,
		Now:             time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Algorithm:       private.Algorithm(c.Spec.Certificates.KeyAlgorithm),
		CALifetime:      time.Duration(c.Spec.Certificates.CALifetime),
		FormationWindow: time.Duration(c.Spec.Boot.FormationWindow),
	})
	if err != nil {
		return nil, err
	}
	data, err := b.Marshal()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return data, os.WriteFile(path, data, 0o644)
}

// TestGolden: the review twin of each case is its folder want, byte for byte.
func TestGolden(t *testing.T) {
	t.Parallel()
	names := cases(t)
	require.GreaterOrEqual(t, len(names), 12)
	if *update {
		t.Run("update", func(t *testing.T) { updateTwins(t, names) })
		return
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireTwin(t, load(t, name), unfolded(t, name))
		})
	}
}

// updateTwins rewrites the golden twins and the programs that they share.
func updateTwins(t *testing.T, names []string) {
	t.Helper()
	s := shipped{}
	for _, name := range names {
		dir := filepath.Join(clusters, name)
		secrets := filepath.Join(dir, "bundle", "secrets.yaml")
		if _, err := os.Stat(secrets); os.IsNotExist(err) {
			c, err := render.Config(&folder.Input{Path: filepath.Join(dir, "cluster.yaml")})
			require.NoError(t, err)
			_, err = newFixture(secrets, c)
			require.NoError(t, err)
		}
		want := filepath.Join(dir, "want")
		require.NoError(t, os.RemoveAll(want))
		_, err := load(t, name).Write("", render.Options{Review: want})
		require.NoError(t, err)
		s.collect(t, want)
	}
	for _, name := range names {
		s.fold(t, filepath.Join(clusters, name, "want"))
	}
	s.write(t)
	twins.Fold(t, clusters, names)
}

// requireTwin holds a folder to be the review twin of r.
func requireTwin(t *testing.T, r *render.Cluster, dir string) {
	t.Helper()
	result, err := r.Write("", render.Options{Review: dir, Check: true})
	require.NoError(t, err)
	for _, d := range result.Review.Diffs {
		t.Errorf("%s:\n%s", d.Name, strings.Join(d.Lines, "\n"))
	}
	require.Empty(t, result.Review.Written, "would change; make golden rewrites them")
	require.Empty(t, result.Review.Removed, "would be removed")
	require.Positive(t, result.Review.Unchanged)
}

// TestManifest: the list that the hook verifies names every file, directory and link with its sum,
// mode and owner.
func TestManifest(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		for _, n := range nodes(t, name) {
			lines := map[string]bool{}
			for line := range strings.Lines(string(n.File("/etc/kiln/files").Content)) {
				lines[line] = true
			}
			require.True(t, lines["end "+identity(n)+"\n"])
			stale := 0
			for line := range lines {
				if strings.HasPrefix(line, "none - - /") {
					stale++
				}
			}
			require.Len(t, lines, len(n.Files)-1+len(n.Dirs)+len(n.Links)+stale+1)
			d := n.Delivered()
			for _, f := range d.Files {
				sum := sha256.Sum256(f.Content)
				owner := f.User + ":" + f.Group
				if owner == "root:root" {
					owner = "-"
				}
				line := fmt.Sprintf("%x %04o %s %s\n", sum[:4], f.Mode, owner, f.Path)
				require.True(t, lines[line] || f.Path == "/etc/kiln/files", line)
			}
		}
	}
}

// TestFormats: the machines of a case unpack to the same tree, in every format that they are packed
// in.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range nodes(t, name) {
				want := n.Delivered()
				for form, doc := range packed(t, n) {
					unpack := cloudinit.Unpack
					if strings.HasPrefix(form, "Ignition") {
						unpack = new(ignition.Unpacker).Unpack
					}
					got, err := unpack(doc)
					require.NoError(t, err)
					require.Equal(t, want, got, "%s as %s", n.Name, form)
				}
			}
		})
	}
}

package render_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/pki"
	"kiln/render"
	"kiln/render/cloudinit"
	"kiln/render/config"
	"kiln/render/ignition"
	"kiln/templates"
)

var update = flag.Bool("update", false, "rewrite the goldens")

const clusters = "../testdata/clusters"

// cases returns the folders of the golden cases; those named invalid-* belong to render/config.
func cases(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(clusters)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "invalid-") {
			out = append(out, e.Name())
		}
	}
	return out
}

// load returns a case ready to be rendered.
func load(t testing.TB, name string) *render.Cluster {
	t.Helper()
	dir := filepath.Join(clusters, name)
	c, err := render.Config(filepath.Join(dir, "cluster.yaml"))
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "bundle", "secrets.yaml"))
	if errors.Is(err, fs.ErrNotExist) && *update {
		data = newFixture(t, filepath.Join(dir, "bundle", "secrets.yaml"), c)
		err = nil
	}
	require.NoError(t, err)
	b, err := pki.Load(data)
	require.NoError(t, err)
	r, err := render.New(c, b)
	require.NoError(t, err)
	return r
}

// newFixture draws a bundle for a new case; it is committed with it.
func newFixture(t testing.TB, path string, c *config.Cluster) []byte {
	t.Helper()
	b, err := pki.New(pki.Options{
		Name: c.Metadata.Name, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Algorithm: pki.Algorithm(c.Spec.Certificates.KeyAlgorithm),
		CALifetime: time.Duration(c.Spec.Certificates.CALifetime), FormationWindow: time.Duration(c.Spec.Boot.FormationWindow),
	})
	require.NoError(t, err)
	data, err := b.Marshal()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return data
}

func TestGolden(t *testing.T) {
	t.Parallel()
	names := cases(t)
	require.GreaterOrEqual(t, len(names), 12)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			got := map[string][]byte{}
			var certificates []string
			for i := range r.Machines() {
				n, err := r.Node(i)
				require.NoError(t, err)
				require.NoError(t, r.Check(&r.Plan.Machines[i], n))
				for path, content := range render.Reviewed(n) {
					switch {
					case path == "etc/kiln/files":
						continue // INDEX says the same without the sums, and TestManifest holds the sums
					case "/"+path == templates.StepsPath:
						content = functionNames(content) // their text would drown every diff, as would these scripts'
					case slices.Contains([]string{templates.Boot, templates.Report, templates.Routes}, string(content)):
						content = []byte("<as in templates>\n")
					}
					got[n.Name+"/"+path] = content
					if line, ok := bytes.CutPrefix(content, []byte("certificate ")); ok {
						certificates = append(certificates, n.Name+" /"+path+": "+string(line))
					}
				}
			}
			slices.Sort(certificates)
			got["pki.txt"] = []byte(strings.Join(certificates, ""))
			compare(t, filepath.Join(clusters, name, "want"), got)
		})
	}
}

// functionNames lists the functions of a shell script, a line each.
func functionNames(script []byte) (names []byte) {
	for line := range strings.Lines(string(script)) {
		if name, found := strings.CutSuffix(line, "() {\n"); found {
			names = append(names, name+"\n"...)
		}
	}
	return names
}

// TestManifest: the list that the hook verifies names every file, directory and link with its sum, mode and owner.
func TestManifest(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		r := load(t, name)
		for i := range r.Machines() {
			n, err := r.Node(i)
			require.NoError(t, err)
			lines := map[string]bool{}
			for line := range strings.Lines(string(n.File("/etc/kiln/files").Content)) {
				lines[line] = true
			}
			require.True(t, lines["end\n"])
			require.Len(t, lines, len(n.Files)-1+len(n.Dirs)+len(n.Links)+1)
			d := n.Delivered()
			for _, f := range d.Files {
				sum := sha256.Sum256(f.Content)
				line := fmt.Sprintf("%x %04o %s:%s %s\n", sum[:8], f.Mode, f.User, f.Group, f.Path)
				require.True(t, lines[line] || f.Path == "/etc/kiln/files", line)
			}
		}
	}
}

// compare holds a folder of files against what was rendered, or rewrites it.
func compare(t *testing.T, dir string, got map[string][]byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.RemoveAll(dir))
		for path, content := range got {
			path = filepath.Join(dir, path)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, content, 0o644))
		}
		return
	}
	want := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	}))
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), "the files of the machines; make golden rewrites them")
	for name := range want {
		require.Equal(t, string(want[name]), string(got[name]), name)
	}
}

// TestFormats: whatever a case's machines are packed in, they unpack to the same tree.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			for i := range r.Machines() {
				n, err := r.Node(i)
				require.NoError(t, err)
				want := n.Delivered()
				for _, limit := range []int{0, 1} {
					doc, err := ignition.Pack(n, limit)
					require.NoError(t, err)
					got, err := ignition.Unpack(doc)
					require.NoError(t, err)
					require.Equal(t, want, got, "%s as Ignition, limit %d", n.Name, limit)
					if len(n.Extra) > 0 {
						continue
					}
					doc, err = cloudinit.Pack(n, limit)
					require.NoError(t, err)
					got, err = cloudinit.Unpack(doc)
					require.NoError(t, err)
					require.Equal(t, want, got, "%s as cloud-init, limit %d", n.Name, limit)
				}
			}
		})
	}
}

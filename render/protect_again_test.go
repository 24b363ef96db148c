package render_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree returns what lies below the folders of a root: contents of files, and targets of links.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, top := range []string{"etc", "var/lib/kubelet", "var/lib/kiln", "opt", "local"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(
			at string, e fs.DirEntry, err error,
		) error {
			if err != nil && at == filepath.Join(root, top) {
				return nil // the machine has no such folder
			}
			require.NoError(t, err)
			info, err := e.Info()
			require.NoError(t, err)
			content := ""
			switch {
			case e.Type() == fs.ModeSymlink:
				content, err = os.Readlink(at)
			case e.Type().IsRegular():
				var data []byte
				data, err = os.ReadFile(at)
				content = string(data)
			}
			require.NoError(t, err)
			found[strings.TrimPrefix(at, root)] = info.Mode().String() + " " + content
			return nil
		})
		require.NoError(t, err)
	}
	return found
}

// TestBootsAgain boots machines with cloud-init's own code again and again. What protects files
// empties none and brings none back: once a machine has verified its files, its keys are its own,
// also when cloud-init takes it for another instance.
func TestBootsAgain(t *testing.T) {
	t.Parallel()
	needBoots(t)
	docs := userDatas(t)
	for _, name := range []string{
		"amazon-linux/ip-10-0-0-11", "pools/small", "delivery-lean/cp-2",
	} {
		if name == "amazon-linux/ip-10-0-0-11" && !*all {
			continue // of the others one is a control plane, and one has whole files in user-data
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := &docs[slices.IndexFunc(docs, func(d userData) bool { return d.name == name })]
			root := filepath.Join(dir, "root-0")
			newRoot(t, root, d)
			at := func(path string) string { return filepath.Join(root, path) }
			bootIn(t, dir, "one")
			first := tree(t, root)
			require.NotEmpty(t, d.secrets())

			// The first boot was interrupted: cloud-init writes everything again.
			for _, path := range d.secrets() {
				require.NoError(t, os.Truncate(at(path), 0))
			}
			bootIn(t, dir, "one")
			require.Equal(t, first, tree(t, root))

			// The first boot ends, and the hook removes what only it needs. The kubelet has its
			// next certificate, people have replaced all other keys.
			state := "/var/lib/kiln/state"
			require.NoError(t, os.WriteFile(at(state), []byte("done\n"), 0o600))
			var gone []string
			for _, path := range d.secrets() {
				if strings.Contains(path, "bootstrap-kubelet") ||
					strings.Contains(path, "/install.") {
					gone = append(gone, path)
					require.NoError(t, os.Remove(at(path)))
					continue
				}
				require.NoError(t, os.WriteFile(at(path), []byte("newer "+path), 0o600))
			}
			const pki = "/var/lib/kubelet/pki/"
			next := pki + "kubelet-client-2026-06-01-00-00-00.pem"
			require.NoError(t, os.WriteFile(at(next), []byte("the next key"), 0o600))
			require.NoError(t, os.Symlink(next, at(pki+"kubelet-client-current.pem")))
			if d.body != nil { // it went with the first boot's end
				require.NoError(t, os.Remove(at("/var/lib/kiln/body")))
			}
			before := tree(t, root)
			bootIn(t, dir, "one")
			require.Equal(t, before, tree(t, root), "the second boot")

			// The same as another instance, whose files cloud-init does not write.
			semaphores := at("/var/lib/cloud/instances/two/sem")
			require.NoError(t, os.MkdirAll(semaphores, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(semaphores, "config_write_files"), nil,
				0o600))
			bootIn(t, dir, "two")
			require.Equal(t, before, tree(t, root), "bootcmd of another instance")

			// The same, with files that cloud-init writes: they are those of the document. All
			// others are as they were.
			bootIn(t, dir, "three")
			after := tree(t, root)
			written := map[string]bool{}
			for _, f := range d.writeFiles {
				written[strings.Replace(f.Path, "/usr/local/", "/local/", 1)] = true
			}
			for path, was := range before {
				if written[path] {
					was = first[path]
				}
				require.Equal(t, was, after[path], path)
			}
			require.Contains(t, after[next], "the next key")
			require.Contains(t, after[pki+"kubelet-client-current.pem"], next)
			for _, path := range gone {
				require.Equal(t, written[path], after[path] != "", path)
			}
		})
	}
}

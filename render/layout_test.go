package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/layout"
)

// userFolders are the folders of users' files alone, of which no golden case has one.
var userFolders = map[string]bool{
	"/etc/systemd/system/kubelet.service.d/": true, "/etc/kubernetes/kubelet.conf.d/": true,
	"/etc/containerd/conf.d/": true,
}

// TestLayout: every file that kiln puts on a machine of any case has a row in the table of files,
// and every row is complete and has a case that shows it.
func TestLayout(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, name := range cases(t) {
		r := load(t, name)
		for i := range r.Machines() {
			n, err := r.Node(i)
			require.NoError(t, err)
			for _, f := range n.Files {
				row := layout.FileAt(f.Path)
				if row != nil {
					used[row.Path] = true
				}
				if f.Why == node.FromConfig {
					continue
				}
				require.NotNil(t, row, "%s: %s: add a row to render/machine/layout/files.go",
					name, f.Path)
				require.False(t, row.Open && f.Secret != "",
					"%s: %s: holds a secret, and its row says that a reviewer may see it",
					name, f.Path)
			}
		}
	}
	seen := map[string]bool{}
	for _, row := range layout.Files {
		require.NotEmpty(t, row.Form, "%s: what is it written in?", row.Path)
		require.Equal(t, row.Change == layout.Replace, row.Why == "",
			"%s: a change that asks for less than a replacement needs its reason", row.Path)
		require.False(t, seen[row.Path], "%s: has two rows", row.Path)
		seen[row.Path] = true
		require.True(t, used[row.Path] || userFolders[row.Path],
			"%s: no golden case has it; add one, or take the row away", row.Path)
	}
}

package render_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/test/need"
)

// judging runs "cloud-init schema" on each file of a folder. One process does it for all of them,
// since cloud-init takes longer to start than to judge.
const judging = `
import os, sys
from cloudinit.cmd.main import main
folder = sys.argv[1]
for name in sorted(os.listdir(folder)):
    sys.argv = ["cloud-init", "schema", "--config-file", os.path.join(folder, name)]
    main()
`

// TestCloudInitSchema holds a control plane and a worker of each case to cloud-init's own schema,
// without a warning. The schema has no rule for the contents of files, so their first lines are
// enough here. TestPlatforms lets cloud-init read all lines.
func TestCloudInitSchema(t *testing.T) {
	t.Parallel()
	need.Program(t, "cloud-init")
	dir := t.TempDir()
	count := 0
	for _, name := range cases(t) {
		machines := nodes(t, name)
		for _, n := range slices.Compact([]*node.Node{machines[0], machines[len(machines)-1]}) {
			if len(n.Extra) > 0 {
				continue // only Ignition can express it
			}
			n = clone(n)
			for i := range n.Files {
				line, _, _ := bytes.Cut(n.Files[i].Content, []byte("\n"))
				n.Files[i].Content = append(line, '\n')
			}
			doc, err := new(cloudinit.Packer).Pack(n, 0, false)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+" "+n.Name), doc, 0o600))
			count++
		}
	}
	require.Greater(t, count, 40)
	out, err := exec.Command(need.Python, "-c", judging, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, count, bytes.Count(out, []byte("Valid cloud-config")), "%s", out)
	require.NotContains(t, string(out), "arning")
}

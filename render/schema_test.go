package render_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/cloudinit"
)

// TestCloudInitSchema holds a control plane and a worker of each case to cloud-init's own schema, without a warning.
func TestCloudInitSchema(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("cloud-init")
	if err != nil {
		t.Skip("cloud-init is not installed; its schema is not checked")
	}
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			for _, i := range []int{0, r.Machines() - 1} {
				n, err := r.Node(i)
				require.NoError(t, err)
				if len(n.Extra) > 0 {
					continue // only Ignition can express it
				}
				doc, err := cloudinit.Pack(n, 0, false)
				require.NoError(t, err)
				path := filepath.Join(t.TempDir(), "user-data")
				require.NoError(t, os.WriteFile(path, doc, 0o600))
				out, err := exec.Command(program, "schema", "--config-file", path).CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.True(t, bytes.HasPrefix(out, []byte("Valid")), "%s", out)
				require.NotContains(t, string(out), "arning")
			}
		})
	}
}

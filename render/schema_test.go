package render_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// reading is cloud-init's own way from the bytes of a user-data to the text that its modules read: each file of a folder is replaced by it.
const reading = `
import os, sys
from cloudinit import helpers, user_data
for name in sorted(os.listdir(sys.argv[1])):
    path = os.path.join(sys.argv[1], name)
    with open(path, "rb") as f:
        message = user_data.UserDataProcessor(helpers.Paths({})).process(f.read())
    parts = [p for p in message.walk() if p.get_content_maintype() != "multipart"]
    assert len(parts) == 1 and parts[0].get_content_type() == "text/cloud-config", [p.get_content_type() for p in parts]
    with open(path, "wb") as f:
        f.write(parts[0].get_payload(decode=True))
`

// TestCloudInitReads: cloud-init itself finds the same text in a document, whatever form it is packed in.
func TestCloudInitReads(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("cloud-init"); err != nil {
		t.Skip("cloud-init is not installed; what it reads is not checked")
	}
	dir := t.TempDir()
	want := map[string][]byte{}
	for _, name := range cases(t) {
		r := load(t, name)
		for _, i := range []int{0, r.Machines() - 1} {
			n, err := r.Node(i)
			require.NoError(t, err)
			if len(n.Extra) > 0 {
				continue // only Ignition can express it
			}
			docs := packed(t, n)
			for form, doc := range docs {
				if strings.HasPrefix(form, "Ignition") {
					continue
				}
				path := filepath.Join(dir, name+" "+n.Name+" "+form)
				require.NoError(t, os.WriteFile(path, doc, 0o600))
				want[path] = docs["cloud-init"]
			}
		}
	}
	out, err := exec.Command("/usr/bin/python3", "-c", reading, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for path, text := range want {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(text), string(got), filepath.Base(path))
	}
}

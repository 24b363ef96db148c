package cloudinit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/test/need"
)

// TestYAML11: PyYAML, which cloud-init uses, reads every document, and cloud-init's own rules
// decode the files.
func TestYAML11(t *testing.T) {
	t.Parallel()
	python := need.Program(t, "python3-yaml")
	// Random strings of the characters in which YAML's versions and parsers differ.
	r := rand.New(rand.NewPCG(3, 4))
	alphabet := []rune("ab \t\n\r\"'\\#:-|>%{}[]!&*?,@`~=<.0\u0085\u00a0\u2028\u2029\ufeff\ufffd🙂")
	random := &node.Node{}
	for i := range 3000 {
		text := make([]rune, r.IntN(12))
		for k := range text {
			text[k] = alphabet[r.IntN(len(alphabet))]
		}
		random.Files = append(random.Files, node.File{Path: fmt.Sprintf("/%04d", i), Mode: 0o640,
			Content: []byte(string(text))})
	}
	const script = `
import base64, json, sys, yaml
doc = yaml.safe_load(sys.stdin.buffer.read().decode("utf-8"))
files = []
for f in doc.get("write_files", []):
    content = f["content"]
    content = base64.b64decode(content) if f.get("encoding") == "b64" else content.encode("utf-8")
    user, group = f["owner"].split(":")
    files.append({"Path": f["path"], "Mode": int(f["permissions"], 8), "User": user, "Group": group,
                  "Content": base64.b64encode(content).decode() or None, "Secret": "", "Why": ""})
json.dump({"files": files, "bootcmd": doc.get("bootcmd", [])}, sys.stdout)
`
	for _, c := range append(machines[:len(machines):len(machines)], struct {
		name string
		n    *node.Node
	}{"random texts", random}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := new(cloudinit.Packer).Pack(c.n, 0, false)
			require.NoError(t, err)
			cmd := exec.Command(python, "-c", script)
			cmd.Stdin = bytes.NewReader(doc)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err)
			var got struct {
				Files   []node.File
				Bootcmd [][]string
			}
			require.NoError(t, json.Unmarshal(out, &got))
			want := c.n.Delivered()
			require.Len(t, got.Files, len(want.Files))
			for i, f := range want.Alike() {
				require.Equal(t, f, got.Files[i])
			}
			if len(got.Bootcmd) > 0 {
				assert.Equal(t, commands(t, c.n, "bootcmd"), got.Bootcmd)
			}
		})
	}
}

// TestSchema: cloud-init itself finds the documents valid. It only reads them.
func TestSchema(t *testing.T) {
	t.Parallel()
	program := need.Program(t, "cloud-init")
	for _, c := range machines {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := new(cloudinit.Packer).Pack(c.n, 0, false)
			require.NoError(t, err)
			name := filepath.Join(t.TempDir(), "user-data")
			require.NoError(t, os.WriteFile(name, doc, 0o600))
			out, err := exec.Command(program, "schema", "--config-file", name).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Regexp(t, `^Valid (cloud-config|schema).*\n$`, string(out))
		})
	}
}

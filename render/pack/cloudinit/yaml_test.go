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

// TestPassed: keys of user-data that are passed on do not change, even if YAML 1.1 would read their
// values in another way.
func TestPassed(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"disks": `{"disk_setup":{"/dev/vdb":{"layout":[[50,82],50],"overwrite":false,` +
			`"table_type":"gpt"}},"fs_setup":[{"device":"/dev/vdb1","filesystem":"ext4",` +
			`"label":"etcd"}],"mounts":[["LABEL=etcd","/var/lib/etcd","ext4","defaults","0","2"]]}`,
		"users": `{"users":["default",{"groups":"adm, systemd-journal","name":"ops",` +
			`"ssh_authorized_keys":["ssh-ed25519 AAAA ops"],"sudo":"ALL=(ALL) NOPASSWD:ALL"}]}`,
		"no default": `{"users":[]}`,
		"awkward texts": `{"groups":["no","12:30:45","0x1f","\u003ca\u003e \\ \" \n\t","é 😀",` +
			`"1e3","~",""]}`,
		"other values": `{"growpart":{"devices":["/"],"ignore_growroot_disabled":true,` +
			`"mode":"auto","n":[1,-2,0.5,1e+21,null]},"resize_rootfs":"noblock"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.True(t, json.Valid([]byte(doc)))
			for _, keys := range [][]string{nil, {"ssh-ed25519 AAAA you"}} {
				n := &node.Node{CloudConfig: json.RawMessage(doc), AuthorizedKeys: keys}
				for _, limit := range []int{0, 1} {
					packed, err := new(cloudinit.Packer).Pack(n, limit, false)
					require.NoError(t, err)
					got, err := cloudinit.Unpack(packed)
					require.NoError(t, err)
					require.JSONEq(t, doc, string(got.CloudConfig))
					require.Equal(t, doc, string(got.CloudConfig), "also in the same bytes")
					require.Equal(t, keys, got.AuthorizedKeys)
				}
			}
		})
	}
	for name, row := range map[string]struct {
		n    node.Node
		want string
	}{
		"a key of kiln's": {node.Node{CloudConfig: json.RawMessage(`{"runcmd":[["reboot"]]}`)},
			`"runcmd": is not passed on`},
		"no mapping": {node.Node{CloudConfig: json.RawMessage(`["hunter2"]`)},
			"cannot unmarshal !!seq"},
		"no JSON": {node.Node{CloudConfig: json.RawMessage("users: hunter2")},
			"not JSON"},
		"users and the login": {node.Node{CloudConfig: json.RawMessage(`{"users":[]}`),
			Login: "ops"}, "there is one"},
		"a login among users": {node.Node{CloudConfig: json.RawMessage(
			`{"users":["default",{"name":"a","ssh_authorized_keys":["b"]}]}`)}, "there is one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := new(cloudinit.Packer).Pack(&row.n, 0, false)
			require.ErrorContains(t, err, row.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

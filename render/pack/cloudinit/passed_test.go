package cloudinit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
)

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

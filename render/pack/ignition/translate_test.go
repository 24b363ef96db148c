package ignition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
)

func TestTranslate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, snippet string
		want          node.Node
	}{
		{"nothing", "variant: flatcar\nversion: 1.1.0\n", node.Node{}},
		{"older", "variant: fcos\nversion: 1.4.0\nkernel_arguments: {should_exist: [quiet]}\n",
			node.Node{Extra: []byte(
				`{"ignition":{"version":"3.4.0"},"kernelArguments":{"shouldExist":["quiet"]}}`)}},
		{"everything", `variant: flatcar
version: 1.1.0
storage:
  files:
  - path: /etc/motd
    mode: 0600
    user: {name: core}
    group: {name: docker}
    contents: {inline: "a b\n"}
  - path: /etc/default-mode
    contents: {source: "data:,x"}
  - path: /etc/hosts
    contents: {inline: first}
    append: [{inline: last}]
  - path: /etc/only-appended
    append: [{inline: last}]
  - path: /etc/remote
    contents:
      source: "https://example.com/x"
      verification: {hash: sha256-0000000000000000000000000000000000000000000000000000000000000000}
  - path: /etc/by-number
    user: {id: 500}
    contents: {inline: x}
  - path: /etc/only-mode
    mode: 0600
  directories:
  - path: /srv
    mode: 0700
    user: {name: core}
  - path: /opt
  - path: /emptied
    overwrite: true
  links:
  - path: /etc/localtime
    target: ../usr/share/zoneinfo/UTC
  - path: /etc/hard
    target: /etc/motd
    hard: true
  disks:
  - device: /dev/sdb
    wipe_table: true
systemd:
  units:
  - name: b.service
    enabled: true
    contents: |
      [Service]
      ExecStart=/bin/true
      [Install]
      WantedBy=multi-user.target
    dropins:
    - name: 10-a.conf
      contents: |
        [Unit]
        Description=x
  - name: a.service
    mask: true
  - name: c.service
    enabled: false
passwd:
  users:
  - name: core
    ssh_authorized_keys: [key]
`, node.Node{
			Files: []node.File{
				{Path: "/etc/by-number", Mode: 0o644, User: "500", Content: []byte("x")},
				{Path: "/etc/default-mode", Mode: 0o644, Content: []byte("x")},
				{Path: "/etc/hosts", Mode: 0o644, Content: []byte("first")},
				{Path: "/etc/motd", Mode: 0o600, User: "core", Group: "docker",
					Content: []byte("a b\n")},
				{Path: "/etc/systemd/system/b.service", Mode: 0o644,
					Content: []byte(
						"[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n")},
				{Path: "/etc/systemd/system/b.service.d/10-a.conf", Mode: 0o644,
					Content: []byte("[Unit]\nDescription=x\n")},
			},
			Dirs: []node.Dir{{Path: "/opt", Mode: 0o755},
				{Path: "/srv", Mode: 0o700, User: "core"}},
			Links: []node.Link{{Path: "/etc/localtime", Target: "../usr/share/zoneinfo/UTC"}},
			Units: []node.Unit{{Name: "a.service", Masked: true},
				{Name: "b.service", Enabled: true}},
			Extra: []byte(`{"ignition":{"version":"3.4.0"},` +
				`"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["key"]}]},` +
				`"storage":{"directories":[{"overwrite":true,"path":"/emptied"}],` +
				`"disks":[{"device":"/dev/sdb","wipeTable":true}],` +
				`"files":[{"path":"/etc/hosts","append":[{"compression":"","source":"data:,` +
				`last"}]},` +
				`{"path":"/etc/only-appended",` +
				`"append":[{"compression":"","source":"data:,last"}]},` +
				`{"path":"/etc/remote","contents":{"source":"https://example.com/x",` +
				`"verification":{"hash":"sha256-` + strings.Repeat("0", 64) + `"}}},` +
				`{"path":"/etc/only-mode","mode":384}],` +
				`"links":[{"path":"/etc/hard","hard":true,"target":"/etc/motd"}]},` +
				`"systemd":{"units":[{"enabled":false,"name":"c.service"}]}}`),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Translate(c.snippet)
			require.NoError(t, err)
			assert.Equal(t, string(c.want.Extra), string(got.Extra))
			assert.Equal(t, c.want, got)
			for _, limit := range []int{0, 1} {
				doc, err := new(Packer).Pack(&got, limit)
				require.NoError(t, err)
				again, err := new(Unpacker).Unpack(doc)
				require.NoError(t, err)
				// The key belongs to the login user: Unpack knows that, and a snippet does not say
				// it.
				again.Extra, again.AuthorizedKeys = c.want.Extra, nil
				assert.Equal(t, got.Delivered(), again)
			}
		})
	}
}

func TestTranslateErrors(t *testing.T) {
	t.Parallel()
	const flatcar = "variant: flatcar\nversion: 1.1.0\n"
	for _, c := range []struct{ name, snippet, want string }{
		{"nothing", "", "the snippet is empty"},
		{"not YAML", "a: [", "yaml: line 1: "},
		{"no variant", "version: 1.1.0\n", "error parsing variant; must be specified"},
		{"unknown version", "variant: flatcar\nversion: 9.0.0\n",
			"No translator exists for variant flatcar with version 9.0.0"},
		{"too new", "variant: fcos\nversion: 1.6.0\n",
			"line 2, column 10: version: it asks for an Ignition newer than 3.4.0"},
		{"experimental", "variant: flatcar\nversion: 1.2.0-experimental\n",
			"line 2, column 10: version: it asks for an Ignition newer than 3.4.0"},
		{"second document", flatcar + "---\nvariant: flatcar\n",
			"line 3, column 1: a second YAML document"},
		{"empty second document", flatcar + "---\n", "a second YAML document"},
		{"unknown key", flatcar + "storag: {}\n", "line 3, column 1: storag: unused key storag"},
		{"repeated key", flatcar + "storage: {}\nstorage: {}\n", "line 4"},
		{"wrong type", flatcar + "storage:\n  files: x\n", "line 4: cannot unmarshal"},
		{"mode in base 10", flatcar + "storage:\n  files:\n  - path: /a\n    mode: 644\n",
			"line 6, column 11: storage.files.0.mode: "},
		{"special bits", flatcar + "storage:\n  files:\n  - path: /a\n    mode: 04755\n",
			"line 6, column 11: storage.files.0.mode: "},
		{"enabled without Install", flatcar + "systemd:\n  units:\n  - name: " +
			"a.service\n    enabled: true\n    contents: '[Unit]'\n",
			"line 7, column 15: systemd.units.0.contents: unit \"a.service\" is enabled, " +
				"but has no install section"},
		{"local file", flatcar + "storage:\n  files:\n  - path: /a\n    contents: {local: x}\n",
			"line 6, column 23: storage.files.0.contents.local: "},
		{"replaces all", flatcar + "ignition: {config: {replace: {source: " +
			"'https://example.com'}}}\n", "would discard the machine's whole config"},
		{"two mistakes", flatcar + "a: 1\nb: 2\n", "line 4, column 1: b: unused key b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, err := Translate(c.snippet)
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, node.Node{}, n)
		})
	}
}

func ExampleTranslate() {
	n, err := Translate(`
variant: flatcar
version: 1.1.0
storage:
  files:
  - path: /etc/motd
    contents:
      inline: Welcome
`)
	if err != nil {
		panic(err)
	}
	for _, f := range n.Files {
		fmt.Printf("%s %04o %s\n", f.Path, f.Mode, f.Content)
	}
	// Output:
	// /etc/motd 0644 Welcome
}

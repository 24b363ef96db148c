package cloudinit_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
)

func TestPackErrors(t *testing.T) {
	t.Parallel()
	file := func(f node.File) node.Node { return node.Node{Files: []node.File{f}} }
	for _, c := range []struct {
		name string
		n    node.Node
		want string
	}{
		{"extra", node.Node{Extra: []byte("{}")},
			"extra Ignition config: cloud-init has no counterpart"},
		{"relative path", file(node.File{Path: "etc/x"}),
			`file "etc/x": not an absolute, clean path`},
		{"unclean path", file(node.File{Path: "/etc/../x"}),
			`file "/etc/../x": not an absolute, clean path`},
		{"path of bytes", file(node.File{Path: "/\xff"}),
			`file "/\xff": not an absolute, clean path`},
		{"path with NUL", file(node.File{Path: "/a\x00"}),
			`file "/a\x00": not an absolute, clean path`},
		{"same path twice", node.Node{Files: []node.File{{Path: "/a"}},
			Dirs: []node.Dir{{Path: "/a"}}}, `file "/a": something else has this path`},
		{"special bits", file(node.File{Path: "/a", Mode: 0o4755}),
			"file /a: mode 04755 is more than permission bits"},
		{"directory's mode", node.Node{Dirs: []node.Dir{{Path: "/a", Mode: 0o1777}}},
			"directory /a: mode 01777 is more than permission bits"},
		{"owner with colon", file(node.File{Path: "/a", User: "a:b"}),
			`file /a: "a:b" is not a user's or group's name`},
		{"owner with a zero in front", file(node.File{Path: "/a", User: "007"}),
			`file /a: "007" is not a user's or group's name`},
		{"owner that means nobody's", file(node.File{Path: "/a", Group: "None"}),
			`file /a: "None" is not a user's or group's name`},
		{"option as owner", node.Node{Dirs: []node.Dir{{Path: "/a", User: "-x"}}},
			`directory /a: "-x" is not a user's or group's name`},
		{"user without name", node.Node{Users: []node.User{{}}}, `user "": no name`},
		{"user twice", node.Node{Users: []node.User{{Name: "a", ID: 1}, {Name: "a", ID: 2}}},
			"user a: stands there twice"},
		{"unit twice", node.Node{Units: []node.Unit{{Name: "a.service", Enabled: true},
			{Name: "a.service"}}}, "unit a.service: stands there twice"},
		{"login", node.Node{Login: "a b", AuthorizedKeys: []string{"k"}},
			`login: "a b" is not a user's or group's name`},
		{"key of bytes", node.Node{AuthorizedKeys: []string{"\xff"}}, `ssh key "\xff": not text`},
		{"no target", node.Node{Links: []node.Link{{Path: "/a"}}}, `link /a: "" is not a target`},
		{"unit as path", node.Node{Units: []node.Unit{{Name: "/a.service"}}},
			`unit "/a.service": not a unit's name`},
		{"unit as pattern", node.Node{Units: []node.Unit{{Name: "*.service"}}},
			`unit "*.service": not a unit's name`},
		{"masked and started", node.Node{Units: []node.Unit{
			{Name: "a.service", Started: true, Masked: true}}},
			"unit a.service: masked, and to be started too"},
		{"masked and written", node.Node{Units: []node.Unit{{Name: "a.service", Masked: true}},
			Files: []node.File{{Path: "/etc/systemd/system/a.service"}}},
			"unit a.service: masked, but its text is among the files"},
		{"MIME in a path", file(node.File{Path: "/Mime-Version: 1.0"}),
			"cloud-init would take the document for a MIME message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := new(cloudinit.Packer).Pack(&c.n, 0, false)
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, doc)
		})
	}
}

func TestUnpackErrors(t *testing.T) {
	t.Parallel()
	zip := func(content []byte) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.String()
	}
	aliases := "bootcmd: [&a [" + strings.Repeat("x,", 1000) + "x]" + strings.Repeat(", *a", 1000) +
		"]\n"
	entry := func(lines string) string {
		return "#cloud-config\nwrite_files:\n- path: /a\n" + lines
	}
	for _, c := range []struct{ name, doc, want string }{
		{"nothing", "", "does not begin with the line #cloud-config"},
		{"script", "#!/bin/sh\n", "does not begin with the line #cloud-config"},
		{"not YAML", "#cloud-config\n[", "yaml: "},
		{"cut off", zip([]byte("#cloud-config\n"))[:20], "decompress: "},
		{"too large", zip(make([]byte, 64<<20+1)), "larger than 67108864 bytes"},
		{"unknown key", "#cloud-config\npackages: [x]\n", "field packages not found"},
		{"command that kiln never writes", "#cloud-config\nruncmd: [[reboot]]\n",
			"field runcmd not found"},
		{"second document", "#cloud-config\nmanage_etc_hosts: false\n---\nruncmd: [x]\n",
			"more stands behind the end of the document"},
		{"hosts", "#cloud-config\nmanage_etc_hosts: true\n",
			"preserve_hostname or manage_etc_hosts is not what kiln writes"},
		{"no name to preserve", "#cloud-config\npreserve_hostname: true\n",
			"preserve_hostname or manage_etc_hosts is not what kiln writes"},
		{"empty command", "#cloud-config\nbootcmd: [[]]\n", "bootcmd: command 1 is none"},
		{"unknown command", "#cloud-config\nbootcmd: [[reboot]]\n",
			"bootcmd: command 1 is none that kiln writes: this is no document of kiln's, or it " +
				"was changed"},
		{"changed install", "#cloud-config\nbootcmd: [[install, -d, -m, '0700', -o, a, -g, b, " +
			"'++', /c]]\n", "bootcmd: command 1 is none"},
		{"users of another kind", "#cloud-config\nusers: {1: b}\n",
			"a key or value that JSON does not have"},
		{"secret argument", "#cloud-config\nbootcmd: [[login, hunter2]]\n",
			"bootcmd: command 1 is none"},
		{"secret value", "#cloud-config\nbootcmd: hunter2\n",
			"line 2: cannot unmarshal !!str into []cloudinit.argv"},
		{"too many values", "#cloud-config\nbootcmd: [" + strings.Repeat(",", 1<<20) + "]\n",
			"more than 1048576 lines and values"},
		{"too many aliases", "#cloud-config\n" + aliases,
			"has YAML aliases"},
		{"too deep", "#cloud-config\nbootcmd: " + strings.Repeat("[", 20000) + "\n",
			"exceeded max depth of 10000"},
		{"owner", entry("  owner: root\n  permissions: '0644'\n"),
			"file /a: its owner is not user:group"},
		{"mode", entry("  owner: a:b\n  permissions: '0888'\n"),
			"file /a: its permissions are not a mode in octal"},
		{"encoding", entry("  owner: a:b\n  permissions: '0644'\n  encoding: gz\n  content: x\n"),
			"file /a: its encoding is none that kiln writes"},
		{"base64", entry("  owner: a:b\n  permissions: '0644'\n  encoding: b64\n  content: '!'\n"),
			"file /a: illegal base64 data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := cloudinit.Unpack([]byte(c.doc))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

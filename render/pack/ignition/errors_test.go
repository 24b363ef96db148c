package ignition

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/compress"
)

func TestPackErrors(t *testing.T) {
	t.Parallel()
	file := func(path string) node.Node { return node.Node{Files: []node.File{{Path: path}}} }
	extra := func(n node.Node, config string) node.Node {
		n.Extra = []byte(`{"ignition":{"version":"3.4.0"},` + config + `}`)
		return n
	}
	for _, c := range []struct {
		name string
		n    node.Node
		want string
	}{
		{"relative path", file("etc/x"), "etc/x ($.storage.files.0.path): path not absolute"},
		{"unclean path", file("/etc/../x"), "/etc/../x ($.storage.files.0.path): path is not"},
		{"path of bytes", file("/\xff"), `file "/\xff": not text`},
		{"path with NUL", file("/a\x00"), `file "/a\x00": not text`},
		{"same path twice", node.Node{Files: []node.File{{Path: "/a"}},
			Dirs: []node.Dir{{Path: "/a"}}}, "/a ($.storage.files.0): duplicate entry defined"},
		{"special bits", node.Node{Files: []node.File{{Path: "/a", Mode: 0o4755}}},
			"/a ($.storage.files.0.mode): setuid/setgid/sticky bits are not supported"},
		{"mode", node.Node{Dirs: []node.Dir{{Path: "/a", Mode: 0o10000}}},
			"/a ($.storage.directories.0.mode): illegal file mode"},
		{"unit's ending", node.Node{Units: []node.Unit{{Name: "a.container", Enabled: true}}},
			"a.container ($.systemd.units.0.name): invalid systemd unit extension"},
		{"masked and enabled", node.Node{Units: []node.Unit{
			{Name: "a.service", Enabled: true, Masked: true}}},
			"unit a.service: masked, and to be started too"},
		{"masked and written", node.Node{Units: []node.Unit{{Name: "a.service", Masked: true}},
			Files: []node.File{{Path: "/etc/systemd/system/a.service"}}},
			"unit a.service: masked, but its text is among the files"},
		{"user twice", node.Node{Users: []node.User{{Name: "a"}, {Name: "a"}}},
			"user a ($.passwd.users.1): duplicate entry defined"},
		{"extra not JSON", node.Node{Extra: []byte("{")}, "extra Ignition config: "},
		{"extra too new", node.Node{Extra: []byte(`{"ignition":{"version":"3.5.0"}}`)},
			"extra Ignition config: unsupported config version"},
		{"extra unused key", extra(node.Node{}, `"x":1`),
			"extra Ignition config: $.x: unused key x"},
		{"extra replaces all", node.Node{Extra: []byte(`{"ignition":{"version":"3.4.0",` +
			`"config":{"replace":{"source":"https://example.com"}}}}`)},
			"would discard the machine's whole config"},
		{"extra replaces a file", extra(file("/a"),
			`"storage":{"files":[{"path":"/a","mode":420}]}`),
			"/a: this file is also one of the machine's own"},
		{"extra makes a directory of a file", extra(file("/a"),
			`"storage":{"directories":[{"path":"/a"}]}`),
			"/a: this path is also one of the machine's own"},
		{"extra makes a link of a file", extra(file("/a"),
			`"storage":{"links":[{"path":"/a","target":"/b"}]}`),
			"/a: this path is also one of the machine's own"},
		{"extra makes a file of a directory", extra(node.Node{Dirs: []node.Dir{{Path: "/a"}}},
			`"storage":{"files":[{"path":"/a"}]}`),
			"/a: this path is also one of the machine's own"},
		{"extra disables a unit",
			extra(node.Node{Units: []node.Unit{{Name: "a.service", Enabled: true}}},
				`"systemd":{"units":[{"name":"a.service","enabled":false}]}`),
			"unit a.service: its state is also set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := new(Packer).Pack(&c.n, 0)
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, doc)
		})
	}
}

func TestUnpackErrors(t *testing.T) {
	t.Parallel()
	replaced := func(source, more string) string {
		return `{"ignition":{"version":"3.4.0","config":{"replace":{"source":"` + source + `"` +
			more + `}}}}`
	}
	bomb, err := encode(stub(compress.Gzip(bytes.Repeat([]byte{' '}, compress.MaxDocument+1))))
	require.NoError(t, err)
	many, err := encode(stub(compress.Gzip([]byte(`{"ignition":{"version":"3.4.0"},` +
		`"storage":{"files":[` + strings.Repeat("{},", 1<<15) + `{}]}}`))))
	require.NoError(t, err)
	whole := *stub(compress.Gzip(
		[]byte(`{"ignition":{"version":"3.4.0"}}`))).Ignition.Config.Replace.Source
	for _, c := range []struct{ name, doc, want string }{
		{"nothing", "", "not a config (empty)"},
		{"not JSON", "x", "invalid character"},
		{"too new", `{"ignition":{"version":"3.5.0"}}`, "unsupported config version"},
		{"elsewhere", replaced("https://example.com/x", ""),
			"it is elsewhere, not in this document"},
		{"not gzip", replaced("data:,x", `,"compression":"gzip"`), "decompress: "},
		{"cut off", replaced(whole[:len(whole)-8], `,"compression":"gzip"`),
			"decompress: unexpected EOF"},
		{"other hash", replaced("data:,x", `,"verification":{"hash":"sha256-`+strings.Repeat("0",
			64)+`"}`), "its hash is sha256-2d71"},
		{"stub in a stub",
			replaced("data:,%7B%22ignition%22:%7B%22version%22:%223.4.0%22,"+
				"%22config%22:%7B%22replace%22:%7B%22source%22:%22data:,%22%7D%7D%7D%7D", ""),
			"replaced once more"},
		{"too large", string(bomb), "it is larger than 67108864 bytes"},
		{"too many values", `{"ignition":{"version":"3.4.0"},"storage":{"files":[` +
			strings.Repeat("{},", 1<<15) + `{}]}}`, "more than 65536 values"},
		{"too many values inside", string(many), "more than 65536 values"},
		{"too deep", `{"ignition":` + strings.Repeat("[", 20000), "exceeded max depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := new(Unpacker).Unpack([]byte(c.doc))
			require.ErrorContains(t, err, c.want)
		})
	}
}

package cloudinit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
)

// whole returns the document of n as the encoder writes it at once.
func whole(t *testing.T, n *node.Node) string {
	t.Helper()
	c := userData(n)
	for _, f := range n.Alike() {
		c.WriteFiles = append(c.WriteFiles, newFile(&f).with(f.Content))
	}
	doc, err := encodeYAML(c)
	require.NoError(t, err)
	return header + string(doc)
}

// oneOf returns the i-th of some machines that have files in common.
func oneOf(i int) *node.Node {
	n := &node.Node{
		Users: []node.User{{Name: "etcd", ID: 2379, Home: "/var/lib/etcd"}},
		Dirs:  []node.Dir{{Path: "/etc/etcd", Mode: 0o750, Group: "etcd"}},
		Links: []node.Link{{Path: "/opt/link", Target: "/srv/a"}},
		Units: []node.Unit{{Name: "kubelet.service", Enabled: true}},
	}
	for j := range 5 {
		n.Files = append(n.Files, node.File{Path: fmt.Sprintf("/srv/own%d", j), Mode: 0o644,
			Content: []byte("the same on all\n")})
	}
	n.Files[i%5].Content = fmt.Appendf(nil, "of machine %d\n", i)
	return n
}

// TestShared: machines that share files get the documents that the encoder would write for each.
func TestShared(t *testing.T) {
	t.Parallel()
	var packer Packer
	for i := range 40 {
		n := oneOf(i)
		f := &n.Files[i%5]
		switch i % 8 {
		case 1:
			f.Content = []byte{0xff, byte(i)}
		case 2:
			f.User = "1000"
		case 3:
			f.Secret = fmt.Sprintf("file/%d", i)
		case 4:
			f.Mode = 0o600
		case 5:
			n.CloudConfig = []byte(`{"mounts":[["write_files:\n- path: \"kiln\"\n","/x"]]}`)
		case 6:
			n.AuthorizedKeys = []string{"ssh-ed25519 AAAA me"}
		}
		got, err := packer.Pack(n, 0, false)
		require.NoError(t, err)
		require.Equal(t, whole(t, n), string(got), i)
	}
}

// TestSharedFaults: a packer that knows a machine finds what is wrong with a copy of it, as it
// would alone.
func TestSharedFaults(t *testing.T) {
	t.Parallel()
	var packer Packer
	_, err := packer.Pack(oneOf(0), 0, false)
	require.NoError(t, err)
	planted := 0
	for name, plant := range map[string]func(n *node.Node, f *node.File){
		"relative":      func(_ *node.Node, f *node.File) { f.Path = f.Path[1:] },
		"unclean":       func(_ *node.Node, f *node.File) { f.Path += "/" },
		"bytes":         func(_ *node.Node, f *node.File) { f.Path += "\xff" },
		"NUL":           func(_ *node.Node, f *node.File) { f.Path += "\x00" },
		"bits":          func(_ *node.Node, f *node.File) { f.Mode |= 0o4000 },
		"owner":         func(_ *node.Node, f *node.File) { f.User = "a:b" },
		"nobody":        func(_ *node.Node, f *node.File) { f.Group = "none" },
		"a folder":      func(n *node.Node, f *node.File) { f.Path = n.Dirs[0].Path },
		"a link":        func(n *node.Node, f *node.File) { f.Path = n.Links[0].Path },
		"masked":        func(n *node.Node, f *node.File) { n.Units[0].Masked = true },
		"unit's name":   func(n *node.Node, f *node.File) { n.Units[0].Name = "a b" },
		"user's name":   func(n *node.Node, f *node.File) { n.Users[0].Name = "a b" },
		"key of bytes":  func(n *node.Node, f *node.File) { n.AuthorizedKeys = []string{"\xff"} },
		"login":         func(n *node.Node, f *node.File) { n.Login = "a b" },
		"of Ignition":   func(n *node.Node, f *node.File) { n.Extra = []byte("{}") },
		"not passed on": func(n *node.Node, f *node.File) { n.CloudConfig = []byte(`{"a":1}`) },
		"folder's bits": func(n *node.Node, f *node.File) { n.Dirs[0].Mode = 0o4755 },
		"link's target": func(n *node.Node, f *node.File) { n.Links[0].Target = "" },
		"two of one user": func(n *node.Node, _ *node.File) {
			n.Users = append(n.Users, n.Users[0])
		},
		"two of one unit": func(n *node.Node, _ *node.File) {
			n.Units = append(n.Units, n.Units[0])
		},
	} {
		for i := range 10 {
			n := oneOf(i)
			plant(n, &n.Files[i%5])
			want := check(n)
			require.Error(t, want, name)
			doc, err := packer.Pack(n, 0, false)
			require.EqualError(t, err, want.Error(), name)
			require.Nil(t, doc)
			planted++
		}
	}
	require.Equal(t, 200, planted)
	doc, err := packer.Pack(oneOf(0), 0, false)
	require.NoError(t, err)
	require.Equal(t, whole(t, oneOf(0)), string(doc))
}

// contentsOfEntries are what entries may hold: for the encoder, each of these is a case of its own.
var contentsOfEntries = []string{
	"", "a", "a\n", "a\n\n", "\na\n", " a\n", "a \n", "a\n b\n", "a\n\n\n  b\n", "\ta\n",
	"a\tb\n", "a\r\n", "\n", "\n\n", "a\u00e9\n", "a\x7f\n", "a\x00\n", "# a\n", "--- a\n", "---\n",
	"...\n", "a: b\n", "\"\\\n", "%a\n", "a\u2028b\n", "\ufeffa\n", "- a\n- b\n", "'\n", "|\n",
	strings.Repeat("long ", 100) + "end\n", "a\n  \nb\n", "mime-version: 1\n", "~", "a\n ",
}

// TestEntries: an entry is what the encoder writes for it.
func TestEntries(t *testing.T) {
	t.Parallel()
	for _, content := range contentsOfEntries {
		for _, path := range []string{
			"/etc/a", "/a b", `/a"b`, `/a\b`, "/\u00e9", "/a\nb", "/a: b",
		} {
			holdEntry(t, path, content)
		}
	}
}

func holdEntry(t *testing.T, path, content string) {
	t.Helper()
	f := newFile(&node.File{Path: path, Mode: 0o600}).with([]byte(content))
	want, err := encodeYAML([]file{f})
	require.NoError(t, err)
	require.Equal(t, string(want), string(f.entry()), "%q %q", path, content)
}

// FuzzEntry is TestEntries for any content.
func FuzzEntry(f *testing.F) {
	for _, content := range contentsOfEntries {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) { holdEntry(t, "/etc/a", content) })
}

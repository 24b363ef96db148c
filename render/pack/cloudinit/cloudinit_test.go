package cloudinit_test

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/ignition"
)

// full returns a machine that has one of everything.
func full() *node.Node {
	return &node.Node{
		Name: "cp-1",
		Role: node.ControlPlane,
		Users: []node.User{{Name: "etcd", ID: 2379, Home: "/var/lib/etcd"},
			{Name: "probe", ID: 990}},
		Dirs: []node.Dir{{Path: "/etc/etcd/pki", Mode: 0o750, User: "root", Group: "etcd"},
			{Path: "/etc/kubernetes", Mode: 0o755}},
		Files: []node.File{
			{Path: "/etc/etcd/pki/ca.crt", Mode: 0o640, Group: "etcd",
				Content: []byte(
					"-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n")},
			{Path: "/etc/hostname", Mode: 0o644, Content: []byte("cp-1\n"),
				Why: "the machine's name"},
			{Path: "/etc/kubernetes/empty", Mode: 0},
			{Path: "/etc/kubernetes/key", Mode: 0o600, Content: []byte{0, 255}, Secret: "key g1"},
			{Path: "/etc/systemd/system/kubelet.service", Mode: 0o600,
				Content: []byte("[Service]\nExecStart=/usr/bin/kubelet \"$A\" & <x>\n")},
		},
		Links: []node.Link{{Path: "/etc/localtime", Target: "../usr/share/zoneinfo/UTC"}},
		Units: []node.Unit{{Name: "containerd.service", Started: true},
			{Name: "kubelet.service", Enabled: true, Started: true},
			{Name: "update-engine.service", Masked: true}},
		AuthorizedKeys: []string{"ssh-ed25519 AAAA you@example"},
		NetworkConfig:  []byte("version: 2\n"),
	}
}

// large returns a machine with one file that is much shorter when compressed.
func large() *node.Node {
	n := full()
	n.Files[0].Content = bytes.Repeat(n.Files[0].Content, 100)
	return n
}

func TestPack(t *testing.T) {
	t.Parallel()
	got, err := new(cloudinit.Packer).Pack(full(), 0, false)
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

func TestMetaData(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "instance-id: \"12:30\"\nlocal-hostname: \"no\"\n",
		string(cloudinit.MetaData("no", "12:30")))
	assert.Equal(t, "instance-id: \"a\"\n", string(cloudinit.MetaData("", "a")),
		"the machines of a pool have no name in common")
}

// machines are the cases of all tests that pack and unpack.
var machines = []struct {
	name string
	n    *node.Node
}{
	{"empty", &node.Node{}},
	{"one of everything", full()},
	{"a large file", large()},
	{"login", &node.Node{Login: "ops", AuthorizedKeys: []string{"a", "b"}}},
	{"login without keys", &node.Node{Login: "ops"}},
	{"hostname without newline",
		&node.Node{Files: []node.File{{Path: "/etc/hostname", Content: []byte("x")}}}},
	{"words for the shell", &node.Node{
		Dirs: []node.Dir{{Path: "/$(reboot)/`a`/'b'/\"c\"/\n/-d", Mode: 0o700}},
		Files: []node.File{{Path: "/etc/a b:c #d", Mode: 0o644}, {Path: "/etc/~", Mode: 0o644},
			{Path: "/no", Mode: 0o644}},
		Links: []node.Link{{Path: "/etc/$HOME;reboot", Target: "-x 'y' \"z\" \\"},
			{Path: "/x", Target: "=1"}},
		Units: []node.Unit{{Name: `dev-disk-by\x2dlabel-A.swap`, Masked: true},
			{Name: "a@b:c.service", Enabled: true}},
	}},
	{"contents", adversarial()},
}

// contents are contents that break naive encodings.
var contents = map[string]string{
	"empty":                 "",
	"only newlines":         "\n\n\n",
	"trailing newlines":     "a\n\n\n",
	"no newline":            "a",
	"leading newline":       "\na\n",
	"leading space":         "  a\n b\n",
	"trailing space":        "a \nb  \n",
	"last line of spaces":   "a\n   ",
	"lines of spaces":       "a\n  \n      \nb\n",
	"command":               "$(reboot) `reboot` ${HOME}\n",
	"quotes":                "'\"\\\n",
	"percent":               "%n %20 %%\n",
	"NUL":                   "a\x00b",
	"escape":                "\x1b[31m\x7f\u0080",
	"invalid UTF-8":         "\xff\xfe\x80",
	"100 KiB":               strings.Repeat("0123456789abcde\n", 6400),
	"100 KiB in one line":   strings.Repeat("0123456789abcdef", 6400),
	"100 KiB of bytes":      strings.Repeat("\x00\xff\x10\x80", 25600),
	"CRLF":                  "a\r\nb\r\n",
	"CR":                    "a\rb",
	"tabs":                  "\ta\t\n\t\n",
	"tab later":             "a:\n\tb\tc\n",
	"YAML marks":            "---\na\n...\n",
	"comment":               "# a\n#b\n",
	"cloud-config":          "#cloud-config\n",
	"jinja":                 "## template: jinja\n{{ x }}\n",
	"template":              "{{ x }}\n",
	"date":                  "2001-01-01",
	"sexagesimal":           "12:30:45",
	"truth":                 "no",
	"equals sign":           "=",
	"merge key":             "<<",
	"null":                  "~",
	"tag":                   "!!python/object:os.system x\n",
	"anchor":                "&a *a\n",
	"line separators":       "a\u2028b\u2029c\u0085d\n",
	"byte order mark":       "\ufeffa\n",
	"no-break space":        "\u00a0a\u00a0\n",
	"emoji":                 "🙂\n",
	"noncharacter":          "\ufffe\uffff",
	"replacement character": "\ufffd\n",
	"MIME":                  "MIME-Version: 1.0\n",
	"looks like base64":     "QUJD",
	"plus and ampersand":    "a+b&c;d#e?f\n",
	"comma":                 ",;base64,QQ==",
	"HTML":                  "<a href=\"x\">&amp;</a>",
}

// adversarial returns a machine with all of contents.
func adversarial() *node.Node {
	n := &node.Node{}
	for name, content := range contents {
		n.Files = append(n.Files, node.File{Path: "/" + name, Mode: 0o600,
			Content: []byte(content)})
	}
	n.Sort()
	return n
}

// TestOwners: cloud-init cannot write a file whose owner is a number, so a command changes the
// owner afterwards.
func TestOwners(t *testing.T) {
	t.Parallel()
	n := &node.Node{
		Dirs: []node.Dir{{Path: "/var/lib/etcd", Mode: 0o700, User: "232", Group: "233"}},
		Files: []node.File{
			{Path: "/a", User: "0", Group: "etcd"}, {Path: "/b"},
			{Path: "/etc/pin", Mode: 0o600, User: "core", Group: "1000"},
		},
	}
	doc, err := new(cloudinit.Packer).Pack(n, 0, false)
	require.NoError(t, err)
	require.Contains(t, string(doc), "\n  owner: \"root:root\"\n")
	all := commands(t, n, "bootcmd")
	require.Contains(t, all[len(all)-1], "chown -- core:1000 /etc/pin")
	got, err := cloudinit.Unpack(doc)
	require.NoError(t, err)
	require.Equal(t, n.Delivered(), got)
}

// TestRoundTrip packs machines plain and compressed. All unpack to the same machine.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range machines {
		for _, form := range []struct {
			limit int
			text  bool
		}{{0, false}, {1, false}, {1, true}} {
			limit := form.limit
			t.Run(fmt.Sprintf("%s, limit %d, text %v", c.name, limit, form.text),
				func(t *testing.T) {
					t.Parallel()
					doc, err := new(cloudinit.Packer).Pack(c.n, limit, form.text)
					require.NoError(t, err)
					got, err := cloudinit.Unpack(doc)
					require.NoError(t, err)
					require.Equal(t, c.n.Delivered(), got)

					doc, err = new(ignition.Packer).Pack(c.n, limit)
					require.NoError(t, err)
					other, err := new(ignition.Unpacker).Unpack(doc)
					require.NoError(t, err)
					require.Equal(t, got, other, "Ignition and cloud-init")
				})
		}
	}
}

func TestCompressed(t *testing.T) {
	t.Parallel()
	n := large()
	plain, err := new(cloudinit.Packer).Pack(n, 0, false)
	require.NoError(t, err)

	same, err := new(cloudinit.Packer).Pack(n, len(plain), false)
	require.NoError(t, err)
	assert.Equal(t, string(plain), string(same), "a document that fits is not compressed")

	doc, err := new(cloudinit.Packer).Pack(n, len(plain)-1, false)
	require.NoError(t, err)
	again, err := new(cloudinit.Packer).Pack(n, len(plain)-1, false)
	require.NoError(t, err)
	assert.Equal(t, doc, again)
	assert.Equal(t, []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}, doc[:8], "no name, no time")
	assert.Less(t, len(doc), len(plain))

	text, err := new(cloudinit.Packer).Pack(n, len(plain)-1, true)
	require.NoError(t, err)
	assert.NotContains(t, strings.Map(func(r rune) rune {
		if r == '\n' || r >= ' ' && r <= '~' {
			return -1
		}
		return '?'
	}, string(text)), "?", "text alone")
	assert.Less(t, len(text), len(doc)*4/3+250)
	for name, wrong := range map[string]string{
		"another's":  "MIME-Version: 1.0\n\n#cloud-config\n",
		"cut off":    string(text[:len(text)-20]),
		"damaged":    strings.Replace(string(text), "H4sI", "H4s!", 1),
		"no gzip":    strings.Replace(string(text), "H4sI", "AAAA", 1),
		"more of it": string(text) + "more",
	} {
		_, err = cloudinit.Unpack([]byte(wrong))
		assert.Error(t, err, name)
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, content := range contents {
		f.Add([]byte(content), "/etc/x y", uint32(0o644), "root", "etcd")
	}
	account := regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*\$?)?$`)
	isAccount := func(name string) bool {
		return account.MatchString(name) &&
			!strings.EqualFold(name, "none")
	}
	f.Fuzz(func(t *testing.T, content []byte, p string, mode uint32, user, group string) {
		n := &node.Node{
			Files: []node.File{{Path: p, Mode: mode, User: user, Group: group, Content: content}},
			Dirs:  []node.Dir{{Path: p + ".d", Mode: mode, User: user, Group: group}},
			Links: []node.Link{{Path: p + ".l", Target: p}},
		}
		doc, err := new(cloudinit.Packer).Pack(n, len(content)%2, len(content)%4 == 1)
		valid := utf8.ValidString(p) && !strings.Contains(p, "\x00") && path.IsAbs(p) &&
			path.Clean(p) == p && path.Clean(p+".d") == p+".d" &&
			mode <= 0o777 && isAccount(user) && isAccount(group) &&
			!strings.Contains(strings.ToLower(p), "mime-version:")
		if !valid {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		got, err := cloudinit.Unpack(doc)
		require.NoError(t, err)
		require.Equal(t, n.Delivered(), got)
		body, err := cloudinit.Body(n)
		require.NoError(t, err)
		fetched, err := cloudinit.UnpackBody(body)
		require.NoError(t, err)
		require.Equal(t, got, fetched)
		doc, err = new(ignition.Packer).Pack(n, len(content)%2)
		require.NoError(t, err)
		other, err := new(ignition.Unpacker).Unpack(doc)
		require.NoError(t, err)
		require.Equal(t, got, other)
	})
}

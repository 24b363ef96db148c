package ignition

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
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
			{Path: "/etc/systemd/system/kubelet.service", Mode: 0o600,
				Content: []byte("[Service]\nExecStart=/usr/bin/kubelet \"$A\" & <x>\n"),
				Secret:  "none g1"},
		},
		Links: []node.Link{{Path: "/etc/localtime", Target: "../usr/share/zoneinfo/UTC"}},
		Units: []node.Unit{{Name: "containerd.service", Started: true},
			{Name: "kubelet.service", Enabled: true, Started: true},
			{Name: "update-engine.service", Masked: true}},
		AuthorizedKeys: []string{"ssh-ed25519 AAAA you@example"},
		NetworkConfig:  []byte("version: 2\n"),
	}
}

// nodeOfSize returns a machine with this many files, of the size and kind that a control plane has.
func nodeOfSize(files int) *node.Node {
	r := rand.New(rand.NewPCG(1, 2))
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	n := full()
	for i := range files - len(n.Files) {
		var b strings.Builder
		if i%2 == 0 {
			b.WriteString("-----BEGIN CERTIFICATE-----\n")
			for range 10 {
				for range 64 {
					b.WriteByte(alphabet[r.IntN(len(alphabet))])
				}
				b.WriteByte('\n')
			}
			b.WriteString("-----END CERTIFICATE-----\n")
		} else {
			for line := range 40 {
				fmt.Fprintf(&b, "    - --flag-%d-%d=/etc/kubernetes/pki/value-%d\n", i, line,
					r.IntN(1000))
			}
		}
		n.Files = append(n.Files, node.File{Path: fmt.Sprintf("/etc/kubernetes/pki/file-%d", i),
			Mode: 0o600, Content: []byte(b.String())})
	}
	n.Sort()
	return n
}

func TestPack(t *testing.T) {
	t.Parallel()
	got, err := new(Packer).Pack(full(), 0)
	require.NoError(t, err)
	assert.Equal(t, `{"ignition":{"version":"3.4.0"},`+
		`"passwd":{"groups":[{"gid":2379,"name":"etcd","system":true},{"gid":990,"name":"probe",`+
		`"system":true}],`+
		`"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA you@example"]},`+
		`{"homeDir":"/var/lib/etcd","name":"etcd","noCreateHome":true,"primaryGroup":"etcd",`+
		`"shell":"/usr/sbin/nologin","system":true,"uid":2379},`+
		`{"name":"probe","noCreateHome":true,"primaryGroup":"probe","shell":"/usr/sbin/nologin",`+
		`"system":true,"uid":990}]},`+
		`"storage":{"directories":[{"group":{"name":"etcd"},"path":"/etc/etcd/pki","mode":488},`+
		`{"path":"/etc/kubernetes","mode":493}],`+
		`"files":[{"overwrite":true,"path":"/etc/hostname","contents":{"source":"data:,cp-1%0A"},`+
		`"mode":420},`+
		`{"overwrite":true,"path":"/etc/kubernetes/empty",`+
		`"contents":{"source":"data:,"},"mode":0},`+
		`{"overwrite":true,"path":"/etc/systemd/system/kubelet.service",`+
		`"contents":{"source":"data:,`+
		`%5BService%5D%0AExecStart=/usr/bin/kubelet%20%22$A%22%20&%20%3Cx%3E%0A"},"mode":384},`+
		`{"group":{"name":"etcd"},"overwrite":true,"path":"/etc/etcd/pki/ca.crt",`+
		`"contents":{"source":"data:,`+
		`-----BEGIN%20CERTIFICATE-----%0AMIIB+/=%0A-----END%20CERTIFICATE-----%0A"},`+
		`"mode":416}],`+
		`"links":[{"overwrite":true,"path":"/etc/localtime",`+
		`"target":"../usr/share/zoneinfo/UTC"}]},`+
		`"systemd":{"units":[{"enabled":true,"name":"kubelet.service"},{"mask":true,`+
		`"name":"update-engine.service"}]}}`, string(got))
}

// TestOwners: Ignition looks up the name of an owner on the machine, and fails if there is none; it
// takes a number unchanged.
func TestOwners(t *testing.T) {
	t.Parallel()
	got, err := new(Packer).Pack(&node.Node{
		Dirs:  []node.Dir{{Path: "/var/lib/etcd", Mode: 0o700, User: "998", Group: "997"}},
		Files: []node.File{{Path: "/etc/pin", Mode: 0o600, User: "core", Group: "1000"}},
	}, 0)
	require.NoError(t, err)
	assert.Equal(t, `{"ignition":{"version":"3.4.0"},"storage":{`+
		`"directories":[{"group":{"id":997},"path":"/var/lib/etcd","user":{"id":998},"mode":448}],`+
		`"files":[{"group":{"id":1000},"overwrite":true,"path":"/etc/pin","user":{"name":"core"},`+
		`"contents":{"source":"data:,"},"mode":384}]}}`, string(got))
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		n    *node.Node
	}{
		{"empty", &node.Node{}},
		{"one of everything", full()},
		{"fifty files", nodeOfSize(50)},
		{"login", &node.Node{Login: "root", AuthorizedKeys: []string{"a", "b"}}},
		{"login without keys", &node.Node{Login: "root"}},
		{"owners by number", &node.Node{
			Dirs: []node.Dir{{Path: "/var/lib/etcd", Mode: 0o700, User: "232", Group: "233"}},
			Files: []node.File{{Path: "/a", User: "0", Group: "etcd"},
				{Path: "/b", User: "007", Group: "+7"}},
		}},
		{"hostname without newline",
			&node.Node{Files: []node.File{{Path: "/etc/hostname", Content: []byte("x")}}}},
		{"extra", &node.Node{
			Files: []node.File{{Path: "/etc/hosts", Mode: 0o644,
				Content: []byte("127.0.0.1 localhost\n")}},
			Units:          []node.Unit{{Name: "a.service", Enabled: true}},
			AuthorizedKeys: []string{"key"},
			Extra: []byte(
				`{"ignition":{"version":"3.4.0"},"kernelArguments":{"shouldExist":["quiet"]},` +
					`"passwd":{"groups":[{"name":"ops"}],"users":[{"name":"core",` +
					`"passwordHash":"x"},` +
					`{"name":"ops"}]},` +
					`"storage":{"disks":[{"device":"/dev/sdb","wipeTable":true}],` +
					`"files":[{"path":"/etc/hosts","append":[{"source":"data:,` +
					`10.0.0.1%20a%0A"}]}]},` +
					`"systemd":{"units":[{"mask":false,"name":"a.service"},{"enabled":false,` +
					`"name":"b.service"}]}}`),
		}},
	} {
		for _, limit := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, limit %d", c.name, limit), func(t *testing.T) {
				t.Parallel()
				doc, err := new(Packer).Pack(c.n, limit)
				require.NoError(t, err)
				got, err := new(Unpacker).Unpack(doc)
				require.NoError(t, err)
				if len(c.n.Extra) > 0 {
					assert.JSONEq(t, string(c.n.Extra), string(got.Extra))
					got.Extra = c.n.Extra
				}
				require.Equal(t, c.n.Delivered(), got)
				again, err := new(Packer).Pack(&got, limit)
				require.NoError(t, err)
				assert.Equal(t, string(doc), string(again), "packing what was unpacked")
			})
		}
	}
}

// contents are contents that break naive encodings.
var contents = map[string]string{
	"empty":              "",
	"only newlines":      "\n\n\n",
	"trailing newlines":  "a\n\n\n",
	"no newline":         "a",
	"command":            "$(reboot) `reboot` ${HOME}\n",
	"quotes":             "'\"\\\n",
	"percent":            "%n %20 %%\n",
	"plus and ampersand": "a+b&c;d#e?f\n",
	"NUL":                "a\x00b",
	"invalid UTF-8":      "\xff\xfe\x80",
	"100 KiB":            strings.Repeat("0123456789abcde\n", 6400),
	"100 KiB of bytes":   strings.Repeat("\x00\xff\x10\x80", 25600),
	"CRLF":               "a\r\nb\r\n",
	"tabs":               "\ta\t\n\t\n",
	"YAML marks":         "---\na\n...\n",
	"cloud-config":       "#cloud-config\n",
	"template":           "{{ x }}\n",
	"comma":              ",;base64,QQ==",
	"HTML":               "<a href=\"x\">&amp;</a>",
	"line separators":    "a\u2028b\u2029c\u0085d\ufeffe\n",
	"emoji":              "🙂\n",
}

func TestContents(t *testing.T) {
	t.Parallel()
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &node.Node{Files: []node.File{{Path: "/f", Content: []byte(content)}}}
			for _, limit := range []int{0, 1} {
				doc, err := new(Packer).Pack(n, limit)
				require.NoError(t, err)
				got, err := new(Unpacker).Unpack(doc)
				require.NoError(t, err)
				require.Equal(t, n.Delivered(), got)
			}
		})
	}
}

func TestDataURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"empty", "", "data:,"},
		{"bare", "aZ09!$&'()*+,-./:;=?@_~", "data:,aZ09!$&'()*+,-./:;=?@_~"},
		{"escaped", " \n\"#%<>[\\]^`{|}\x7f",
			"data:,%20%0A%22%23%25%3C%3E%5B%5C%5D%5E%60%7B%7C%7D%7F"},
		{"text stays text", "é é é é é é",
			"data:,%C3%A9%20%C3%A9%20%C3%A9%20%C3%A9%20%C3%A9%20%C3%A9"},
		{"bytes", strings.Repeat("\xff", 6), "data:;base64,////////"},
		{"bytes that are shorter as they are", "abcdefghij\xff", "data:,abcdefghij%FF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, dataURL([]byte(c.content)))
		})
	}
}

func TestStub(t *testing.T) {
	t.Parallel()
	n := nodeOfSize(50)
	plain, err := new(Packer).Pack(n, 0)
	require.NoError(t, err)

	same, err := new(Packer).Pack(n, len(plain))
	require.NoError(t, err)
	assert.Equal(t, plain, same, "a document that fits is not compressed")

	doc, err := new(Packer).Pack(n, len(plain)-1)
	require.NoError(t, err)
	again, err := new(Packer).Pack(n, len(plain)-1)
	require.NoError(t, err)
	assert.Equal(t, doc, again)
	cfg, r, err := v3_4.Parse(doc)
	require.NoError(t, err)
	assert.Empty(t, r.Entries)
	inner, err := innerConfig(cfg.Ignition.Config.Replace)
	require.NoError(t, err)
	assert.Equal(t, string(plain), string(inner))
	assert.Less(t, len(doc), len(plain))
}

func FuzzRoundTrip(f *testing.F) {
	for _, content := range contents {
		f.Add([]byte(content), "/etc/x y", uint32(0o644), "root", "etcd")
	}
	f.Fuzz(func(t *testing.T, content []byte, p string, mode uint32, user, group string) {
		n := &node.Node{Files: []node.File{{Path: p, Mode: mode, User: user, Group: group,
			Content: content}}}
		doc, err := new(Packer).Pack(n, len(content)%2)
		text := utf8.ValidString(p) && utf8.ValidString(user) && utf8.ValidString(group) &&
			!strings.Contains(p+user+group, "\x00")
		if !text || !path.IsAbs(p) || path.Clean(p) != p || mode > 0o777 {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		got, err := new(Unpacker).Unpack(doc)
		require.NoError(t, err)
		require.Equal(t, n.Delivered(), got)
	})
}

func BenchmarkPack(b *testing.B) {
	for _, c := range []struct {
		name         string
		files, limit int
	}{
		{"control plane, 50 files", 50, 0},
		{"control plane, 50 files, stub", 50, 1},
		{"worker, 25 files", 25, 0},
		{"worker, 25 files, stub", 25, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := nodeOfSize(c.files)
			doc, err := new(Packer).Pack(n, c.limit)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := new(Packer).Pack(n, c.limit); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(doc)), "doc-bytes")
		})
	}
}

package ignition

import (
	"bytes"
	"fmt"
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

// TestRoundTrip: what cloud-init has no counterpart of; TestRoundTrip of cloudinit has the rest.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		n    *node.Node
	}{
		{"owners by number", &node.Node{
			Dirs: []node.Dir{{Path: "/var/lib/etcd", Mode: 0o700, User: "232", Group: "233"}},
			Files: []node.File{{Path: "/a", User: "0", Group: "etcd"},
				{Path: "/b", User: "007", Group: "+7"}},
		}},
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
	n := full()
	n.Files[0].Content = bytes.Repeat(n.Files[0].Content, 100)
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
	for _, content := range []string{"", "a\n\n", "\xff\xfe\x80", "a+b&c;d#e?f\n", "%n %20 %%\n"} {
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

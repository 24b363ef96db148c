package cloudinit_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln/render/cloudinit"
	"kiln/render/ignition"
	"kiln/render/node"
)

// full is a machine that has one of everything.
func full() *node.Node {
	return &node.Node{
		Name:  "cp-1",
		Role:  node.ControlPlane,
		Users: []node.User{{Name: "etcd", ID: 2379, Home: "/var/lib/etcd"}, {Name: "probe", ID: 990}},
		Dirs:  []node.Dir{{Path: "/etc/etcd/pki", Mode: 0o750, User: "root", Group: "etcd"}, {Path: "/etc/kubernetes", Mode: 0o755}},
		Files: []node.File{
			{Path: "/etc/etcd/pki/ca.crt", Mode: 0o640, Group: "etcd", Content: []byte("-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n")},
			{Path: "/etc/hostname", Mode: 0o644, Content: []byte("cp-1\n"), Why: "the machine's name"},
			{Path: "/etc/kubernetes/empty", Mode: 0},
			{Path: "/etc/kubernetes/key", Mode: 0o600, Content: []byte{0, 255}, Secret: "key g1"},
			{Path: "/etc/systemd/system/kubelet.service", Mode: 0o600, Content: []byte("[Service]\nExecStart=/usr/bin/kubelet \"$A\" & <x>\n")},
		},
		Links:          []node.Link{{Path: "/etc/localtime", Target: "../usr/share/zoneinfo/UTC"}},
		Units:          []node.Unit{{Name: "containerd.service", Started: true}, {Name: "kubelet.service", Enabled: true, Started: true}, {Name: "update-engine.service", Masked: true}},
		AuthorizedKeys: []string{"ssh-ed25519 AAAA you@example"},
		NetworkConfig:  []byte("version: 2\n"),
	}
}

// sized is a machine with this many files of the size and kind that a control plane has.
func sized(files int) *node.Node {
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
				fmt.Fprintf(&b, "    - --flag-%d-%d=/etc/kubernetes/pki/value-%d\n", i, line, r.IntN(1000))
			}
		}
		n.Files = append(n.Files, node.File{Path: fmt.Sprintf("/etc/kubernetes/pki/file-%d", i), Mode: 0o600, Content: []byte(b.String())})
	}
	n.Sort()
	return n
}

func TestPack(t *testing.T) {
	t.Parallel()
	got, err := cloudinit.Pack(full(), 0, false)
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

func TestMetaData(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "instance-id: \"12:30\"\nlocal-hostname: \"no\"\n", string(cloudinit.MetaData("no", "12:30")))
	assert.Equal(t, "instance-id: \"a\"\n", string(cloudinit.MetaData("", "a")), "the machines of a pool have no name in common")
}

// machines are the cases of every test that packs and unpacks.
var machines = []struct {
	name string
	n    *node.Node
}{
	{"empty", &node.Node{}},
	{"one of everything", full()},
	{"fifty files", sized(50)},
	{"login", &node.Node{Login: "ops", AuthorizedKeys: []string{"a", "b"}}},
	{"login without keys", &node.Node{Login: "ops"}},
	{"hostname without newline", &node.Node{Files: []node.File{{Path: "/etc/hostname", Content: []byte("x")}}}},
	{"words for the shell", &node.Node{
		Dirs:  []node.Dir{{Path: "/$(reboot)/`a`/'b'/\"c\"/\n/-d", Mode: 0o700}},
		Files: []node.File{{Path: "/etc/a b:c #d", Mode: 0o644}, {Path: "/etc/~", Mode: 0o644}, {Path: "/no", Mode: 0o644}},
		Links: []node.Link{{Path: "/etc/$HOME;reboot", Target: "-x 'y' \"z\" \\"}, {Path: "/x", Target: "=1"}},
		Units: []node.Unit{{Name: `dev-disk-by\x2dlabel-A.swap`, Masked: true}, {Name: "a@b:c.service", Enabled: true}},
	}},
	{"contents", adversarial()},
}

// contents are those that break naive encodings.
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
}

// adversarial is a machine with every one of contents.
func adversarial() *node.Node {
	n := &node.Node{}
	for name, content := range contents {
		n.Files = append(n.Files, node.File{Path: "/" + name, Mode: 0o600, Content: []byte(content)})
	}
	n.Sort()
	return n
}

// TestRoundTrip packs in both formats, long and short: all unpack to the same machine.
// TestOwners: cloud-init writes no file whose owner is a number, so the file is given away afterwards.
func TestOwners(t *testing.T) {
	t.Parallel()
	n := &node.Node{
		Dirs: []node.Dir{{Path: "/var/lib/etcd", Mode: 0o700, User: "232", Group: "233"}},
		Files: []node.File{
			{Path: "/a", User: "0", Group: "etcd"}, {Path: "/b"}, {Path: "/etc/pin", Mode: 0o600, User: "core", Group: "1000"},
		},
	}
	doc, err := cloudinit.Pack(n, 0, false)
	require.NoError(t, err)
	require.Contains(t, string(doc), "\n  owner: \"root:root\"\n")
	require.Contains(t, commands(t, n, "runcmd"), []string{"chown", "--", "core:1000", "/etc/pin"})
	got, err := cloudinit.Unpack(doc)
	require.NoError(t, err)
	require.Equal(t, n.Delivered(), got)
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range machines {
		for _, form := range []struct {
			limit int
			text  bool
		}{{0, false}, {1, false}, {1, true}} {
			limit := form.limit
			t.Run(fmt.Sprintf("%s, limit %d, text %v", c.name, limit, form.text), func(t *testing.T) {
				t.Parallel()
				doc, err := cloudinit.Pack(c.n, limit, form.text)
				require.NoError(t, err)
				got, err := cloudinit.Unpack(doc)
				require.NoError(t, err)
				require.Equal(t, c.n.Delivered(), got)

				doc, err = ignition.Pack(c.n, limit)
				require.NoError(t, err)
				other, err := ignition.Unpack(doc)
				require.NoError(t, err)
				require.Equal(t, got, other, "Ignition and cloud-init")
			})
		}
	}
}

func TestCompressed(t *testing.T) {
	t.Parallel()
	n := sized(50)
	plain, err := cloudinit.Pack(n, 0, false)
	require.NoError(t, err)

	same, err := cloudinit.Pack(n, len(plain), false)
	require.NoError(t, err)
	assert.Equal(t, string(plain), string(same), "a document that fits is not compressed")

	doc, err := cloudinit.Pack(n, len(plain)-1, false)
	require.NoError(t, err)
	again, err := cloudinit.Pack(n, len(plain)-1, false)
	require.NoError(t, err)
	assert.Equal(t, doc, again)
	assert.Equal(t, []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}, doc[:8], "no name, no time")
	assert.Less(t, len(doc), len(plain))

	text, err := cloudinit.Pack(n, len(plain)-1, true)
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

func TestPackErrors(t *testing.T) {
	t.Parallel()
	file := func(f node.File) node.Node { return node.Node{Files: []node.File{f}} }
	for _, c := range []struct {
		name string
		n    node.Node
		want string
	}{
		{"extra", node.Node{Extra: []byte("{}")}, "extra Ignition config: cloud-init has no counterpart"},
		{"relative path", file(node.File{Path: "etc/x"}), `file "etc/x": not an absolute, clean path`},
		{"unclean path", file(node.File{Path: "/etc/../x"}), `file "/etc/../x": not an absolute, clean path`},
		{"path of bytes", file(node.File{Path: "/\xff"}), `file "/\xff": not an absolute, clean path`},
		{"path with NUL", file(node.File{Path: "/a\x00"}), `file "/a\x00": not an absolute, clean path`},
		{"same path twice", node.Node{Files: []node.File{{Path: "/a"}}, Dirs: []node.Dir{{Path: "/a"}}}, `file "/a": something else has this path`},
		{"special bits", file(node.File{Path: "/a", Mode: 0o4755}), "file /a: mode 04755 is more than permission bits"},
		{"directory's mode", node.Node{Dirs: []node.Dir{{Path: "/a", Mode: 0o1777}}}, "directory /a: mode 01777 is more than permission bits"},
		{"owner with colon", file(node.File{Path: "/a", User: "a:b"}), `file /a: "a:b" is not a user's or group's name`},
		{"owner with a zero in front", file(node.File{Path: "/a", User: "007"}), `file /a: "007" is not a user's or group's name`},
		{"owner that means nobody's", file(node.File{Path: "/a", Group: "None"}), `file /a: "None" is not a user's or group's name`},
		{"option as owner", node.Node{Dirs: []node.Dir{{Path: "/a", User: "-x"}}}, `directory /a: "-x" is not a user's or group's name`},
		{"user without name", node.Node{Users: []node.User{{}}}, `user "": no name`},
		{"user twice", node.Node{Users: []node.User{{Name: "a", ID: 1}, {Name: "a", ID: 2}}}, "user a: stands there twice"},
		{"unit twice", node.Node{Units: []node.Unit{{Name: "a.service", Enabled: true}, {Name: "a.service"}}}, "unit a.service: stands there twice"},
		{"login", node.Node{Login: "a b", AuthorizedKeys: []string{"k"}}, `login: "a b" is not a user's or group's name`},
		{"key of bytes", node.Node{AuthorizedKeys: []string{"\xff"}}, `ssh key "\xff": not text`},
		{"no target", node.Node{Links: []node.Link{{Path: "/a"}}}, `link /a: "" is not a target`},
		{"unit as path", node.Node{Units: []node.Unit{{Name: "/a.service"}}}, `unit "/a.service": not a unit's name`},
		{"unit as pattern", node.Node{Units: []node.Unit{{Name: "*.service"}}}, `unit "*.service": not a unit's name`},
		{"masked and started", node.Node{Units: []node.Unit{{Name: "a.service", Started: true, Masked: true}}}, "unit a.service: masked, and to be started too"},
		{"masked and written", node.Node{Units: []node.Unit{{Name: "a.service", Masked: true}}, Files: []node.File{{Path: "/etc/systemd/system/a.service"}}}, "unit a.service: masked, but its text is among the files"},
		{"MIME in a path", file(node.File{Path: "/Mime-Version: 1.0"}), "cloud-init would take the document for a MIME message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := cloudinit.Pack(&c.n, 0, false)
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
	aliases := "bootcmd: [&a [" + strings.Repeat("x,", 1000) + "x]" + strings.Repeat(", *a", 1000) + "]\n"
	entry := func(lines string) string { return "#cloud-config\nwrite_files:\n- path: /a\n" + lines }
	for _, c := range []struct{ name, doc, want string }{
		{"nothing", "", "does not begin with the line #cloud-config"},
		{"script", "#!/bin/sh\n", "does not begin with the line #cloud-config"},
		{"not YAML", "#cloud-config\n[", "yaml: "},
		{"cut off", zip([]byte("#cloud-config\n"))[:20], "decompress: "},
		{"too large", zip(make([]byte, 64<<20+1)), "larger than 67108864 bytes"},
		{"unknown key", "#cloud-config\npackages: [x]\n", "field packages not found"},
		{"unknown first-boot command", "#cloud-config\nruncmd: [[reboot]]\n", `runcmd: unknown command "reboot"`},
		{"empty command", "#cloud-config\nruncmd: [[]]\n", "runcmd: an empty command"},
		{"unknown command of every boot", "#cloud-config\nbootcmd: [[reboot]]\n", `bootcmd: unknown command "reboot"`},
		{"changed install", "#cloud-config\nbootcmd: [[install, -d, -m, '0700', -o, a, -g, b, '++', /c]]\n", "bootcmd: unknown command"},
		{"users of another kind", "#cloud-config\nusers: {1: b}\n", "a key or value that JSON does not have"},
		{"secret argument", "#cloud-config\nruncmd: [[login, hunter2]]\n", `runcmd: unknown command "login"`},
		{"secret value", "#cloud-config\nruncmd: hunter2\n", "line 2: cannot unmarshal !!str into []cloudinit.argv"},
		{"too many values", "#cloud-config\nruncmd: [" + strings.Repeat(",", 1<<20) + "]\n", "more than 1048576 lines and values"},
		{"too many aliases", "#cloud-config\n" + aliases, "yaml: document contains excessive aliasing"},
		{"too deep", "#cloud-config\nruncmd: " + strings.Repeat("[", 20000) + "\n", "exceeded max depth of 10000"},
		{"owner", entry("  owner: root\n  permissions: '0644'\n"), `file /a: owner "root" is not user:group`},
		{"mode", entry("  owner: a:b\n  permissions: '0888'\n"), `file /a: "0888" is not a mode in octal`},
		{"encoding", entry("  owner: a:b\n  permissions: '0644'\n  encoding: gz\n  content: x\n"), `file /a: unknown encoding "gz"`},
		{"base64", entry("  owner: a:b\n  permissions: '0644'\n  encoding: b64\n  content: '!'\n"), "file /a: illegal base64 data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := cloudinit.Unpack([]byte(c.doc))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestYAML11 lets PyYAML, which cloud-init uses, read every document, and cloud-init's own rules decode the files.
func TestYAML11(t *testing.T) {
	t.Parallel()
	// Debian's interpreter, for which its packages are installed.
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import yaml").Run(); err != nil {
		t.Skip("python3-yaml is not installed")
	}
	// Random texts of the characters on which YAML's versions and parsers differ.
	r := rand.New(rand.NewPCG(3, 4))
	alphabet := []rune("ab \t\n\r\"'\\#:-|>%{}[]!&*?,@`~=<.0\u0085\u00a0\u2028\u2029\ufeff\ufffd🙂")
	random := &node.Node{}
	for i := range 3000 {
		text := make([]rune, r.IntN(12))
		for k := range text {
			text[k] = alphabet[r.IntN(len(alphabet))]
		}
		random.Files = append(random.Files, node.File{Path: fmt.Sprintf("/%04d", i), Mode: 0o640, Content: []byte(string(text))})
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
json.dump({"files": files, "runcmd": doc["runcmd"], "bootcmd": doc.get("bootcmd", [])}, sys.stdout)
`
	for _, c := range append(machines[:len(machines):len(machines)], struct {
		name string
		n    *node.Node
	}{"random texts", random}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := cloudinit.Pack(c.n, 0, false)
			require.NoError(t, err)
			cmd := exec.Command(python, "-c", script)
			cmd.Stdin = bytes.NewReader(doc)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err)
			var got struct {
				Files           []node.File
				Runcmd, Bootcmd [][]string
			}
			require.NoError(t, json.Unmarshal(out, &got))
			want := c.n.Delivered()
			require.Len(t, got.Files, len(want.Files))
			for i, f := range want.Alike() {
				require.Equal(t, f, got.Files[i])
			}
			var words []string
			for _, command := range append(got.Runcmd, got.Bootcmd...) {
				words = append(words, command...)
			}
			for _, l := range c.n.Links {
				assert.Contains(t, words, l.Path)
				assert.Contains(t, words, l.Target)
			}
			for _, d := range c.n.Dirs {
				assert.Contains(t, words, d.Path)
			}
		})
	}
}

// commands returns the lists of words in the given part of n's document.
func commands(t *testing.T, n *node.Node, part string) [][]string {
	t.Helper()
	doc, err := cloudinit.Pack(n, 0, false)
	require.NoError(t, err)
	var c map[string]any
	require.NoError(t, yaml.Unmarshal(doc, &c))
	var out [][]string
	for _, command := range c[part].([]any) {
		var words []string
		for _, word := range command.([]any) {
			words = append(words, word.(string))
		}
		out = append(out, words)
	}
	return out
}

// TestLinkCommand runs what makes a link: with nothing in its place, with a file there, and with a link to nowhere.
func TestLinkCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, dangling := filepath.Join(dir, "file"), filepath.Join(dir, "dangling")
	require.NoError(t, os.WriteFile(file, []byte("kept"), 0o600))
	require.NoError(t, os.Symlink("nowhere", dangling))
	missing := filepath.Join(dir, "-new folder", "$(touch injected); 'x' \"y\"\nz")
	for _, command := range commands(t, &node.Node{Links: []node.Link{
		{Path: missing, Target: "-target `x`"}, {Path: file, Target: "new"}, {Path: dangling, Target: "new"},
	}}, "runcmd") {
		if command[0] == "sh" {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	for name, want := range map[string]string{missing: "-target `x`", dangling: "nowhere"} {
		got, err := os.Readlink(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(kept))
	assert.NoFileExists(t, filepath.Join(dir, "injected"))
}

// TestUserCommand runs what makes a user twice, with stand-ins for the tools that note their arguments.
func TestUserCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"getent":   `grep -q "^$1 $2$" "$DIR/known"`,
		"groupadd": `shift 3; echo "group $1" >>"$DIR/known"; echo "groupadd $1" >>"$DIR/log"`,
		"useradd":  `for last; do :; done; echo "passwd $last" >>"$DIR/known"; echo "useradd $*" >>"$DIR/log"`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	for range 2 {
		for _, command := range commands(t, &node.Node{Users: []node.User{{Name: "etcd", ID: 2379, Home: "/var/a b"}, {Name: "probe", ID: 990}}}, "bootcmd") {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = []string{"DIR=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	assert.Equal(t, `groupadd etcd
useradd --system --uid 2379 --gid etcd --no-create-home --home-dir /var/a b --shell /usr/sbin/nologin etcd
groupadd probe
useradd --system --uid 990 --gid probe --no-create-home --shell /usr/sbin/nologin probe
`, string(log))
}

// TestSchema asks cloud-init itself. It only reads the documents.
func TestSchema(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("cloud-init"); err != nil {
		t.Skip("cloud-init is not installed")
	}
	for _, c := range machines {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := cloudinit.Pack(c.n, 0, false)
			require.NoError(t, err)
			name := filepath.Join(t.TempDir(), "user-data")
			require.NoError(t, os.WriteFile(name, doc, 0o600))
			out, err := exec.Command("cloud-init", "schema", "--config-file", name).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Regexp(t, `^Valid (cloud-config|schema).*\n$`, string(out))
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, content := range contents {
		f.Add([]byte(content), "/etc/x y", uint32(0o644), "root", "etcd")
	}
	account := regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*\$?)?$`)
	isAccount := func(name string) bool { return account.MatchString(name) && !strings.EqualFold(name, "none") }
	f.Fuzz(func(t *testing.T, content []byte, p string, mode uint32, user, group string) {
		n := &node.Node{
			Files: []node.File{{Path: p, Mode: mode, User: user, Group: group, Content: content}},
			Dirs:  []node.Dir{{Path: p + ".d", Mode: mode, User: user, Group: group}},
			Links: []node.Link{{Path: p + ".l", Target: p}},
		}
		doc, err := cloudinit.Pack(n, len(content)%2, len(content)%4 == 1)
		valid := utf8.ValidString(p) && !strings.Contains(p, "\x00") && path.IsAbs(p) && path.Clean(p) == p && path.Clean(p+".d") == p+".d" &&
			mode <= 0o777 && isAccount(user) && isAccount(group) && !strings.Contains(strings.ToLower(p), "mime-version:")
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
		doc, err = ignition.Pack(n, len(content)%2)
		require.NoError(t, err)
		other, err := ignition.Unpack(doc)
		require.NoError(t, err)
		require.Equal(t, got, other)
	})
}

func BenchmarkPack(b *testing.B) {
	for _, c := range []struct {
		name         string
		files, limit int
	}{
		{"control plane, 50 files", 50, 0},
		{"control plane, 50 files, compressed", 50, 1},
		{"worker, 25 files", 25, 0},
		{"worker, 25 files, compressed", 25, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := sized(c.files)
			doc, err := cloudinit.Pack(n, c.limit, false)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cloudinit.Pack(n, c.limit, false); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(doc)), "doc-bytes")
		})
	}
}

// TestBeginAgain runs what lets a first boot be repeated, on folders of its own: marks go only while the machine has
// not verified its files.
func TestBeginAgain(t *testing.T) {
	t.Parallel()
	n := &node.Node{Files: []node.File{{Path: "/a", Mode: 0o600}}}
	command := commands(t, n, "bootcmd")[0]
	dir := t.TempDir()
	sem := filepath.Join(dir, "var/lib/cloud/instance/sem")
	script := strings.NewReplacer("/var/lib", dir+"/var/lib").Replace(command[2])
	marks := func() (names []string) {
		entries, err := os.ReadDir(sem)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	run := func() {
		out, err := exec.Command(command[0], command[1], script).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	all := []string{"config_growpart", "config_runcmd", "config_scripts_user", "config_write_files"}
	write := func() {
		require.NoError(t, os.MkdirAll(sem, 0o700))
		for _, name := range all {
			require.NoError(t, os.WriteFile(filepath.Join(sem, name), nil, 0o600))
		}
	}
	write()
	run()
	require.Equal(t, []string{"config_growpart"}, marks())
	write()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "var/lib/kiln"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "var/lib/kiln/state"), nil, 0o600))
	run()
	require.Equal(t, all, marks())
}

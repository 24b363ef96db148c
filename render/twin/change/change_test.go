package change

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/plan"
)

// shownFields returns fields as text, a line each.
func shownFields(list []Field) string {
	var b strings.Builder
	for _, f := range list {
		old, new := "-", "-"
		if f.Old != nil {
			old = "[" + *f.Old + "]"
		}
		if f.New != nil {
			new = "[" + *f.New + "]"
		}
		fmt.Fprintf(&b, "%s: %s %s\n", f.Name, old, new)
	}
	return b.String()
}

// TestContents: files are compared by their format.
func TestContents(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ path, old, new, want string }{
		"a value": {"/a.yaml", "a: 1\nb: 2\n", "a: 1\nb: 3\n", "b: [2] [3]\n"},
		"a key that came": {"/a.yaml", "a: {}\n", "a: {b.c: true}\n",
			"a[b.c]: - [true]\n"},
		"a key that went": {"/a.yaml", "a: {b: {c: 1}}\n", "a: {}\n",
			"a.b: [{\"c\":1}] -\n"},
		"null": {"/a.yaml", "a: null\n", "a: \"\"\n", "a: [null] [\"\"]\n"},
		"a flag": {"/a.yaml", "command: [x, --a=1, --b=2]\n", "command: [x, --b=3, --c]\n",
			"command --a: [1] -\ncommand --b: [2] [3]\ncommand --c: - [set]\n"},
		"a list in a flag": {"/a.yaml", "command: [x, '--a=1,2']\n",
			"command: [x, '--a=2,3']\n", "command --a: [1] -\ncommand --a: - [3]\n"},
		"a repeated flag": {"/a.yaml", "command: [--a=1, --a=2]\n",
			"command: [--a=2, --a=1]\n", "command --a: [1 2] [2 1]\n"},
		"a word of a command": {"/a.yaml", "command: [x, --a=1]\n", "command: [z, --a=1]\n",
			"command argument 0: [x] [z]\n"},
		"objects by name": {"/a.yaml", "l: [{name: a, v: 1}, {name: b}]\n",
			"l: [{name: b}, {name: a, v: 2}]\n", "l[a].v: [1] [2]\n"},
		"objects by place": {"/a.yaml", "l: [{v: 1}]\n", "l: [{v: 2}, {v: 3}]\n",
			"l[0].v: [1] [2]\nl[1]: - [{\"v\":3}]\n"},
		"the order of a list": {"/a.yaml", "l: [a, b]\n", "l: [b, a]\n", "l: [a b] [b a]\n"},
		"YAML in YAML": {"/a.yaml", "data:\n  c: |\n    a: 1\n    b: 2\n",
			"data:\n  c: |\n    a: 1\n    b: 3\n", "data.c.b: [2] [3]\n"},
		"text in YAML": {"/a.yaml", "data:\n  c: |\n    a {\n    b\n",
			"data:\n  c: |\n    a {\n    d\n", "data.c: [b] -\ndata.c: - [d]\n"},
		"form alone": {"/a.yaml", "{a: 1}\n", "a: 1\n",
			": [{a: 1}] -\n: - [a: 1]\n"},
		"no YAML": {"/a.yaml", "a: [\n", "a: ]\n", ": [a: [] -\n: - [a: ]]\n"},
		"several documents": {"/a.yaml", "a: 1\n---\nb: 1\n", "a: 1\n---\nb: 2\n",
			": [b: 1] -\n: - [b: 2]\n"},
		"JSON": {"/a.conflist", `{"a":[1,2]}`, `{"a":[1,3]}`,
			"a: [2] -\na: - [3]\n"},
		"a unit": {"/u.service", "[Service]\nA=1\nB=2\n",
			"[Service]\nA=1\nB=3\n", "[Service] B: [2] [3]\n"},
		"a repeated directive": {"/u.service", "[Service]\nA=1\n", "[Service]\nA=1\nA=2\n",
			"[Service] A: - [2]\n"},
		"a command of a unit": {"/u.service", "[Service]\nExecStart=/x --a=1 \\\n  --b=2\n",
			"[Service]\nExecStart=/x --a=1 \\\n  --b=3\n", "[Service] ExecStart --b: [2] [3]\n"},
		"sysctls": {"/etc/sysctl.d/90-kiln.conf", "a.b = 1\n", "a.b = 2\nc=1\n",
			"a.b: [1] [2]\nc: - [1]\n"},
		"the hook's data": {"/etc/kiln/machine", "a='x y'\nb=''\n", "a='y z'\nb='1'\n",
			"a: [x] -\na: - [z]\nb: [\"\"] [1]\n"},
		"a check": {"/etc/kiln/checks", "a|stop|x 1|do\n",
			"a|warn|x 2|do\nb|stop|y|go\n",
			"a: [1] [2]\nb: - [y]\na level: [stop] [warn]\n"},
		"versions in a check": {"/etc/kiln/checks", "kubelet|stop|version /x v1.35 v1.36|do\n",
			"kubelet|stop|version /x v1.36 v1.37|do\n", "kubelet: [v1.35 v1.36] [v1.36 v1.37]\n"},
		"images in a check": {"/etc/kiln/checks", "images|wait|images r a b|do\n",
			"images|wait|images r c b|do\n", "images: [a] -\nimages: - [c]\n"},
		"another check by the same name": {"/etc/kiln/checks", "a|stop|x 1|do\n",
			"a|stop|y|do\n", "a: [x 1] [y]\n"},
		"text": {"/etc/motd", "a\nb\n", "a\nc\n", ": [b] -\n: - [c]\n"},
		"the end of a text": {"/etc/motd", "a", "a\n",
			": [(the same in another order or form)] []\n"},
		"not text": {"/x", "\xff", "\xff\xff",
			"content: [1 bytes, not text] [2 bytes, not text]\n"},
		"a program of the hook": {"/etc/kiln/boot", "a\n", "b\nc\n",
			"program: [1 lines] [2 others]\n"},
		"an escape": {"/etc/motd", "a\n", "\x1b[31m\n",
			": [a] -\n: - [\x1b[31m]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := differences(Key{"file", row.path}, &Entry{Content: []byte(row.old)},
				&Entry{Content: []byte(row.new)})
			require.Equal(t, row.want, shownFields(got))
		})
	}
}

// TestDeepContents: values below a very long path are compared whole, because each field would hold
// the path.
func TestDeepContents(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ open, end string }{
		"maps":                   {"{a: ", "}"},
		"lists":                  {"[", "]"},
		"lists of named objects": {"[{name: b, a: ", "}]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deep := func(value string) *Entry {
				values := strings.Repeat(fmt.Sprintf("{b: %s},", value), 100)
				return &Entry{Content: []byte(strings.Repeat(row.open, 1100) +
					"[" + values + "]" + strings.Repeat(row.end, 1100))}
			}
			list := differences(Key{"file", "/a.yaml"}, deep("1"), deep("2"))
			require.Len(t, list, 1)
			require.Less(t, len(list[0].Name), 4096)
			require.Contains(t, *list[0].New, `{"b":2}`)
		})
	}
}

// TestShown: the lines in place of a content are compared by their parts.
func TestShown(t *testing.T) {
	t.Parallel()
	const cert = "certificate apiserver/cp-1 g1: subject CN=a; issuer CN=k; for server; " +
		"from 2026; until 2027; ECDSA; names a,b"
	for name, row := range map[string]struct{ old, new, want string }{
		"names": {cert, strings.Replace(cert, "a,b", "b,c", 1),
			"certificate names: [a] -\ncertificate names: - [c]\n"},
		"generation": {cert, strings.Replace(cert, "g1", "g2", 1),
			"certificate: [apiserver g1] [apiserver g2]\n"},
		"another CA": {cert, strings.Replace(cert, "CN=k", "CN=l", 1),
			"certificate issuer: [CN=k] [CN=l]\n"},
		"kind of key": {cert, strings.Replace(cert, "ECDSA", "RSA", 1),
			"certificate key: [ECDSA] [RSA]\n"},
		"other lines": {"<a>", "<b>", ": [<a>] -\n: - [<b>]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := differences(Key{"file", "/x"}, &Entry{Shown: []string{row.old}},
				&Entry{Shown: []string{row.new}})
			require.Equal(t, row.want, shownFields(got))
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for want, row := range map[string][2][]string{
		"":                                    {},
		"a-1":                                 {{"a-1"}},
		"a-1, a-2":                            {{"a-1", "a-2"}},
		"a-1 … a-3":                           {{"a-1", "a-2", "a-3"}},
		"4 machines: a-1, a-3, b-3, x":        {{"a-1", "a-3", "b-3", "x"}},
		"5 machines: a-8 … a-10, b-1, b-2":    {{"a-8", "a-9", "a-10", "b-1", "b-2"}},
		"a-1, pool p":                         {{"a-1"}, {"p"}},
		"a-1, a-99999999999999999999, pool p": {{"a-1", "a-99999999999999999999"}, {"p"}},
	} {
		require.Equal(t, want, Names(row[0], row[1]))
	}
}

// oneMachine returns the state of a cluster with one worker.
func oneMachine(version string) *Cluster {
	return &Cluster{
		Name: "c", UUID: "00000000-0000-0000-0000-000000000000", Version: version,
		Machines: []*Machine{{
			Name: "a", Role: "worker", OS: "flatcar", Platform: "metal", Format: "ignition",
			Properties: Properties{{"kubelet", "v1.36.3"}, {"until", "2027"}},
		}},
	}
}

// TestMarkdownTitles: a name in the title of a section makes no image, link or HTML in a comment.
func TestMarkdownTitles(t *testing.T) {
	t.Parallel()
	old, now := oneMachine("v1.36.3"), oneMachine("v1.36.4")
	now.Name = "![x](https://h/p.png)<b>`*_"
	added := *now.Machines[0]
	added.Name, added.OS = "b", "[y](z)"
	now.Machines = append(now.Machines, &added)
	text := Compare(old, now).Text(Form{Markdown: true})
	require.Contains(t, text, "**cluster \\!\\[x\\](https://h/p.png)\\<b\\>\\`\\*\\_**\n")
	require.Contains(t, text, `worker \[y\](z) metal**`)
	text = Compare(old, now).Text(Form{})
	require.Contains(t, text, "cluster ![x](https://h/p.png)<b>`*_\n")
}

// TestLabel: a label of a machine is one with which its kubelet registers the Node.
func TestLabel(t *testing.T) {
	t.Parallel()
	machine := func(unit string) *Machine {
		key := Key{"file", plan.KubeletDropIn}
		return &Machine{Entries: Entries{{Key: key, Content: []byte(unit)}}}
	}
	m := machine("[Service]\nExecStart=\nExecStart=kubelet \\\n" +
		"  --node-labels=a=b,example.com/empty=,zone=eu-1\n")
	for key, want := range map[string]string{
		"a": "b", "zone": "eu-1", "example.com/empty": "", "zon": "", "": "",
	} {
		require.Equal(t, want, m.Label(key), key)
	}
	require.Empty(t, machine("[Service]\nExecStart=kubelet\n").Label("a"))
	require.Empty(t, (&Machine{}).Label("a"))
}

// TestRemoved: only what the newer state lacks is removed.
func TestRemoved(t *testing.T) {
	t.Parallel()
	old, new := oneMachine("v1.36.3"), oneMachine("v1.36.3")
	require.Empty(t, Compare(old, new).Removed())
	new.Machines[0].Name = "other"
	require.Equal(t, old.Machines, Compare(old, new).Removed())
}

package verify_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/fleet/verify"
)

const (
	hosts  = "/etc/hosts"
	etcd   = "/etc/kubernetes/manifests/etcd.yaml"
	unit   = "/etc/systemd/system/kiln.service"
	dropIn = "/etc/systemd/system/containerd.service.d/10-kiln.conf"
	token  = "/etc/kubernetes/bootstrap-kubelet.conf"
	wants  = "/etc/systemd/system/multi-user.target.wants/kiln.service"
	client = "/var/lib/kubelet/pki/kubelet-client-current.pem"

	manifest = "- --initial-cluster=a=https://10.0.0.1:2380\n- --initial-cluster-state=new\n"
)

// machine returns a document of one of each.
func machine() *node.Node {
	n := &node.Node{
		Name: "cp-1",
		Dirs: []node.Dir{{Path: "/var/lib/etcd", Mode: 0o700, User: "etcd", Group: "etcd"}},
		Files: []node.File{
			{Path: node.List, Mode: 0o600, Content: []byte("end\n")},
			{Path: "/etc/kiln/machine", Mode: 0o600,
				Content: []byte("node='cp-1'\nretire='" + token + " /var/lib/cloud/*'\n")},
			{Path: hosts, Mode: 0o644, Content: []byte("127.0.0.1 localhost\n")},
			{Path: etcd, Mode: 0o600, Content: []byte(manifest)},
			{Path: unit, Mode: 0o644}, {Path: dropIn, Mode: 0o644},
			{Path: token, Mode: 0o600, Content: []byte("token\n")},
		},
		Links: []node.Link{{Path: wants, Target: "../kiln.service"},
			{Path: client, Target: "kubelet-client-kiln.pem"}},
		Units: []node.Unit{{Name: "kiln.service", Enabled: true},
			{Name: "swap.target", Masked: true}},
	}
	d := n.Delivered()
	d.Name = "cp-1"
	return &d
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func encode(text string) string { return hex.EncodeToString([]byte(text)) }

// listed returns the listing of the machine that is as its document says.
func listed(n *node.Node) string {
	var b strings.Builder
	list := sum(string(n.File(node.List).Content))
	fmt.Fprintf(&b, "kiln-listing 2\nlist %s\nmade %[1]s\ndone yes\n", list)
	for _, d := range n.Dirs {
		fmt.Fprintf(&b, "is %x 232:232 %s:%s .%s\n", 0o40000|d.Mode, d.User, d.Group, d.Path)
	}
	for _, f := range n.Files {
		if f.Path == token {
			fmt.Fprintf(&b, "none %s\n", token)
			continue
		}
		b.WriteString(listedFile(string(f.Content), f.Mode, f.Path))
		if f.Path == etcd {
			fmt.Fprintf(&b, "alike %s\n", joined)
		}
	}
	for _, l := range n.Links {
		fmt.Fprintf(&b, "link %s %s\n", encode(l.Target), l.Path)
	}
	fmt.Fprintf(&b, "units %s\n", encode(shown))
	fmt.Fprintf(&b, "dropin %s\npod %s\nend\n", encode(dropIn), encode(etcd))
	return b.String()
}

// joined is the SHA-256 of the manifest without what the hook of a member that joins writes to it.
var joined = sum("- --initial-cluster=\n- --initial-cluster-state=new\n")

// listedFile returns the lines of a listing about a file of root's.
func listedFile(content string, mode uint32, path string) string {
	return fmt.Sprintf("is %x 0:0 root:root .%s\nsum %s  .%[2]s\n", 0o100000|mode, path,
		sum(content))
}

// shown is what systemctl show prints of the units of that machine.
const shown = `LoadState=loaded
UnitFileState=enabled
FragmentPath=` + unit + `
DropInPaths=/usr/lib/systemd/system/service.d/10-timeout.conf

LoadState=masked
UnitFileState=masked
FragmentPath=/dev/null
`

// showing returns what systemctl show prints once something of it is otherwise.
func showing(old, with string) string { return encode(strings.Replace(shown, old, with, 1)) }

// TestCompare: each row changes the listing of a machine that is as its document says.
func TestCompare(t *testing.T) {
	t.Parallel()
	n := machine()
	forged := sum("forged")
	for _, row := range []struct{ name, old, with, want string }{
		{name: "as rendered"},
		{name: "greeted", old: "kiln-listing 2", with: "Welcome\x1b[2J\nkiln-listing 2"},
		{"another content", sum("127.0.0.1 localhost\n"), forged,
			hosts + ": not what was rendered"},
		{"another mode", " 81a4 0:0 root:root ." + hosts, " 89a4 0:0 root:root ." + hosts,
			hosts + ": mode 4644, not 0644"},
		{"another owner", " 81a4 0:0 root:root ." + hosts, " 81a4 7:0 daemon:root ." + hosts,
			hosts + ": owner 7:0, not root:root"},
		{name: "an owner by number alone", old: "232:232 etcd:etcd", with: "232:232 etcd:etcd"},
		{"an owner that is no name", "232:232 etcd:etcd", "232:232 UNKNOWN:UNKNOWN",
			"/var/lib/etcd: owner 232:232, not etcd:etcd"},
		{"a link elsewhere", encode("../kiln.service"), encode("/tmp/\x1b[2J\n"),
			wants + `: leads to /tmp/\u001b[2J\u000a, not to ../kiln.service`},
		{name: "the kubelet's link", old: encode("kubelet-client-kiln.pem"),
			with: encode("/var/lib/kubelet/pki/kubelet-client-2026.pem")},
		{"no link", "link " + encode("kubelet-client-kiln.pem"), "none", client + ": missing"},
		{"a folder in place of a link", "link " + encode("../kiln.service") + " ",
			"is 41ed 0:0 root:root .", wants + ": a folder, not a link"},
		{"a device", "is 41c0 232:232", "is 61c0 232:232", "/var/lib/etcd: something else, " +
			"not a folder"},
		{"a member that joined", sum(manifest), forged, ""},
		{"not only joined", sum(manifest) + "  ." + etcd + "\nalike " + joined,
			forged + "  ." + etcd + "\nalike " + forged,
			etcd + ": not what was rendered"},
		{"left", "none " + token + "\n", listedFile("x", 0o600, token),
			token + ": not removed, though the first boot is done"},
		{"masked", encode(shown), showing("loaded\nUnitFileState=enabled",
			"masked\nUnitFileState=masked-runtime"), "kiln.service: masked"},
		{"disabled", encode(shown), showing("enabled", "disabled"),
			"kiln.service: disabled, not enabled"},
		{"no such unit", encode(shown), showing("enabled", "bad"),
			"kiln.service: bad, not enabled"},
		{"swap is on", encode(shown), showing("masked\nUnitFileState=masked",
			"loaded\nUnitFileState=static"), "swap.target: not masked"},
		{"another unit", encode(shown), showing(unit, "/run/systemd/transient/kiln.service"),
			"/run/systemd/transient/kiln.service: sets kiln.service, and is not in the document"},
		{"a drop-in", "dropin " + encode(dropIn), "dropin " + encode("/etc/x.d/\u202e.conf"),
			`/etc/x.d/\u202e.conf: a drop-in, and is not in the document`},
		{"a static pod", "pod " + encode(etcd), "pod " + encode("/etc/kubernetes/manifests/\n"),
			`/etc/kubernetes/manifests/\u000a: a static pod that is not in the document`},
		{"the list", "list " + sum("end\n"), "list " + forged, ""}, // its file has a line, too
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			text := listed(n)
			require.Contains(t, text, row.old)
			l, err := verify.Parse(n, []byte(strings.Replace(text, row.old, row.with, 1)))
			require.NoError(t, err)
			r := verify.Compare(n, l)
			require.False(t, r.Other)
			require.Equal(t, "cp-1", r.Machine)
			require.Equal(t, 12, r.Compared)
			var got []string
			for _, f := range r.Findings {
				got = append(got, f.Object+": "+f.How)
			}
			require.Equal(t, row.want, strings.Join(got, "\n"))
			require.Equal(t, row.want == "", r.Same())
		})
	}
}

// TestCompareOther: the machine was made from another document, or does not say from which and has
// the list of another.
func TestCompareOther(t *testing.T) {
	t.Parallel()
	n := machine()
	own, another := sum("end\n"), sum("another")
	for _, row := range []struct {
		list, made string
		want       bool
	}{
		{own, own, false}, {another, another, true}, {own, another, true}, {another, own, false},
		{own, "-", false}, {another, "-", true}, {"-", "-", false}, {"-", own, false},
	} {
		text := strings.Replace(listed(n), "list "+own+"\nmade "+own,
			"list "+row.list+"\nmade "+row.made, 1)
		l, err := verify.Parse(n, []byte(text))
		require.NoError(t, err)
		r := verify.Compare(n, l)
		require.Equal(t, row.want, r.Other, "%+v", row)
		require.Equal(t, !row.want, r.Same())
	}
}

// TestCompareBefore: before the end of the first boot a file that goes then is one like others, and
// may be gone.
func TestCompareBefore(t *testing.T) {
	t.Parallel()
	n := machine()
	before := strings.Replace(listed(n), "done yes", "done no", 1)
	for entry, want := range map[string][]verify.Finding{
		"none " + token + "\n":              {},
		listedFile("token\n", 0o600, token): {},
		listedFile("x", 0o600, token): {
			{Object: token, Kind: verify.Changed, How: "not what was rendered"}},
	} {
		text := strings.Replace(before, "none "+token+"\n", entry, 1)
		l, err := verify.Parse(n, []byte(text))
		require.NoError(t, err)
		r := verify.Compare(n, l)
		require.Equal(t, want, r.Findings)
		require.False(t, r.Done)
	}
}

// TestParseRefuses: what is not the whole listing of this document is refused, and no message has a
// hash of it.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	n := machine()
	text := listed(n)
	none := "none " + token + "\n"
	for _, row := range []struct{ name, text, want string }{
		{"nothing", "", "this is no listing"},
		{"binary", strings.Repeat("\x00\xff", 1000), "this is no listing"},
		{"another version", strings.Replace(text, "listing 2", "listing 1", 1), "no listing"},
		{"a long greeting", strings.Repeat("x", 20000) + "\n" + text, "no listing"},
		{"too large", text + strings.Repeat("x", 5<<20), "larger than 4 MiB"},
		{"no end", strings.TrimSuffix(text, "end\n"), "cut off"},
		{"half a line", text[:len(text)-6], "cut off"},
		{"more after the end", text + "x\n", "more after its end"},
		{"a line is missing", strings.Replace(text, none, "", 1),
			`nothing about "` + token + `": it is of the script of another document`},
		{"a line more", strings.Replace(text, none, none+"none /etc/shadow\n", 1),
			"of the script of another document"},
		{"a line twice", strings.Replace(text, none, none+none, 1), "not as kiln's program"},
		{"no units", strings.Replace(text, "units "+encode(shown)+"\n", "", 1),
			`nothing about the unit "kiln.service"`},
		{"no answer about a unit", strings.Replace(text, encode(shown),
			showing("LoadState=masked\n", ""), 1), `nothing about the unit "swap.target"`},
		{"no answer", strings.Replace(text, encode(shown), "", 1), "1 units in place of 2"},
		{"a unit more", strings.Replace(text, encode(shown), encode(shown+"\nLoadState=x\n"), 1),
			"3 units in place of 2"},
		{"another property", strings.Replace(text, encode(shown), encode(shown+"Id=x\n"), 1),
			"not as kiln's program"},
		{"units twice", strings.Replace(text, "end\n", "units "+encode(shown)+"\nend\n", 1),
			"not as kiln's program"},
		{"no hash", strings.Replace(text, "sum "+sum("127.0.0.1 localhost\n"), "sum 12", 1),
			"not as kiln's program"},
		{"a hash twice", strings.Replace(text, "end\n",
			"sum "+sum("127.0.0.1 localhost\n")+"  ."+hosts+"\nend\n", 1),
			"not as kiln's program"},
		{"a hash more", strings.Replace(text, "end\n", "sum "+sum("")+"  ./x\nend\n", 1),
			"of the script of another document"},
		{"not readable", strings.Replace(text, "sum "+sum("127.0.0.1 localhost\n")+"  ."+hosts+"\n",
			"", 1), `"` + hosts + `" could not be read on the machine`},
		{"no mode", strings.Replace(text, " 81a4 0:0", " 0:0", 1), "not as kiln's program"},
		{"a mode in words", strings.Replace(text, " 81a4 ", " 8xx9 ", 1), "not as kiln's program"},
		{"no number", strings.Replace(text, "0:0 root:root", "x:0 root:root", 1),
			"not as kiln's program"},
		{"not hexadecimal", strings.Replace(text, "pod ", "pod zz", 1), "not as kiln's program"},
		{"a word", strings.Replace(text, none, none+"\x1b[2J\n", 1), "not as kiln's program"},
		{"done perhaps", strings.Replace(text, "done yes", "done maybe", 1),
			"not as kiln's program"},
		{"made of text", strings.Replace(text, "made ", "made x", 1), "not as kiln's program"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			require.NotEqual(t, text, row.text)
			_, err := verify.Parse(n, []byte(row.text))
			require.ErrorContains(t, err, row.want)
			require.Less(t, len(err.Error()), 300)
			require.NotRegexp(t, "[0-9a-f]{16}|\x1b", err.Error())
		})
	}
}

// TestScriptRefuses: a document that could put lines of its own into the script makes none.
func TestScriptRefuses(t *testing.T) {
	t.Parallel()
	n := machine()
	_, err := verify.Script(n)
	require.NoError(t, err)
	n.Files[0].Path = "/etc/x\nKILN_PATHS\nreboot"
	_, err = verify.Script(n)
	require.ErrorContains(t, err, "more than one line")
	n = machine()
	n.Units[0].Name = "--all"
	_, err = verify.Script(n)
	require.ErrorContains(t, err, "looks like a flag")
	// A line that ends a list of the program would make the next ones commands of root.
	n = machine()
	n.Files = append(n.Files, node.File{Path: "KILN_PATHS"}, node.File{Path: "reboot"})
	_, err = verify.Script(n)
	require.ErrorContains(t, err, `"KILN_PATHS", which does not begin with /`)
	n = machine()
	n.Units = append(n.Units, node.Unit{Name: "KILN_UNITS"}, node.Unit{Name: "reboot"})
	_, err = verify.Script(n)
	require.ErrorContains(t, err, `"KILN_UNITS", which has no type such as .service`)
	_, err = verify.Script(&node.Node{})
	require.ErrorContains(t, err, "not one of kiln's")
}

// FuzzParse: no listing makes Parse or Compare panic, and nothing of it reaches a terminal as a
// command.
func FuzzParse(f *testing.F) {
	n := machine()
	f.Add([]byte(listed(n)))
	f.Add([]byte(strings.Replace(listed(n), "done yes", "done no", 1)))
	f.Add([]byte(strings.Replace(listed(n), encode(etcd), encode("/etc/\x1b]0;x\a"), 1)))
	f.Add([]byte("kiln-listing 1\nend\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := verify.Parse(n, data)
		if err != nil {
			return
		}
		text, err := json.Marshal(verify.Compare(n, l))
		require.NoError(t, err)
		for _, finding := range verify.Compare(n, l).Findings {
			require.NotRegexp(t, "[\x00-\x1f\x7f]", finding.Object+finding.How)
		}
		require.NotContains(t, string(text), sum(manifest))
	})
}

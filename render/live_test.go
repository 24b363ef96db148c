package render_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/verify"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
	"kiln.dev/kiln/test/need"
	"kiln.dev/kiln/test/script"
)

const (
	firstKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f " +
		"operator@example.com"
	secondKey = "ssh-ed25519 " +
		"AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA second@example.com"

	keyEdit = `{op: add, path: /spec/machines/sshAuthorizedKeys/-, value: "` + secondKey + `"}`
	sysctl  = `{op: add, path: /spec/machines/sysctls, value: {vm.max_map_count: "262144"}}`
	mirror  = `{op: add, path: /spec/machines/registries, value: [{host: registry.k8s.io, ` +
		`mirrors: ["https://mirror.example.com"]}]}`
	label = `{op: add, path: /spec/nodes/3/labels, value: {disk: ssd}}`
	ntp   = `{op: add, path: /spec/machines/ntpServers, value: [ntp.example.com]}`
	ntp2  = `{op: replace, path: /spec/machines/ntpServers/0, value: ntp2.example.com}`
)

// edited is the cluster of testdata/changes with changes: its state and its machines.
type edited struct {
	*change.Cluster
	nodes map[string]*node.Node
}

func edit(t *testing.T, edits ...string) *edited {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(changes, "cluster.yaml"))
	require.NoError(t, err)
	if len(edits) > 0 {
		patch, err := patches.New("edit", "["+strings.Join(edits, ",")+"]",
			&patches.Target{Kind: "Cluster"})
		require.NoError(t, err)
		text, err = patches.Apply(text, patch)
		require.NoError(t, err)
	}
	c, err := config.Parse("cluster.yaml", text, nil)
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(changes, "secrets.yaml"))
	require.NoError(t, err)
	b, err := pki.Load(data)
	require.NoError(t, err)
	r, err := render.New(c, b)
	require.NoError(t, err)
	e := &edited{nodes: map[string]*node.Node{}}
	e.Cluster, err = r.State(nil)
	require.NoError(t, err)
	for i := range r.Plan.Machines {
		n, err := r.Node(i)
		require.NoError(t, err)
		e.nodes[n.Name] = n
	}
	return e
}

// applyProgram returns the program that takes a machine from one state to the other.
func applyProgram(t *testing.T, old, now *edited, name string) (string, error) {
	t.Helper()
	d := change.Compare(old.Cluster, now.Cluster)
	pairs := d.Pairs()
	p := pairs[slices.IndexFunc(pairs, func(p *change.Pair) bool {
		return p.Machine().Name == name
	})]
	if err := rollout.Applicable(d, p); err != nil {
		return "", err
	}
	return verify.Program(&verify.Change{Pairs: []*change.Pair{p}, Node: now.nodes[name]})
}

// growLive is grow, with the programs that kiln apply runs, and with two users: one with the keys
// of the document and one of the platform, and root as cloud-init leaves it.
func growLive(t *testing.T, n *node.Node, shell string) *aTree {
	t.Helper()
	m := grow(t, n, shell)
	script.Write(t, m.world+"/chown", "#!/bin/sh\n")
	script.Write(t, m.world+"/systemd-sysctl",
		"#!/bin/sh\necho \"systemd-sysctl $*\" >>\"$KILN_ROOT/systemctl\"\n")
	script.Write(t, m.world+"/runuser", "#!/bin/sh\nshift 3\nexec \"$@\"\n")
	m.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\ndebian:x:1:1::/home/debian:/bin/sh\n"+
		"other:x:2:2::/home/other:/bin/sh\n")
	m.write("/home/debian/.ssh/authorized_keys", "ssh-rsa AAAAB3platform cloud\n"+firstKey+"\n")
	m.write("/home/other/.ssh/authorized_keys", "ssh-rsa AAAAB3other other\n")
	m.write("/root/.ssh/authorized_keys", noRoot+firstKey+"\n")
	return m
}

const hosts = "/etc/containerd/certs.d/registry.k8s.io/hosts.toml"

// loads is what follows a change of the kernel's settings.
const loads = "systemd-sysctl /etc/sysctl.d/90-kiln.conf\n"

const noRoot = `no-port-forwarding,command="echo 'Please login as the user \"debian\"'" `

// requireIs holds a machine to a document: files with their modes, what is no longer there, the
// state, and what kiln verify says.
func (m *aTree) requireIs(old, n *node.Node) {
	m.t.Helper()
	d := n.Delivered()
	m.n = &d
	retired := layout.Retired(n)
	for i := range d.Files {
		f := &d.Files[i]
		if retired[f.Path] {
			continue
		}
		require.Equal(m.t, string(f.Content), m.read(f.Path), f.Path)
		info, err := os.Stat(m.root + f.Path)
		require.NoError(m.t, err)
		require.Equal(m.t, os.FileMode(f.Mode), info.Mode(), f.Path)
	}
	for i := range old.Files {
		if path := old.Files[i].Path; n.File(path) == nil {
			require.NoFileExists(m.t, m.root+path)
		}
	}
	require.Empty(m.t, m.compared().Findings)
	require.NoDirExists(m.t, m.root+"/run/kiln/apply")
	made, _, _ := strings.Cut(m.read("/var/lib/kiln/state"), "\n")
	require.Len(m.t, made, 64)
	left, err := filepath.Glob(m.root + "/etc/*/*.kiln-new")
	require.NoError(m.t, err)
	require.Empty(m.t, left)
}

// TestApply: a machine that got its newer document while it ran is as one that was replaced, and
// the same program again changes nothing.
func TestApply(t *testing.T) {
	t.Parallel()
	shells := need.Usable(t)
	for i, row := range []struct {
		name, machine string
		old, now      []string
		calls         string
		login         string // the line that follows that of the platform
	}{
		{"all at once", "worker-1", nil, []string{sysctl, mirror, keyEdit, label}, loads,
			firstKey + "\n" + secondKey},
		{"a control plane", "cp-1", nil, []string{sysctl}, loads, firstKey},
		{"a mirror goes", "worker-2", []string{mirror}, nil, "", firstKey},
		{"time servers", "worker-1", []string{ntp}, []string{ntp, ntp2},
			"try-restart chron[y].service chrony[d].service\ntry-restart ntp[d].service\n" +
				"try-restart systemd-timesync[d].service\n", firstKey},
		{"an object", "cp-2", nil, []string{
			`{op: add, path: /spec/dns, value: {replicas: 3}}`, mirror}, "", firstKey},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			old, now := edit(t, row.old...), edit(t, row.now...)
			m := growLive(t, old.nodes[row.machine], shells[i%len(shells)])
			text, err := applyProgram(t, old, now, row.machine)
			require.NoError(t, err)
			for range 2 {
				require.NoError(t, os.RemoveAll(m.root+"/systemctl"))
				m.n = now.nodes[row.machine]
				out, code := m.run(text, "-s")
				require.Empty(t, m.messages)
				require.Zero(t, code, out)
				require.Contains(t, out, "files written: ")
				require.Equal(t, "daemon-reload\n"+row.calls+"restart kiln.service\n",
					m.read("/systemctl"))
				m.requireIs(old.nodes[row.machine], now.nodes[row.machine])
				if now.nodes[row.machine].File(hosts) == nil {
					require.NoDirExists(t, filepath.Dir(m.root+hosts), "it would hide _default")
				}
				require.Equal(t, "ssh-rsa AAAAB3platform cloud\n"+row.login+"\n",
					m.read("/home/debian/.ssh/authorized_keys"))
				require.Equal(t, noRoot+strings.ReplaceAll(row.login, "\n", "\n"+noRoot)+"\n",
					m.read("/root/.ssh/authorized_keys"))
				require.Equal(t, "ssh-rsa AAAAB3other other\n",
					m.read("/home/other/.ssh/authorized_keys"))
			}
		})
	}
}

// openKeys makes a state as an older kiln rendered it: others could enter the folder of the machine
// with the keys.
func (e *edited) openKeys(t *testing.T, name string) {
	t.Helper()
	i := slices.IndexFunc(e.Machines, func(m *change.Machine) bool { return m.Name == name })
	m := e.Machines[i]
	was := review.DigestOf(m)
	m.Entries.Find(change.Key{Kind: "dir", ID: plan.PKIDir}).Traits["mode"] = "0755"
	m.Twin = ""
	m.Twin = review.DigestOf(m)
	require.NotEqual(t, was, m.Twin)
	n := clone(e.nodes[name])
	n.Dirs = slices.Clone(n.Dirs)
	n.Dirs[slices.IndexFunc(n.Dirs, func(d node.Dir) bool {
		return d.Path == plan.PKIDir
	})].Mode = 0o755
	list := n.File(node.List)
	text := strings.Replace(string(list.Content), "dir 0700 - "+plan.PKIDir+"\n",
		"dir 0755 - "+plan.PKIDir+"\n", 1)
	require.NotEqual(t, string(list.Content), text)
	require.Contains(t, text, "\nend "+was)
	list.Content = []byte(strings.Replace(text, was, m.Twin, 1))
	e.nodes[name] = n
}

// TestApplyFolder: the mode of the folder with the keys, which is another since kiln protects keys
// while they are written, makes no replacement. It is set with whatever else changes.
func TestApplyFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"worker-1", "cp-1"} {
		old, now := edit(t), edit(t, sysctl)
		old.openKeys(t, name)
		p, err := rollout.New(change.Compare(old.Cluster, edit(t).Cluster),
			rollout.Options{MaxUnavailable: "1"})
		require.NoError(t, err)
		require.Empty(t, p.List, "no steps")
		require.Len(t, p.Machines, 1)
		require.Equal(t, rollout.NextReplacement, p.Machines[0].Verdict, name)

		m := growLive(t, old.nodes[name], need.Usable(t)[0])
		require.NoError(t, os.Chmod(m.root+plan.PKIDir, 0o755))
		text, err := applyProgram(t, old, now, name)
		require.NoError(t, err)
		m.n = now.nodes[name]
		out, code := m.run(text, "-s")
		require.Zero(t, code, "%s %s", out, m.messages)
		m.requireIs(old.nodes[name], now.nodes[name])
		info, err := os.Stat(m.root + plan.PKIDir)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), name)
	}
}

// TestApplyInterrupted: killed at any of its steps, the machine still starts, and the same program
// goes on to the end.
func TestApplyInterrupted(t *testing.T) {
	t.Parallel()
	shell := need.Usable(t)[0]
	old, now := edit(t), edit(t, sysctl, mirror, keyEdit, label)
	text, err := applyProgram(t, old, now, "worker-1")
	require.NoError(t, err)
	ended := false
	for at := 1; !ended; at++ {
		require.Less(t, at, 60)
		m := growLive(t, old.nodes["worker-1"], shell)
		m.n = now.nodes["worker-1"]
		for _, name := range []string{"mv", "rm", "cp"} {
			script.Write(t, m.world+"/"+name, fmt.Sprintf("#!/bin/sh\necho x >>%[1]s/count\n"+
				"[ $(wc -l <%[1]s/count) != %[2]d ] || kill -9 $PPID\nexec %[3]s \"$@\"\n",
				m.world, at, need.Basic(t, name)))
		}
		_, code := m.run(text, "-s")
		ended = code == 0
		made, _, _ := strings.Cut(m.read("/var/lib/kiln/state"), "\n")
		require.Contains(t, strings.Fields(made), sumOf(m.read(node.List)), "killed at %d", at)
		for _, name := range []string{"mv", "rm", "cp"} {
			require.NoError(t, os.Remove(m.world+"/"+name))
		}
		out, code := m.run(text, "-s")
		require.Empty(t, m.messages, "killed at %d", at)
		require.Zero(t, code, out)
		m.requireIs(old.nodes["worker-1"], now.nodes["worker-1"])
	}
}

// TestApplyRefuses: a machine that would not end as the document says is left as it is.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	shell := need.Usable(t)[0]
	old, now := edit(t), edit(t, sysctl, keyEdit)
	text, err := applyProgram(t, old, now, "worker-1")
	require.NoError(t, err)
	list := string(old.nodes["worker-1"].File(node.List).Content)
	for _, row := range []struct {
		name string
		do   func(m *aTree)
		want string
	}{
		{"another machine", func(m *aTree) {
			m.become(old.nodes["worker-2"])
		}, "runs another document"},
		{"an older document", func(m *aTree) {
			m.become(edit(t, label).nodes["worker-1"])
		}, "runs another document"},
		{"another CA, which no digest shows", func(m *aTree) {
			at := strings.Index(list, " /etc/kubernetes/pki/ca.crt")
			line := strings.LastIndex(list[:at], "\n") + 1
			m.list(list[:line] + "00000000" + list[line+8:])
		}, "needs a replacement: /etc/kubernetes/pki/ca.crt differ too"},
		{"the first boot is not done", func(m *aTree) {
			m.write("/var/lib/kiln/state", sumOf(list)+"\n\"files\":0\n \n")
		}, "the first boot of this machine is not done"},
		{"no kiln", func(m *aTree) { m.remove("/var/lib/kiln") }, "was not made by kiln"},
		{"a list that was changed", func(m *aTree) {
			m.write(node.List, strings.Replace(list, " 0600 ", " 0644 ", 1))
		}, "made from another document"},
		{"another apply was interrupted", func(m *aTree) {
			m.write("/var/lib/kiln/state", sumOf(list)+" "+strings.Repeat("0", 64)+
				"\n\"done\":0\n \n")
		}, "another kiln apply was interrupted"},
		{"a folder in place of a file", func(m *aTree) {
			m.remove("/etc/sysctl.d/90-kiln.conf")
			m.folder("/etc/sysctl.d/90-kiln.conf", 0o755)
		}, "90-kiln.conf is a folder here"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := growLive(t, old.nodes["worker-1"], shell)
			row.do(m)
			before := m.everything()
			_, code := m.run(text, "-s")
			require.Equal(t, 1, code)
			require.Contains(t, m.messages, row.want)
			require.Equal(t, before, m.everything())
		})
	}
	// Damaged on the way.
	m := growLive(t, old.nodes["worker-1"], shell)
	at := strings.Index(text, "keep /etc/sysctl.d/90-kiln.conf") + 60
	_, code := m.run(text[:at]+"AAAA"+text[at+4:], "-s")
	require.Equal(t, 1, code)
	require.Contains(t, m.messages, "damaged")
	// Cut off on the way: nothing runs.
	for _, length := range []int{len(text) / 4, len(text) / 2, len(text) - 30} {
		before := m.everything()
		m.run(text[:length], "-s")
		require.Equal(t, before, m.everything())
	}
}

// TestApplicable: what a running machine cannot take is refused with its reason, before anybody
// asks the machine.
func TestApplicable(t *testing.T) {
	t.Parallel()
	base := edit(t)
	for name, row := range map[string]struct {
		old, now *edited
		want     string
	}{
		"a kubelet's setting": {base, edit(t,
			`{op: add, path: /spec/workers/machines/kubelet, value: {maxPods: 200}}`, sysctl),
			"maxPods"},
		"a setting of the kernel that goes": {edit(t, sysctl), base,
			"the kernel keeps a setting that nobody sets any more"},
		"huge pages": {base, edit(t,
			`{op: add, path: /spec/machines/sysctls, value: {vm.nr_hugepages: "64"}}`),
			"what takes it does so when it starts"},
		"what an interface takes": {base, edit(t,
			`{op: add, path: /spec/machines/sysctls, value: `+
				`{net.core.somaxconn: "1", net.ipv4.conf.default.rp_filter: "1"}}`),
			"what takes it does so when it starts"},
		"all keys": {base, edit(t, `{op: remove, path: /spec/machines/sshAuthorizedKeys}`),
			"only if both documents have some"},
		"the first time server": {base, edit(t, ntp),
			"the system may have a file of its own there"},
		"a file of one's own": {base, edit(t,
			`{op: replace, path: /spec/machines/files/0/mode, value: "0600"}`), "/etc/motd"},
	} {
		_, err := applyProgram(t, row.old, row.now, "worker-1")
		require.ErrorContains(t, err, "worker-1 needs a replacement", name)
		require.ErrorContains(t, err, row.want, name)
	}
}

// become gives the machine the document of another one, as if it had been made from it.
func (m *aTree) become(n *node.Node) {
	m.t.Helper()
	m.list(string(n.File(node.List).Content))
}

// list gives the machine another list of files, as if it had been made from it.
func (m *aTree) list(text string) {
	m.t.Helper()
	m.write(node.List, text)
	m.write("/var/lib/kiln/state", sumOf(text)+"\n\"files\":0,\"done\":1\n \n")
}

// everything returns the contents of all files but the lock of kiln apply.
func (m *aTree) everything() string {
	m.t.Helper()
	var b strings.Builder
	add := func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Base(path) == "apply.lock" {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", path, content)
		return err
	}
	require.NoError(m.t, filepath.WalkDir(m.root, add))
	return b.String()
}

func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

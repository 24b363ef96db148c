package verify_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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
	"kiln.dev/kiln/test/golden"
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
	maxPods = `{op: add, path: /spec/workers/machines/kubelet, value: {maxPods: 200}}`
	audit   = `{op: add, path: /spec/controlPlane/apiServer/extraArgs, ` +
		`value: [{name: audit-log-maxage, value: "60"}]}`
	quota = `{op: add, path: /spec/controlPlane/etcd, ` +
		`value: {extraArgs: [{name: quota-backend-bytes, value: "4294967296"}]}}`
	name   = `{op: add, path: /spec/controlPlane/apiServer/certSANs/-, value: api.example.org}`
	label  = `{op: add, path: /spec/nodes/3/labels, value: {disk: ssd}}`
	ntp    = `{op: add, path: /spec/machines/ntpServers, value: [ntp.example.com]}`
	shares = `{op: add, path: /spec/workers/machines/kubelet, ` +
		`value: {topologyManagerPolicy: best-effort}}`
	motd = `{op: add, path: /spec/machines/files/-, value: {path: /etc/a/motd, content: a, ` +
		`restart: [a.service, b.timer]}}`
	fetch = `{op: add, path: /spec/machines/binaries, value: {source: download, ` +
		`containerd: v1.0.0, runc: v1.0.0, cniPlugins: v1.0.0, crictl: v1.0.0}}`
	zone  = `{op: add, path: /spec/machines/timeZone, value: Europe/Berlin}`
	zone2 = `{op: add, path: /spec/machines/timeZone, value: Europe/Rome}`
	aUnit = `{op: add, path: /spec/machines/units, value: [{name: a.service, enabled: true, ` +
		`content: "[Service]\nExecStart=/bin/a\n[Install]\nWantedBy=multi-user.target\n"}]}`
	zonedUnit = aUnit + "," + zone
	// its unit starts again with it
	ownFile = `{op: add, path: /spec/machines/files/-, value: {path: /etc/a/conf, content: a, ` +
		`restart: [a.service]}}`
	mask  = `{op: add, path: /spec/machines/units, value: [{name: a.service, masked: true}]}`
	newer = `{op: replace, path: /spec/kubernetesVersion, value: v1.35.8}`
	ntp2  = `{op: replace, path: /spec/machines/ntpServers/0, value: ntp2.example.com}`
)

const changes = "../../../testdata/changes"

// decade is how long new CAs live.
const decade = 87600 * time.Hour

// locked has a lock with two kubelets. The content of each file is its line here.
var locked = fstest.MapFS{"cluster.lock.yaml": {Data: lockOf("kubelet v1.35.1", "kubelet v1.35.8",
	"kubelet v1.36.3", "containerd v1.0.0", "runc v1.0.0", "cniPlugins v1.0.0", "crictl v1.0.0")}}

func lockOf(programs ...string) []byte {
	text := "apiVersion: kiln.dev/v1alpha1\nkind: Lock\nartifacts:\n"
	for _, program := range programs {
		name, version, _ := strings.Cut(program, " ")
		text += fmt.Sprintf("- {name: %[1]s, version: %[2]s, arch: amd64, "+
			"url: \"https://example.com/%[2]s/%[1]s\", sha256: \"%[3]x\"}\n", name, version,
			sha256.Sum256([]byte(program+"\n")))
	}
	return []byte(text)
}

// edited is the cluster of testdata/changes with changes: its state and its machines.
type edited struct {
	*change.Cluster
	nodes map[string]*node.Node
}

// edit returns the cluster with these changes. It is shared: nothing changes it.
func edit(t *testing.T, edits ...string) *edited {
	t.Helper()
	return sharedEdits.Of(t, strings.Join(edits, ","), func() (*edited, error) {
		return newEdited(func(*pki.Bundle) {}, edits)
	})
}

var sharedEdits golden.Shared[*edited]

// editBundle is edit with a bundle that was changed, too.
func editBundle(t *testing.T, do func(b *pki.Bundle), edits ...string) *edited {
	t.Helper()
	e, err := newEdited(do, edits)
	require.NoError(t, err)
	return e
}

func newEdited(do func(b *pki.Bundle), edits []string) (*edited, error) {
	text, err := os.ReadFile(filepath.Join(changes, "cluster.yaml"))
	if err != nil {
		return nil, err
	}
	if len(edits) > 0 {
		patch, err := patches.New("edit", "["+strings.Join(edits, ",")+"]",
			&patches.Target{Kind: "Cluster"})
		if err != nil {
			return nil, err
		}
		if text, err = patches.Apply(text, patch); err != nil {
			return nil, err
		}
	}
	c, err := config.Parse("cluster.yaml", text, locked)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(changes, "secrets.yaml"))
	if err != nil {
		return nil, err
	}
	b, err := pki.Load(data)
	if err != nil {
		return nil, err
	}
	do(b)
	r, err := render.New(c, b)
	if err != nil {
		return nil, err
	}
	e := &edited{nodes: map[string]*node.Node{}}
	if e.Cluster, err = r.State(nil); err != nil {
		return nil, err
	}
	for i := range r.Plan.Machines {
		n, err := r.Node(i)
		if err != nil {
			return nil, err
		}
		e.nodes[n.Name] = n
	}
	return e, nil
}

// applyProgram returns the program that takes a machine from one state to the other.
func applyProgram(t *testing.T, old, now *edited, name string) (string, error) {
	t.Helper()
	d := change.Compare(old.Cluster, now.Cluster)
	pairs := d.Pairs()
	p := pairs[slices.IndexFunc(pairs, func(p *change.Pair) bool {
		return p.Machine().Name == name
	})]
	restarts, commands, err := rollout.Applicable(d, p, nil)
	if err != nil {
		return "", err
	}
	return verify.Program(&verify.Change{
		Pairs: []*change.Pair{p}, Restarts: restarts, Commands: commands, Node: now.nodes[name],
	})
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
	script.Write(t, m.world+"/curl", "#!/bin/sh\n"+sick+
		"case $* in *\"$sick\"*) echo \"curl: (22) 404\" >&2; exit 22 ;; esac\n"+serves)
	script.Write(t, m.world+"/ctr", "#!/bin/sh\n"+sick+
		"case $4,$* in pull,*\"$sick\"*) echo \"not found\" >&2; exit 1 ;; esac\n"+
		"[ \"$4\" = ls ] || { echo \"$7\" >>\"$KILN_ROOT/pulled\"; exit; }\n"+
		"sed -n 's/^ *image: //p' \"$KILN_ROOT\"/etc/kubernetes/manifests/*\n")
	script.Write(t, m.world+"/journalctl", "#!/bin/sh\necho a bad setting\n")
	script.Write(t, m.world+"/systemd-run", systemdRun)
	script.Write(t, m.world+"/happens", happens)
	script.Write(t, m.world+"/sleep", tick)
	m.write("/proc/uptime", "100.00 10.00\n")
	m.run("systemctl restart kubelet.service", "-s")
	m.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\ndebian:x:1:1::/home/debian:/bin/sh\n"+
		"other:x:2:2::/home/other:/bin/sh\n")
	m.write("/home/debian/.ssh/authorized_keys", "ssh-rsa AAAAB3platform cloud\n"+firstKey+"\n")
	m.write("/home/other/.ssh/authorized_keys", "ssh-rsa AAAAB3other other\n")
	m.write("/root/.ssh/authorized_keys", noRoot+firstKey+"\n")
	return m
}

// changing returns a machine that runs the older state, and the program that takes it to the newer
// one.
func changing(t *testing.T, old, now *edited, name, shell string) (*aTree, string) {
	t.Helper()
	text, err := applyProgram(t, old, now, name)
	require.NoError(t, err)
	return growLive(t, old.nodes[name], shell), text
}

// applies runs a program, which must come to its end.
func (m *aTree) applies(text string) string {
	m.t.Helper()
	out, code := m.run(text, "-s")
	require.Zero(m.t, code, m.messages)
	return out
}

// refuses runs a program, which must say this and fail.
func (m *aTree) refuses(text, says string) {
	m.t.Helper()
	_, code := m.run(text, "-s")
	require.Equal(m.t, 1, code, m.messages)
	require.Contains(m.t, m.messages, says)
}

// sick sets $sick to what a test wants to fail. It starts no program: a start takes longer than all
// the rest.
const sick = "sick=nothing\n" +
	"[ ! -e \"$KILN_ROOT/sick\" ] || IFS= read -r sick <\"$KILN_ROOT/sick\" || :\n"

// serves is a curl that answers a request for v1.35.8/kubelet with "kubelet v1.35.8", and a request
// for the version of the API server.
const serves = `case $* in
*/version) cat "$KILN_ROOT/version" 2>/dev/null || echo '{"major": "1", "minor": "35"}' ;;
*' -o '*'/kubelet')
	while [ "$1" != -o ]; do shift; done
	out=$2
	while [ $# -gt 1 ]; do shift; done
	version=${1%/kubelet}
	echo "kubelet ${version##*/}$(cat "$KILN_ROOT/forged" 2>/dev/null)" >"$out"
	;;
esac
`

const (
	// systemdRun runs a program, and then that of ExecStopPost.
	systemdRun = `#!/bin/sh
post=:
while :; do
	case $1 in
	-p) post=${2#ExecStopPost=} && shift 2 ;;
	--unit) shift 2 ;;
	-*) shift ;;
	*) break ;;
	esac
done
"$@"
rc=$?
[ ! -e "${0%/*}/dark" ] || exit 1
$post
exit "$rc"
`
	// happens is what a machine does after a call of systemctl: its hook comes to its end, or puts
	// back what was before, and its kubelet starts static pods.
	happens = `#!/bin/sh
lib=$KILN_ROOT/var/lib/kiln
case $1 in
'restart --no-block kiln.service') sh "$lib/before/change" undo 2>>"$KILN_ROOT/undone" ;;
'restart kiln.service')
	[ -e "$KILN_ROOT/waits" ] || sed -i '2{/"done"/!s/$/,"done":1/}' "$lib/state"
	;;
'stop kubelet.service') : >"$KILN_ROOT/stopped" ;;
'restart kubelet.service' | 'restart --no-block kubelet.service')
	rm -f "$KILN_ROOT/stopped"
	[ ! -e "$KILN_ROOT/opens" ] || echo 3.7 >"$KILN_ROOT/var/lib/etcd/member/snap/db"
	pid=90000000
	for pod in etcd kube-apiserver kube-controller-manager kube-scheduler; do
		pid=$((pid + 1))
		[ -e "$KILN_ROOT/etc/kubernetes/manifests/$pod.yaml" ] || continue
		mkdir -p "$KILN_ROOT/proc/$pid"
		printf '%.15s\n' "$pod" >"$KILN_ROOT/proc/$pid/comm"
		echo "0::/kubepods.slice/pod12ab.slice" >"$KILN_ROOT/proc/$pid/cgroup"
		mkdir -p "$KILN_ROOT/var/log/pods/kube-system_$pod-cp-1_12ab/$pod"
	done
	;;
esac
`
	// tick is a moment, in which a signal reaches the processes of static pods.
	tick = `#!/bin/sh
[ ! -e "$KILN_ROOT/stopped" ] || rm -rf "$KILN_ROOT"/proc/9*
read -r up _ <"$KILN_ROOT/proc/uptime"
echo "$((${up%%.*} + 60)).00 1.00" >"$KILN_ROOT/proc/uptime"
`
)

const mirrored = "/etc/containerd/certs.d/registry.k8s.io/hosts.toml"

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
	for _, l := range old.Links {
		if !slices.Contains(n.Links, l) {
			require.NoFileExists(m.t, m.root+l.Path)
		}
	}
	require.Empty(m.t, m.compared().Findings)
	made, _, _ := strings.Cut(m.read("/var/lib/kiln/state"), "\n")
	require.Len(m.t, made, 64)
	left, err := filepath.Glob(m.root + "/etc/*/.*.kiln")
	require.NoError(m.t, err)
	require.Empty(m.t, left)
}

// requireNothingLeft holds a machine to having nothing of kiln apply.
func (m *aTree) requireNothingLeft() {
	m.t.Helper()
	for _, pattern := range []string{"/run/kiln/[ac]*[^k]", "/var/lib/kiln/before*"} {
		left, err := filepath.Glob(m.root + pattern)
		require.NoError(m.t, err)
		require.Empty(m.t, left)
	}
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
		restarts      bool
	}{
		{"all at once", "worker-1", nil, []string{sysctl, mirror, keyEdit, label}, loads,
			firstKey + "\n" + secondKey, false},
		{"a control plane", "cp-1", nil, []string{sysctl}, loads, firstKey, false},
		{"a mirror goes", "worker-2", []string{mirror}, nil, "", firstKey, false},
		{"time servers", "worker-1", []string{ntp}, []string{ntp, ntp2},
			"try-restart chron[y].service chrony[d].service\ntry-restart ntp[d].service\n" +
				"try-restart systemd-timesync[d].service\n", firstKey, false},
		{"an object", "cp-2", nil, []string{
			`{op: add, path: /spec/dns, value: {replicas: 3}}`, mirror}, "", firstKey, false},
		{"a kubelet's setting", "worker-1", nil, []string{maxPods, sysctl},
			loads, firstKey, true},
		{"processors of pods", "worker-1", nil, []string{shares}, "", firstKey, true},
		{"a file of one's own", "worker-2", nil, []string{motd},
			"restart a.service b.timer\n", firstKey, false},
		{"a unit", "worker-1", nil, []string{aUnit, zone}, "try-restart kiln-syste[m].service\n" +
			"--quiet enable a.service\n--quiet enable kiln-system.service\n" +
			"start a.service\nstart kiln-system.service\n", firstKey, false},
		{"another time zone", "worker-1", []string{zone}, []string{zone2},
			"try-restart kiln-syste[m].service\n", firstKey, false},
		{"no unit any more", "worker-1", []string{aUnit, ownFile}, nil, "", firstKey, false},
		{"a unit that nothing starts", "worker-1", []string{aUnit}, []string{mask},
			"--quiet mask a.service\nstop a.service\n", firstKey, false},
		{"a flag of the API server", "cp-1", nil, []string{audit}, "", firstKey, true},
		{"another name of the API server", "cp-1", nil, []string{name}, "", firstKey, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			old, now := edit(t, row.old...), edit(t, row.now...)
			m, text := changing(t, old, now, row.machine, shells[i%len(shells)])
			const kept = "/var/lib/kubelet/cpu_manager_state"
			m.write(kept, "{}")
			calls := "daemon-reload\n" + row.calls
			if row.restarts {
				calls = "stop kubelet.service\n" + calls + "restart kubelet.service\n"
			}
			if slices.Contains(row.old, aUnit) {
				calls = "--quiet disable --now a.service\n" + calls
			}
			again := []string{calls + "restart kiln.service\n", ""}
			if i%3 > 0 && !*golden.All {
				again = again[:1]
			}
			for _, calls := range again {
				m.write("/systemctl", "")
				m.n = now.nodes[row.machine]
				out, code := m.run(text, "-s")
				require.Empty(t, m.messages)
				require.Zero(t, code, out)
				require.Contains(t, out, "files written: ")
				require.Equal(t, calls, m.read("/systemctl"))
				m.requireIs(old.nodes[row.machine], now.nodes[row.machine])
				m.requireNothingLeft()
				_, err := os.Stat(m.root + kept)
				require.Equal(t, slices.Contains(row.now, shares), err != nil)
				if now.nodes[row.machine].File(mirrored) == nil {
					require.NoDirExists(t, filepath.Dir(m.root+mirrored), "it would hide _default")
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

// TestApplyRelease: a machine that fetches its programs gets those of a newer release, and the
// images of its manifests, before anything changes; nothing does if something of it does not come.
func TestApplyRelease(t *testing.T) {
	t.Parallel()
	shells := need.Usable(t)
	for i, row := range []struct{ name, machine, file, content, says string }{
		{"a worker", "worker-1", "", "", ""},
		{"a control plane", "cp-1", "", "", ""},
		{"no such file", "worker-1", "/sick", "v1.35.8/kubelet",
			"https://example.com/v1.35.8/kubelet cannot be fetched: curl: (22) 404\n"},
		{"another file", "worker-1", "/forged", "!", "has another SHA-256 than"},
		{"no such image", "cp-1", "/sick", "kube-scheduler:v1.35.8",
			"registry.k8s.io/kube-scheduler:v1.35.8 cannot be pulled: not found\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			old, now := edit(t, fetch), edit(t, fetch, newer)
			m, text := changing(t, old, now, row.machine, shells[i%len(shells)])
			m.write("/opt/bin/kubelet", "kubelet v1.35.1\n")
			m.write("/systemctl", "")
			if row.file != "" {
				m.write(row.file, row.content)
			}
			out, code := m.run(text, "-s")
			if row.says != "" {
				require.Equal(t, 1, code)
				require.Contains(t, m.messages, row.says)
				require.Empty(t, m.read("/systemctl"))
				require.Equal(t, "kubelet v1.35.1\n", m.read("/opt/bin/kubelet"))
				m.requireIs(now.nodes[row.machine], old.nodes[row.machine])
				return
			}
			require.Empty(t, m.messages)
			require.Zero(t, code, out)
			require.Contains(t, out, "fetching https://example.com/v1.35.8/kubelet\n")
			require.Equal(t, "stop kubelet.service\ndaemon-reload\nrestart kubelet.service\n"+
				"restart kiln.service\n", m.read("/systemctl"))
			require.Equal(t, "kubelet v1.35.8\n", m.read("/opt/bin/kubelet"))
			if row.machine == "cp-1" {
				require.Equal(t, "registry.k8s.io/kube-apiserver:v1.35.8\n"+
					"registry.k8s.io/kube-controller-manager:v1.35.8\n"+
					"registry.k8s.io/kube-scheduler:v1.35.8\n", m.read("/pulled"))
			}
			m.requireIs(old.nodes[row.machine], now.nodes[row.machine])
			m.requireNothingLeft()
			require.NoDirExists(t, m.root+"/var/lib/kiln/next")
		})
	}
}

// TestApplySkew: a worker takes the kubelet of a newer minor once its API server is of that minor.
func TestApplySkew(t *testing.T) {
	t.Parallel()
	const minor = `{op: replace, path: /spec/kubernetesVersion, value: v1.36.3}`
	old, now := edit(t, fetch), edit(t, fetch, minor)
	m := growLive(t, old.nodes["worker-1"], need.Usable(t)[0])
	m.write("/opt/bin/kubelet", "kubelet v1.35.1\n")
	text, err := applyProgram(t, old, now, "worker-1")
	require.NoError(t, err)
	for _, row := range []struct{ version, sick, says string }{
		{`"minor": "35"`, "", "is of 1.35, and a kubelet of 1.36 must not be newer: "},
		{`no version`, "", "is of 1.?, and a kubelet of 1.36 must not be newer: "},
		{`"minor": "36"`, "/version", "the API server does not say its version: curl: (22) 404"},
		{`"minor": "36+"`, "", ""},
	} {
		m.write("/version", row.version)
		m.write("/sick", cmp.Or(row.sick, "nothing"))
		_, code := m.run(text, "-s")
		require.Equal(t, row.says == "", code == 0, m.messages)
		require.Contains(t, m.messages, row.says)
	}
	m.requireIs(old.nodes["worker-1"], now.nodes["worker-1"])
}

// died makes the nth call of mv, rm or cp kill what called it. After a power cut nothing follows.
func (m *aTree) died(at int, power bool) {
	m.t.Helper()
	for _, name := range []string{"mv", "rm", "cp"} {
		dark := ""
		if power {
			dark = ": >" + m.world + "/dark; "
		}
		script.Write(m.t, m.world+"/"+name, fmt.Sprintf("#!/bin/sh\nn=0\n"+
			"[ ! -e %[1]s/count ] || read -r n <%[1]s/count\n"+
			"n=$((n + 1))\necho $n >%[1]s/count\n"+
			"[ \"$n\" != %[2]d ] || { %[4]skill -9 $PPID; exit; }\nexec %[3]s \"$@\"\n",
			m.world, at, need.Basic(m.t, name), dark))
	}
}

// TestApplyInterrupted: killed at any of its steps, or without power from then on, the machine is
// what it was or what it was to become, without a person; and the same program goes on to the end.
// Without -all each walk has two moments, and no two walks have the same.
func TestApplyInterrupted(t *testing.T) {
	t.Parallel()
	worker := []string{sysctl, mirror, keyEdit, label, maxPods, zone}
	controlPlane := []string{audit, name}
	for _, row := range []struct {
		machine string
		edits   []string
		power   bool
		moments []int // without -all
	}{
		{"worker-1", worker, false, []int{3, 38}}, {"worker-1", worker, true, []int{17, 50}},
		{"cp-1", controlPlane, false, []int{2, 9}}, {"cp-1", controlPlane, true, []int{6, 25}},
	} {
		t.Run(fmt.Sprintf("%s %t", row.machine, row.power), func(t *testing.T) {
			t.Parallel()
			shells := need.Usable(t)
			old, now := edit(t).nodes[row.machine], edit(t, row.edits...).nodes[row.machine]
			text, err := applyProgram(t, edit(t), edit(t, row.edits...), row.machine)
			require.NoError(t, err)
			moments := row.moments
			if *golden.All {
				for moments = nil; len(moments) < 200; {
					moments = append(moments, len(moments)+1)
				}
			}
			ended, undone := false, 0
			for _, at := range moments {
				m := growLive(t, old, shells[at%len(shells)])
				ended = m.interrupted(text, at, row.power)
				made, _, _ := strings.Cut(m.read("/var/lib/kiln/state"), "\n")
				require.Equal(t, made, sumOf(m.read(node.List)), "killed at %d", at)
				if made == sumOf(string(old.File(node.List).Content)) {
					require.False(t, ended)
					m.requireIs(now, old)
					undone++
				} else {
					m.requireIs(old, now)
				}
				m.endHook()
				out, code := m.run(text, "-s")
				require.Empty(t, m.messages, "killed at %d", at)
				require.Zero(t, code, out)
				m.requireIs(old, now)
				m.requireNothingLeft()
				if ended {
					break
				}
			}
			require.Equal(t, *golden.All, ended, "only with -all a walk reaches the end")
			if *golden.All {
				require.Greater(t, undone, 2)
			}
			require.Positive(t, undone)
		})
	}
}

// interrupted runs kiln apply until the moment, and what follows without a person: the start of a
// computer that lost its power. ended reports whether it came to its end before that moment.
func (m *aTree) interrupted(text string, at int, power bool) (ended bool) {
	m.t.Helper()
	m.died(at, power)
	_, code := m.run(text, "-s")
	for _, name := range []string{"mv", "rm", "cp"} {
		require.NoError(m.t, os.Remove(m.world+"/"+name))
	}
	if power { // it has power again
		require.NoError(m.t, os.RemoveAll(m.root+"/run"))
		require.NoError(m.t, os.RemoveAll(m.world+"/dark"))
		if _, err := os.Stat(m.root + "/var/lib/kiln/before"); err == nil {
			out, code := m.run("exec sh $KILN_ROOT/var/lib/kiln/before/change undo", "-s")
			require.Zero(m.t, code, "%s %s", out, m.messages)
		}
	}
	return code == 0
}

// endHook lets the hook come to its end.
func (m *aTree) endHook() {
	m.t.Helper()
	if text := m.read("/var/lib/kiln/state"); !strings.Contains(text, `"done":`) {
		m.write("/var/lib/kiln/state", strings.Replace(text, "\n ", ",\"done\":1\n ", 1))
	}
}

// TestApplyPutsBack: what does not come up with the newer document gets the older one back, and the
// reason is said.
func TestApplyPutsBack(t *testing.T) {
	t.Parallel()
	shells := need.Usable(t)
	for i, row := range []struct {
		name, machine, edit string
		do                  func(m *aTree)
		want                string
	}{
		{"the kubelet", "worker-1", maxPods, func(m *aTree) { m.write("/sick", ":10248") },
			"kubelet is not well: a bad setting"},
		{"the API server", "cp-1", audit, func(m *aTree) {
			m.write("/var/log/pods/kube-system_kube-apiserver-cp-1_12ab/kube-apiserver/0.log",
				"TIME stderr F Error: unknown flag\n")
			m.write("/sick", "/readyz --cacert")
		}, "kube-apiserver is not well: Error: unknown flag"},
		{"the hook", "worker-1", maxPods, func(m *aTree) { m.write("/waits", "") },
			"its hook is not well: "},
		{"a command", "worker-1", sysctl, func(m *aTree) {
			script.Write(m.t, m.world+"/systemd-sysctl", "#!/bin/sh\nexit 1\n")
		}, "this failed: systemd-sysctl /etc/sysctl.d/90-kiln.conf; mend cluster.yaml"},
		{"a full disk", "worker-1", sysctl, func(m *aTree) {
			script.Write(m.t, m.world+"/cp", "#!/bin/sh\ncase $3 in\n"+
				"*/.90-kiln.conf.kiln)\n"+
				"	[ -e \"$KILN_ROOT/full\" ] || { : >\"$KILN_ROOT/full\"; exit 1; }\n	;;\n"+
				"esac\nexec "+need.Basic(m.t, "cp")+" \"$@\"\n")
		}, "/etc/sysctl.d/90-kiln.conf cannot be written"},
		{"a unit", "worker-1", zonedUnit, func(m *aTree) {
			m.link("../usr/share/zoneinfo/UTC", "/etc/localtime")
			m.write("/fails", "start a.service")
		}, "a.service does not start; mend cluster.yaml"},
		{"a registry", "worker-1", mirror + "," + maxPods, func(m *aTree) {
			m.write("/sick", ":10248")
		}, "kubelet is not well: a bad setting"},
		{"a status that says all is well", "worker-1", maxPods, func(m *aTree) {
			m.write("/sick", ":10248")
			script.Write(m.t, m.world+"/systemd-run",
				strings.Replace(systemdRun, "exit \"$rc\"", "exit 0", 1))
		}, "kubelet is not well: a bad setting"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			old, now := edit(t), edit(t, row.edit)
			m, text := changing(t, old, now, row.machine, shells[i%len(shells)])
			row.do(m)
			m.refuses(text, row.want)
			require.Contains(t, m.messages, "; the machine is as it was before\n")
			m.requireIs(now.nodes[row.machine], old.nodes[row.machine])
			m.requireNothingLeft()
			require.NoDirExists(t, filepath.Dir(m.root+mirrored), "it would hide _default")
			if zone, err := os.Readlink(m.root + "/etc/localtime"); err == nil {
				require.Equal(t, "../usr/share/zoneinfo/UTC", zone)
			}
		})
	}
}

// TestApplyEtcd: once a newer minor of etcd has the data the machine keeps its newer document, even
// if something does not come up; and the next document mends it.
func TestApplyEtcd(t *testing.T) {
	t.Parallel()
	const image = `{op: add, path: /spec/images, ` +
		`value: {etcd: "registry.k8s.io/etcd:%s"}}`
	older := fmt.Sprintf(image, "3.6.11-0")
	old, now := edit(t, older), edit(t, fmt.Sprintf(image, "3.7.0-0"), audit)
	m := growLive(t, old.nodes["cp-1"], need.Usable(t)[0])
	script.Write(t, m.world+"/chroot", "#!/bin/sh\n[ ! -e \"$KILN_ROOT/mute\" ] || exit 1\n"+
		"echo snapshot >\"$KILN_ROOT/var/lib/etcd/kiln.db\"\n")
	m.write("/var/lib/etcd/member/snap/db", "3.6")
	text, err := applyProgram(t, old, now, "cp-1")
	require.NoError(t, err)

	m.write("/mute", "")
	m.refuses(text, "no snapshot of etcd: ; the machine is as it was before")
	m.requireIs(now.nodes["cp-1"], old.nodes["cp-1"])

	// Its data is as it was: it can go back.
	m.endHook()
	m.remove("/mute")
	m.write("/sick", "2381/readyz")
	m.refuses(text, "etcd is not well: ; the machine is as it was before")
	m.requireIs(now.nodes["cp-1"], old.nodes["cp-1"])
	m.endHook()

	m.write("/opens", "")
	m.write("/sick", "/readyz --cacert")
	m.refuses(text, "kube-apiserver is not well: ")
	require.Contains(t, m.messages, "; the machine has its newer document, because a newer ")
	require.Equal(t, "snapshot\n", m.read("/var/lib/kiln/etcd.db"))
	m.requireIs(old.nodes["cp-1"], now.nodes["cp-1"])
	m.requireNothingLeft()
	require.NotContains(t, m.read("/var/lib/kiln/state"), `"done"`)

	m.remove("/sick")
	mended := edit(t, fmt.Sprintf(image, "3.7.0-0"))
	text, err = applyProgram(t, now, mended, "cp-1")
	require.NoError(t, err)
	m.applies(text)
	m.requireIs(now.nodes["cp-1"], mended.nodes["cp-1"])
	list := string(old.nodes["cp-1"].File(node.List).Content)
	require.Contains(t, list, "\nend "+strings.TrimSpace(m.read("/var/lib/kiln/born")))
}

// TestApplyGivesCertificate: with other CAs or another certificate the kubelet gets the one of its
// document, also in place of one that it has asked for itself, and loses it if the change is put
// back.
func TestApplyGivesCertificate(t *testing.T) {
	t.Parallel()
	stage := func(n int) *edited {
		return editBundle(t, func(b *pki.Bundle) {
			if n > 0 {
				require.NoError(t, b.Rotate("ca", b.Issued.Add(time.Hour), decade))
			}
			if n > 1 {
				require.NoError(t, b.NextStage("ca", b.Issued.Add(2*time.Hour)))
			}
		})
	}
	stages := []*edited{stage(0), stage(1), stage(2)}
	const own = "kubelet-client-2026-11-29.pem"
	for i, sick := range []bool{false, true} {
		m := growLive(t, stages[0].nodes["worker-1"], need.Usable(t)[i%2])
		for at := range 2 {
			old, now := stages[at], stages[at+1]
			m.write("/var/lib/kubelet/pki/"+own, "")
			m.remove(plan.KubeletCurrent)
			m.link(own, plan.KubeletCurrent)
			text, err := applyProgram(t, old, now, "worker-1")
			require.NoError(t, err)
			m.n = now.nodes["worker-1"]
			if sick {
				m.write("/sick", ":10248")
			}
			_, code := m.run(text, "-s")
			is, err := os.Readlink(m.root + plan.KubeletCurrent)
			require.NoError(t, err)
			if sick {
				require.Equal(t, 1, code)
				require.Equal(t, own, is)
				break
			}
			require.Zero(t, code, m.messages)
			require.Equal(t, "kubelet-client-kiln.pem", is)
		}
	}
}

// TestApplyToEtcd: root writes to the folder of etcd's user, which has no process then.
func TestApplyToEtcd(t *testing.T) {
	t.Parallel()
	old, now := edit(t), editBundle(t, func(b *pki.Bundle) {
		require.NoError(t, b.Rotate("etcd-ca", b.Issued.Add(time.Hour), decade))
	})
	m, text := changing(t, old, now, "cp-1", need.Usable(t)[0])
	require.Contains(t, m.applies(text), "started anew: etcd kube-apiserver\n")
	m.requireIs(old.nodes["cp-1"], now.nodes["cp-1"])
}

// TestApplyWithoutOthers: a member of etcd stays as long as another one is away.
func TestApplyWithoutOthers(t *testing.T) {
	t.Parallel()
	old, now := edit(t), edit(t, quota)
	m, text := changing(t, old, now, "cp-1", need.Usable(t)[0])
	m.write("/sick", "https://10.0.0.13:2378/health")
	before := m.everything()
	m.refuses(text, "the member of etcd on cp-3 is not well, and this one would go")
	require.Equal(t, before, m.everything())
}

// TestApplyRunsNoScript: a script of a first boot that the newer document has first is none of a
// machine that runs, though its hook goes through its steps again.
func TestApplyRunsNoScript(t *testing.T) {
	t.Parallel()
	old := edit(t)
	now := edit(t, maxPods, `{op: add, path: /spec/machines/preBoot, `+
		`value: [{name: wipe, content: "wipefs -a /dev/sdb"}]}`)
	m, text := changing(t, old, now, "worker-1", need.Usable(t)[0])
	m.applies(text)
	require.Contains(t, m.read("/var/lib/kiln/state"), `"pre-boot":0`)
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
			m.folder("/var/lib/kiln/before", 0o700)
		}, "is being put back: try again"},
		{"another kiln apply is at work", func(m *aTree) {
			m.units["kiln-apply.service"] = "state=active"
		}, "another kiln apply is at work: try again"},
		{"an older hook", func(m *aTree) { m.write("/etc/kiln/boot", "") },
			"the hook of this machine is of an older kiln"},
		// Root does not write where somebody else may put a link.
		{"a folder of others", func(m *aTree) {
			require.NoError(t, os.Chmod(m.root+"/etc/sysctl.d", 0o777))
		}, "/etc/sysctl.d/90-kiln.conf: others may write to /etc/sysctl.d;"},
		{"a link", func(m *aTree) {
			m.remove("/etc/sysctl.d/90-kiln.conf")
			m.link("/etc/shadow", "/etc/sysctl.d/90-kiln.conf")
		}, "/etc/sysctl.d/90-kiln.conf is no file here"},
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
			m.refuses(text, row.want)
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
		"what pods that run keep": {base, edit(t,
			`{op: add, path: /spec/workers/machines/kubelet, `+
				`value: {memorySwap: {swapBehavior: NoSwap}}}`, sysctl),
			"pods that run go on with the setting of before"},
		"a setting with slashes": {base, edit(t, `{op: add, path: /spec/machines/sysctls, value: `+
			`{net/ipv4/conf/default/rp_filter: "1"}}`), "what takes it does so when it starts"},
		"what an interface takes": {base, edit(t,
			`{op: add, path: /spec/machines/sysctls, value: `+
				`{net.core.somaxconn: "1", net.ipv4.conf.default.rp_filter: "1"}}`),
			"what takes it does so when it starts"},
		"all keys": {base, edit(t, `{op: remove, path: /spec/machines/sshAuthorizedKeys}`),
			"only if both documents have some"},
		"the last time server": {edit(t, ntp), base,
			"the system may have had a file of its own there"},
		"two stages at once": {base, editBundle(t, func(b *pki.Bundle) {
			require.NoError(t, b.Rotate("ca", b.Issued.Add(time.Hour), decade))
			require.NoError(t, b.NextStage("ca", b.Issued.Add(2*time.Hour)))
		}), "kiln plan refuses this change (rotation)"},
		"a mount": {base, edit(t, `{op: add, path: /spec/machines/units, value: [`+
			`{name: srv.mount, enabled: true, content: "[Mount]\nWhat=/dev/sdb\nWhere=/srv\n`+
			`[Install]\nWantedBy=multi-user.target\n"}]}`),
			"unit srv.mount: kiln apply does not set it"},
		"a unit of the image that is not mentioned any more": {
			edit(t, `{op: add, path: /spec/machines/units, value: [{name: ssh.service, `+
				`enabled: true}]}`), base, "unit ssh.service: kiln apply does not set it"},
		"a file where the mask is": {edit(t, mask), edit(t, aUnit),
			"unit a.service: kiln apply does not set it"},
		"another target": {edit(t, aUnit), edit(t, strings.Replace(aUnit, "multi-user",
			"graphical", 1)), "systemd reads it when it enables the unit"},
	} {
		_, err := applyProgram(t, row.old, row.now, "worker-1")
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

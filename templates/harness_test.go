package templates_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
	"kiln.dev/kiln/test/script"
)

// all runs every test and every row of a table under every shell, and kills the hook before each of
// its commands. A run of the hook starts some 350 processes, and they are what these tests cost. So
// without it most tests have one shell, and each shell has a third of them.
var all = flag.Bool("all", false, "run what make test leaves out; it takes about an hour")

// underEachShell runs test once for each shell, and skips those that are not here. It fails if none
// is.
func underEachShell(t *testing.T, test func(t *testing.T, shell []string)) {
	t.Helper()
	t.Parallel()
	need.Usable(t)
	for _, name := range need.Shells() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, name)
			test(t, need.Words(name))
		})
	}
}

// underAShell runs test under one shell, which the name of the test chooses; with -all under each
// shell.
func underAShell(t *testing.T, test func(t *testing.T, shell []string)) {
	t.Helper()
	sum := 0
	for _, c := range []byte(t.Name()) {
		sum += int(c)
	}
	underOneShell(t, sum, test)
}

// underOneShell runs the i-th row of a table under one shell, the shells by turns; with -all under
// each shell.
func underOneShell(t *testing.T, i int, test func(t *testing.T, shell []string)) {
	t.Helper()
	if *all {
		underEachShell(t, test)
		return
	}
	t.Parallel()
	names := need.Usable(t)
	name := names[i%len(names)]
	t.Run(name, func(t *testing.T) { test(t, need.Words(name)) })
}

// isTurn reports whether the i-th of many runs of a test is for this shell. Each run is for one of
// the shells, and with -all for all of them.
func isTurn(t *testing.T, shell []string, i int) bool {
	t.Helper()
	names := need.Usable(t)
	return *all || names[i%len(names)] == shell[0]
}

// mainShell returns the shell that has most of the runs of a test: dash, if it is here.
func mainShell(t *testing.T) string {
	t.Helper()
	names := need.Usable(t)
	return names[len(names)-1]
}

func mapsKeys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// secret is part of every file whose content must not be shown.
const secret = "S3CR3T-of-this-machine"

// aMachine is a temporary root with fake commands before the real ones in PATH. The files in world/
// decide what the commands do, and tests change these files.
type aMachine struct {
	t     *testing.T
	shell []string
	root  string // KILN_ROOT
	world string // what the fake commands know and what they were asked
	bin   string
	data  map[string]string // /etc/kiln/machine
	check []string          // /etc/kiln/checks
	kinds []string          // further lines of /etc/kiln/files
	holds []string          // conditions of lines of the hook
}

const kubeSystem = "/api/v1/namespaces/kube-system"

// newMachine returns a machine of that role with its document, before the first run of the hook.
func newMachine(t *testing.T, shell []string, role string) *aMachine {
	t.Helper()
	// Not t.TempDir: a Unix socket's path has at most 108 bytes.
	dir, err := os.MkdirTemp("", "kiln")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &aMachine{t: t, shell: shell, root: dir + "/r", world: dir + "/w", bin: dir + "/b"}

	m.at("/proc/uptime", "100.00 90.00\n")
	m.at("/proc/meminfo", "MemTotal:        4096000 kB\nMemFree: 1 kB\n")
	m.at("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1048572 0 -2\n")
	m.at("/proc/sys/net/ipv4/ip_forward", "0\n")
	m.at("/proc/sys/kernel/hostname", "Localhost\n")
	m.at("/proc/net/tcp", "  sl  local_address rem_address   st\n   0: "+
		"0100007F:0277 00000000:0000 0A 00000000:00000000\n")
	m.at("/proc/net/tcp6", "  sl  local_address\n")
	m.at("/run/containerd/x", "")
	m.listen("/run/containerd/containerd.sock")
	m.at("/usr/lib/kiln-test", "")

	for name, content := range map[string]string{
		"clock": "1800000000", "uid": "0", "cpus": "2", "arch": "x86_64",
		"kernel": "6.1.0-18-amd64", "active": "active",
		"kubelet-version": "Kubernetes v1.36.3", "address": "2: eth0    inet 10.0.0.11/24 scope " +
			"global eth0",
		"addresses": "eth0 UP 10.0.0.11/24", "route-4": "192.0.2.1 via 10.0.0.1 dev eth0 src " +
			"10.0.0.11 uid 0 \\    cache", "hostname": "cp-1", "api/x": "", "curl": "",
		"systemctl": "",
	} {
		m.know(name, content+"\n")
	}
	must(t, os.Truncate(m.world+"/curl", 0))
	must(t, os.Truncate(m.world+"/systemctl", 0))
	for name, program := range fakes {
		write(t, m.bin+"/fakes/"+name, "#!/bin/sh\n"+program+"\n", 0o755)
		if name != "ctr" {
			must(t, os.Symlink("fakes/"+name, m.bin+"/"+name))
		}
	}

	if os.Geteuid() != 0 {
		write(t, m.bin+"/stat", fmt.Sprintf(ownStat, need.Basic(t, "stat")), 0o755)
		write(t, m.bin+"/chown", ownChown, 0o755)
	}

	m.hold(templates.IfBacksUp, templates.IfCloudInit, templates.IfCredential,
		templates.IfIPv6, templates.IfLoads, templates.IfSwapOff, role)
	m.at("/etc/machine-id", "6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1\n")
	m.at("/etc/kubernetes/pki/ca.crt", "ca")
	m.at("/etc/with space.conf", "x")
	m.data = map[string]string{
		"node": "cp-1", "role": role, "cluster": "0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11",
		"step_timeout":   "600",
		"credential_end": "1800600000", "api": "https://10.0.0.11:6443",
		"etcd_peers": "", "etcd_url": "",
		"kubelet": "kubelet", "pre_boot": "", "post_boot": "", "marker": "",
		"steps":   "files machine preflight kubelet node network",
		"restart": "systemd-modules-load.service systemd-sysctl.service containerd.service",
		"retire":  "/run/ignition.json",
	}
	m.check = []string{
		"cpus|stop|at_least 2 nproc|give it two CPUs",
		"memory|stop|memory_kib 1740800|give it 1700 MiB",
		"arch|stop|equals x86_64 uname -m|render for this architecture",
		"kernel|warn|version_from 5.13 uname -r|update the kernel",
		"swap|stop|swap_off|switch swap off",
		"tool|stop|exist cat|install it",
		"runtime|wait|exist run/containerd/containerd.sock|start containerd",
		"module|stop|modules br_netfilter|load it",
		"sysctl|stop|sysctls net/ipv4/ip_forward=1|set it",
		"port|stop|ports_free 6443 10250|ss -lntp",
		"address|wait|addresses 10.0.0.11|give this machine its address",
		"clock-behind|wait|at_least 1790000000 date +%s|set the clock",
		"cert-expired|stop|at_most 1830000000 date +%s|render again",
		"kubelet|stop|has_word v1.36 kubelet --version|install another kubelet",
		"runtime-active|wait|equals active systemctl is-active containerd.service|start containerd",
		"disk|stop|at_least 1 free_mib var|make room",
	}
	must(t, os.MkdirAll(m.root+"/var/lib/etcd/lost+found", 0o700))
	if role != "etcd" {
		m.at("/etc/kubernetes/kubelet.conf", "conf")
		m.at("/var/lib/kubelet/pki/kubelet-client-2026.pem", secret)
		m.kinds = []string{"link kubelet-client-2026.pem - " + kubeletCurrent}
	}
	switch role {
	case "etcd":
		must(t, os.Remove(m.root+"/etc/kubernetes/pki/ca.crt"))
		m.carriesMember()
		m.data["api"] = ""
		m.data["steps"] = "files machine preflight etcd kubelet member ready"
	case "control-plane":
		m.carriesMember()
		m.hold(templates.IfObjects, templates.IfDefinitions)
		m.at("/etc/kubernetes/pki/install.crt", "install")
		m.at("/etc/kubernetes/pki/install.key", secret)
		m.at("/etc/kubernetes/admin.conf", secret)
		m.at("/etc/kubernetes/pki/apiserver-kubelet-client.crt", "crt")
		m.at("/etc/kubernetes/pki/apiserver-kubelet-client.key", secret)
		m.kinds = append(m.kinds, "dir 0700 root:root /etc/kubernetes/manifests")
		m.at("/etc/kiln/objects/index", kubeSystem+"/secrets/token\ttoken.yaml\n"+
			"/apis/apps/v1/namespaces/kube-system/deployments/coredns\tcoredns.yaml\n"+
			kubeSystem+"/configmaps/kiln\tmarker.yaml\n")
		m.at("/etc/kiln/objects/token.yaml", "data: "+secret)
		m.at("/etc/kiln/objects/coredns.yaml", "kind: Deployment")
		m.at("/etc/kiln/objects/marker.yaml", "kind: ConfigMap")
		m.at("/etc/kiln/node.yaml", "kind: Node")
		m.data["steps"] = "files machine preflight etcd kubelet member objects control-plane " +
			"node labels network"
		m.data["marker"] = kubeSystem + "/configmaps/kiln"
		m.data["retire"] += " /etc/kubernetes/pki/install.crt /etc/kubernetes/pki/install.key"
	}
	return m
}

// lacks gives the machine the programs of one for which a condition does not hold.
func (m *aMachine) lacks(condition string) {
	m.holds = slices.DeleteFunc(m.holds, func(c string) bool { return c == condition })
	m.hold()
}

// hold gives the machine the programs of one for which these conditions hold too, with all steps
// and checks.
func (m *aMachine) hold(conditions ...string) {
	m.holds = append(m.holds, conditions...)
	m.at("/etc/kiln/boot", templates.Boot(m.holds))
	m.at("/etc/kiln/report", templates.Report(m.holds))
	m.at("/etc/kiln/steps", templates.Steps(m.holds,
		strings.Fields("pre-boot machine fetch extend packages preflight name restore others etcd "+
			"kubelet member objects control-plane node labels role network ready "+
			"post-boot"), everyCheck()))
}

// carriesMember gives the machine one of three members of etcd.
func (m *aMachine) carriesMember() {
	m.hold(templates.IfMember, templates.IfPeers)
	m.at("/etc/etcd/pki/ca.crt", "ca")
	m.at("/etc/etcd/pki/server.crt", "crt")
	m.at("/etc/etcd/pki/server.key", secret)
	m.at("/etc/kubernetes/manifests/etcd.yaml",
		"    - --initial-cluster=cp-1=https://10.0.0.11:2380,cp-2=https://10.0.0.12:2380,"+
			"cp-3=https://10.0.0.13:2380\n"+
			"    - --initial-cluster-state=new\n    - --initial-cluster-token=t\n")
	m.data["etcd_member"] = "cp-1"
	m.data["etcd_cluster"] = m.data["cluster"]
	m.data["etcd_deadline"] = m.data["credential_end"]
	m.data["etcd_url"] = "https://10.0.0.11:2380"
	m.data["etcd_peers"] = "cp-2=https://10.0.0.12:2380,https://10.0.0.12:2378 " +
		"cp-3=https://10.0.0.13:2380,https://10.0.0.13:2378"
}

// alone makes the machine the only member of etcd.
func (m *aMachine) alone() {
	m.data["etcd_peers"] = ""
	m.lacks(templates.IfPeers)
}

func must(t *testing.T, err error) {
	t.Helper()
	require.NoError(t, err)
}

func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if mode&0o100 != 0 {
		script.Write(t, path, content)
		return
	}
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), mode))
}

// at writes a file on the machine.
func (m *aMachine) at(path, content string) {
	m.t.Helper()
	write(m.t, m.root+path, content,
		0o600)
}

// know writes a file that the fake commands read.
func (m *aMachine) know(name, content string) {
	m.t.Helper()
	write(m.t, m.world+"/"+name, content, 0o600)
}

// rule makes curl give that answer to a request, that many times; 9999 is for ever. The URL
// may contain *.
func (m *aMachine) rule(method, url string, times, code, exit int, body string) {
	m.t.Helper()
	rules, _ := os.ReadDir(m.world + "/rules")
	m.know(fmt.Sprintf("rules/%03d", len(rules)),
		fmt.Sprintf("%s\n%s\n%d\n%03d\n%d\n%s\n", method, url, times, code, exit, body))
}

func (m *aMachine) listen(path string) {
	m.t.Helper()
	l, err := net.Listen("unix", m.root+path)
	must(m.t, err)
	m.t.Cleanup(func() { l.Close() })
}

// quoted returns a value as render quotes it in /etc/kiln/machine.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// document writes /etc/kiln, as render makes it for this machine.
func (m *aMachine) document() {
	m.t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(mapsKeys(m.data)) {
		fmt.Fprintf(&b, "%s=%s\n", name, quoted(m.data[name]))
	}
	m.at("/etc/kiln/machine", b.String())
	m.at("/etc/kiln/checks", strings.Join(m.check, "\n")+"\n")
	lines := slices.Clone(m.kinds)
	must(m.t, filepath.WalkDir(m.root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, m.root)
		if err != nil || d.IsDir() || !strings.HasPrefix(name, "/etc/") ||
			name == "/etc/kiln/files" {
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		lines = append(lines, fmt.Sprintf("%s 0600 root:root %s", hex.EncodeToString(sum[:])[:8],
			name))
		return err
	}))
	m.at("/etc/kiln/files", strings.Join(lines, "\n")+"\nend "+digest+" ca: g2 issue\n")
}

// digest is the digest of the machine's review twin.
const digest = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"

type verdict struct {
	Phase, Step, Node, Cluster, Document string
	Uptime                               int
	Steps                                map[string]int
	Waiting                              string
	Faults                               []struct{ Code, Object, Evidence, Remedy string }
}

var seconds = regexp.MustCompile(`("[a-z-]+":)\d+`)

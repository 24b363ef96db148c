package templates_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kiln/templates"
)

// shells are those that /bin/sh is on the machines that kiln supports.
var shells = map[string][]string{
	"dash":    {"dash"},
	"busybox": {"busybox", "sh"},
	"bash":    {"bash", "--posix"},
}

// underEachShell runs test once for each shell that is here, and names the others.
func underEachShell(t *testing.T, test func(t *testing.T, shell []string)) {
	t.Helper()
	t.Parallel()
	for _, name := range slices.Sorted(mapsKeys(shells)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shells[name][0]); err != nil {
				t.Skipf("%s is not here", name)
			}
			if exec.Command(shells[name][0], append(slices.Clone(shells[name][1:]), "-c", "PATH=/none; date")...).Run() == nil {
				t.Skipf("this %s prefers its own programs to the fakes in PATH: install Debian's busybox, not busybox-static", name)
			}
			test(t, shells[name])
		})
	}
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

// secret stands in every file whose content must not be shown to anybody.
const secret = "S3CR3T-of-this-machine"

// aMachine is a scratch root with fake commands before the real ones in PATH: a machine that does what its commands
// say in world/, where tests change it.
type aMachine struct {
	t     *testing.T
	shell []string
	root  string // KILN_ROOT
	world string // what the fake commands know and what they were asked
	bin   string
	data  map[string]string // /etc/kiln/machine
	check []string          // /etc/kiln/checks
	kinds []string          // further lines of /etc/kiln/files
}

// fake is every fake command; its name decides. Time passes in sleep alone.
const fake = `#!/bin/sh
me=${0##*/}
known() {
	read -r line <"$WORLD/$1" || :
	echo "$line"
}
case $me in
sync) ;;
sleep)
	read -r up rest <"$KILN_ROOT/proc/uptime"
	echo "$((${up%%.*} + $1)).00 $rest" >"$KILN_ROOT/proc/uptime"
	read -r now <"$WORLD/clock"
	echo "$((now + $1))" >"$WORLD/clock"
	;;
date) known clock ;;
id) known uid ;;
nproc) known cpus ;;
uname)
	case $1 in
	-m) known arch ;;
	*) known kernel ;;
	esac
	;;
kubelet) known kubelet-version ;;
journalctl) known journal ;;
timeout)
	shift
	exec "$@"
	;;
systemd-run)
	while [ "$1" != sh ] && [ "$1" != ctr ]; do
		case $1 in
		RuntimeMaxSec=*) limit=${1#*=} ;;
		esac
		shift
	done
	[ "$1" = sh ] || exec "$@"
	case $(cat "$2") in
	*forever*) sleep "$limit" && exit 1 ;;
	esac
	exec "$@"
	;;
ctr)
	case $* in
	*'images ls'*) cat "$WORLD/images" ;;
	*'images pull'*)
		echo images pull >>"$WORLD/ctr"
		[ -e "$WORLD/can-pull" ] || { echo 'ctr: no such host' >&2; exit 1; }
		echo "${*##* }" >"$WORLD/images"
		;;
	*'containers rm'*) echo containers rm >>"$WORLD/ctr" ;;
	*' run '*)
		echo run >>"$WORLD/ctr"
		echo "$*" >"$WORLD/ctr-run"
		[ ! -e "$WORLD/bad-snapshot" ] || { echo 'Error: expected sha256 [1], got [2]' >&2; exit 1; }
		mkdir "$KILN_ROOT/var/lib/etcd/restore"
		mkdir -p "$KILN_ROOT/var/lib/etcd/restore/member/snap"
		echo whole >"$KILN_ROOT/var/lib/etcd/restore/member/snap/db"
		;;
	esac
	;;
ip)
	case $* in
	*"show to "*) known address ;;
	*' route get '*) cat "$WORLD/route$2" 2>/dev/null || { echo 'RTNETLINK answers: Network is unreachable' >&2; exit 2; } ;;
	*'show scope global'*) echo "$*" >>"$WORLD/ip" && cat "$WORLD/global$2" 2>/dev/null ;;
	*) echo 'lo UNKNOWN 127.0.0.1/8'; known addresses ;;
	esac
	;;
systemctl)
	echo "$*" >>"$WORLD/systemctl"
	case $* in
	'restart '*)
		case $* in
		*systemd-sysctl.service*)
			[ -e "$WORLD/no-sysctl" ] || echo 1 >"$KILN_ROOT/proc/sys/net/ipv4/ip_forward"
			known hostname >"$KILN_ROOT/proc/sys/kernel/hostname"
			;;
		esac
		case $* in
		*systemd-modules-load.service*) [ -e "$WORLD/no-module" ] || mkdir -p "$KILN_ROOT/sys/module/br_netfilter" ;;
		esac
		;;
	'stop *.swap') [ -e "$WORLD/no-swapoff" ] || echo Filename >"$KILN_ROOT/proc/swaps" ;;
	'is-active kubelet.service') if [ -e "$WORLD/no-kubelet" ]; then known no-kubelet; else echo active; fi ;;
	*' kubelet.service')
		[ -e "$KILN_ROOT/var/lib/kiln/kubelet-allowed" ] || exit 0
		[ ! -e "$WORLD/no-kubelet" ] || exit 0
		: >"$WORLD/running"
		[ ! -e "$KILN_ROOT/etc/kubernetes/bootstrap-kubelet.conf" ] || {
			mkdir -p "$KILN_ROOT/var/lib/kubelet/pki"
			echo pem >"$KILN_ROOT/var/lib/kubelet/pki/kubelet-client-current.pem"
			echo conf >"$KILN_ROOT/etc/kubernetes/kubelet.conf"
		}
		;;
	'is-active '*) known active ;;
	esac
	;;
curl)
	echo "$*" >>"$WORLD/curl"
	method=GET out='' body='' url='' head=/dev/null
	while [ $# -gt 0 ]; do
		case $1 in
		-o) out=$2 && shift ;;
		-X) method=$2 && shift ;;
		-d) method=POST && shift ;;
		--data-binary) body=${2#@} && shift ;;
		-D) head=$2 && shift ;;
		-w | -H | -A | -m | --noproxy | --cacert) shift ;;
		--cert | --key) [ -r "$2" ] || { echo 'curl: (58) no certificate' >&2; printf 000; exit 58; }; shift ;;
		-*) ;;
		*) url=$1 ;;
		esac
		shift
	done
	rest=${url#*://*/}
	# The first rule for this request that has not been used up answers it: method, URL, times, code, exit, body.
	[ ! -e "$WORLD/rules" ] || for rule in "$WORLD"/rules/*; do
		[ -e "$rule" ] || continue
		{ read -r rule_method && read -r rule_url && read -r times && read -r code && read -r status; } <"$rule"
		[ "$rule_method" = "$method" ] || continue
		case $url in
		$rule_url) ;;
		*) continue ;;
		esac
		tail -n +6 "$rule" >"$out"
		printf 'HTTP/1.1 200 OK\r\nX-Etcd-Cluster-Id: %s\r\n' "$(cat "$WORLD/etcd-id" 2>/dev/null)" >"$head"
		if [ "$times" = 1 ]; then
			rm "$rule"
		else
			{ echo "$rule_method"; echo "$rule_url"; echo "$((times - 1))"; tail -n +4 "$rule"; } >"$rule.new"
			mv "$rule.new" "$rule"
		fi
		[ "$status" = 0 ] || echo "curl: ($status) $(cat "$WORLD/curl-says" 2>/dev/null || echo as the rule says)" >&2
		printf %s "$code"
		exit "$status"
	done
	case $method$url in
	*/v3/cluster/member/* | *:2380/members) echo 'curl: (7) refused' >&2 && printf 000 && exit 7 ;;
	esac
	[ -e "$WORLD/running" ] || { echo 'curl: (7) refused' >&2; printf 000; exit 7; }
	name=$(printf %s "${rest%%\?*}" | tr / _)
	case $method$url in
	PATCH*)
		cp "$body" "$WORLD/api/$name"
		echo "$name" >>"$WORLD/applied"
		printf 200
		;;
	*/nodes/*)
		printf '{"status":{"nodeInfo":{"machineID":"%s"}}}' "$(cat "$KILN_ROOT/etc/machine-id")" >"$out"
		printf 200
		;;
	*/api/v1/* | */apis/*)
		if [ -e "$WORLD/api/$name" ]; then printf 200; else printf 404; fi
		;;
	*) printf 200 ;;
	esac
	;;
esac
`

// killer stands before a command in crash tests, and counts. At command number WORLD/kill-at everything dies: SIGKILL
// for the hook and all that it started, as when the power fails.
const killer = `#!/bin/sh
PATH=$REST
echo >>"$WORLD/calls"
if read -r n 2>/dev/null <"$WORLD/kill-at" && [ "$(wc -l <"$WORLD/calls")" -gt "$n" ]; then
	kill -KILL 0
fi
exec "${0##*/}" "$@"
`

const kubeSystem = "/api/v1/namespaces/kube-system"

// newMachine returns a machine of that role as its document leaves it: powered on for the first time, the hook not run.
func newMachine(t *testing.T, shell []string, role string) *aMachine {
	t.Helper()
	// Not t.TempDir: a Unix socket's path has at most 108 bytes.
	dir, err := os.MkdirTemp("", "kiln")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &aMachine{t: t, shell: shell, root: dir + "/r", world: dir + "/w", bin: dir + "/b"}

	m.at("/proc/uptime", "100.00 90.00\n")
	m.at("/proc/meminfo", "MemTotal:        4096000 kB\nMemFree: 1 kB\n")
	m.at("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1048572 0 -2\n")
	m.at("/proc/sys/net/ipv4/ip_forward", "0\n")
	m.at("/proc/sys/kernel/hostname", "Localhost\n")
	m.at("/proc/net/tcp", "  sl  local_address rem_address   st\n   0: 0100007F:0277 00000000:0000 0A 00000000:00000000\n")
	m.at("/proc/net/tcp6", "  sl  local_address\n")
	m.at("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n")
	m.at("/dev/console", "")
	m.at("/run/containerd/x", "")
	m.listen("/run/containerd/containerd.sock")
	m.at("/usr/lib/kiln-test", "")

	for name, content := range map[string]string{
		"clock": "1800000000", "uid": "0", "cpus": "2", "arch": "x86_64", "kernel": "6.1.0-18-amd64", "active": "active",
		"kubelet-version": "Kubernetes v1.36.3", "address": "2: eth0    inet 10.0.0.11/24 scope global eth0",
		"addresses": "eth0 UP 10.0.0.11/24", "route-4": "192.0.2.1 via 10.0.0.1 dev eth0 src 10.0.0.11 uid 0 \\    cache", "hostname": "cp-1", "api/x": "", "curl": "", "systemctl": "",
	} {
		m.know(name, content+"\n")
	}
	must(t, os.Truncate(m.world+"/curl", 0))
	must(t, os.Truncate(m.world+"/systemctl", 0))
	write(t, m.bin+"/fake", fake, 0o755)
	for _, name := range strings.Fields("sync sleep date id nproc uname kubelet timeout ip systemctl systemd-run journalctl curl") {
		must(t, os.Symlink("fake", m.bin+"/"+name))
	}

	m.at("/etc/kiln/boot", templates.Boot)
	m.at("/etc/kiln/report", templates.Report)
	m.at("/etc/kiln/steps", templates.Steps(
		strings.Fields("pre-boot machine preflight name restore others etcd kubelet member control-plane objects node labels role ready post-boot retire"), templates.CheckKinds()))
	m.at("/etc/machine-id", "6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1\n")
	m.at("/etc/kubernetes/pki/ca.crt", "ca")
	m.at("/etc/with space.conf", "x")
	m.data = map[string]string{
		"node": "cp-1", "role": role, "cluster": "0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11", "step_timeout": "600",
		"formation_deadline": "1800600000", "api": "https://10.0.0.11:6443", "etcd_member": "", "etcd_peers": "", "etcd_url": "",
		"swap": "off", "kubelet": "kubelet", "pre_boot": "", "post_boot": "", "marker": "", "steps": "files machine preflight kubelet node retire",
		"restart": "systemd-modules-load.service systemd-sysctl.service containerd.service", "wall": "",
		"retire": "/etc/kubernetes/bootstrap-kubelet.conf /run/ignition.json",
	}
	m.check = []string{
		"root|stop|root|run it as root",
		"cpus|stop|cpus 2|give it two CPUs",
		"memory|stop|memory 1700|give it 1700 MiB",
		"arch|stop|arch x86_64|render for this architecture",
		"kernel|warn|kernel 5.13|update the kernel",
		"cgroup-v1|stop|cgroup2 cpu cpuset memory pids|boot with cgroup v2",
		"swap|stop|swap-off|switch swap off",
		"losetup|stop|command cat|install it",
		"no-systemd|stop|file-exists /run/containerd|boot with systemd",
		"module-br_netfilter|stop|module br_netfilter|load it",
		"sysctl-ip_forward|stop|sysctl net/ipv4/ip_forward 1|set it",
		"hostname|stop|sysctl kernel/hostname cp-1|set it",
		"port-6443|stop|port-free 6443|ss -ltnp sport = :6443",
		"port-10250|stop|port-free 10250|ss -ltnp sport = :10250",
		"node-ip-absent|wait|address 10.0.0.11|give this machine its address",
		"clock-behind|wait|not-before 1790000000|set the clock",
		"cert-expired|stop|not-after 1830000000|render again",
		"kubelet-version|stop|kubelet-version kubelet v1.33 v1.37|install another kubelet",
		"cri-socket|wait|socket /run/containerd/containerd.sock|start containerd",
		"cri-down|wait|active containerd.service|start containerd",
		"disk-var|stop|disk /var 1|make room",
		"etcd-dir|stop|empty-dir /var/lib/etcd|empty it",
	}
	must(t, os.MkdirAll(m.root+"/var/lib/etcd/lost+found", 0o700))
	switch role {
	case "etcd":
		must(t, os.Remove(m.root+"/etc/kubernetes/pki/ca.crt"))
		m.carriesMember()
		m.data["api"] = ""
		m.data["steps"] = "files machine preflight etcd kubelet member ready retire"
		m.data["retire"] = "/run/ignition.json"
	case "control-plane":
		m.carriesMember()
		m.at("/etc/kubernetes/pki/install.crt", "install")
		m.at("/etc/kubernetes/pki/install.key", secret)
		m.at("/etc/kubernetes/admin.conf", secret)
		m.at("/etc/kubernetes/kubelet.conf", "conf")
		m.at("/etc/kubernetes/pki/apiserver-kubelet-client.crt", "crt")
		m.at("/etc/kubernetes/pki/apiserver-kubelet-client.key", secret)
		m.at("/var/lib/kubelet/pki/kubelet-client-2026.pem", secret)
		m.kinds = []string{"link kubelet-client-2026.pem - /var/lib/kubelet/pki/kubelet-client-current.pem",
			"dir 0700 root:root /etc/kubernetes/manifests"}
		m.at("/etc/kiln/objects/index", kubeSystem+"/secrets/token\ttoken.yaml\n"+
			"/apis/apps/v1/namespaces/kube-system/deployments/coredns\tcoredns.yaml\n"+
			kubeSystem+"/configmaps/kiln\tmarker.yaml\n")
		m.at("/etc/kiln/objects/token.yaml", "data: "+secret)
		m.at("/etc/kiln/objects/coredns.yaml", "kind: Deployment")
		m.at("/etc/kiln/objects/marker.yaml", "kind: ConfigMap")
		m.at("/etc/kiln/node.yaml", "kind: Node")
		m.data["steps"] = "files machine preflight etcd kubelet member control-plane objects node labels retire"
		m.data["marker"] = kubeSystem + "/configmaps/kiln"
		m.data["retire"] += " /etc/kubernetes/pki/install.crt /etc/kubernetes/pki/install.key"
	default:
		m.at("/etc/kubernetes/bootstrap-kubelet.conf", "token: "+secret)
	}
	return m
}

// carriesMember gives the machine a member of etcd, one of three.
func (m *aMachine) carriesMember() {
	m.at("/etc/etcd/pki/ca.crt", "ca")
	m.at("/etc/etcd/pki/server.crt", "crt")
	m.at("/etc/etcd/pki/server.key", secret)
	m.at("/etc/kubernetes/manifests/etcd.yaml", "    - --initial-cluster=cp-1=https://10.0.0.11:2380,cp-2=https://10.0.0.12:2380,cp-3=https://10.0.0.13:2380\n    - --initial-cluster-state=new\n    - --initial-cluster-token=t\n")
	m.data["etcd_member"] = "cp-1"
	m.data["etcd_cluster"] = m.data["cluster"]
	m.data["etcd_deadline"] = m.data["formation_deadline"]
	m.data["etcd_url"] = "https://10.0.0.11:2380"
	m.data["etcd_peers"] = "cp-2=https://10.0.0.12:2380,https://10.0.0.12:2379 cp-3=https://10.0.0.13:2380,https://10.0.0.13:2379"
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), mode))
}

// at writes a file of the machine.
func (m *aMachine) at(path, content string) { m.t.Helper(); write(m.t, m.root+path, content, 0o600) }

// know writes what a fake command knows.
func (m *aMachine) know(name, content string) {
	m.t.Helper()
	write(m.t, m.world+"/"+name, content, 0o600)
}

// rule makes curl answer a request so, times times. The URL may hold *.
func (m *aMachine) rule(method, url string, times, code, exit int, body string) {
	m.t.Helper()
	rules, _ := os.ReadDir(m.world + "/rules")
	m.know(fmt.Sprintf("rules/%03d", len(rules)), fmt.Sprintf("%s\n%s\n%d\n%03d\n%d\n%s\n", method, url, times, code, exit, body))
}

func (m *aMachine) listen(path string) {
	m.t.Helper()
	l, err := net.Listen("unix", m.root+path)
	must(m.t, err)
	m.t.Cleanup(func() { l.Close() })
}

// quoted is how render quotes a value in /etc/kiln/machine.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// document writes /etc/kiln: what render makes for this machine.
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
		if err != nil || d.IsDir() || !strings.HasPrefix(name, "/etc/") || name == "/etc/kiln/files" {
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		lines = append(lines, fmt.Sprintf("%s 0600 root:root %s", hex.EncodeToString(sum[:])[:16], name))
		return err
	}))
	m.at("/etc/kiln/files", strings.Join(lines, "\n")+"\nend\n")
}

// run starts the hook and returns its output and exit status (-1: killed). Its verdict must parse, always.
func (m *aMachine) run() (string, int) {
	m.t.Helper()
	out, code := m.start()
	m.status()
	return out, code
}

func (m *aMachine) command(arguments ...string) *exec.Cmd {
	cmd := exec.Command(m.shell[0], append(slices.Concat(m.shell[1:], []string{m.root + "/etc/kiln/boot"}), arguments...)...)
	cmd.Dir = m.world
	rest := m.bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
	cmd.Env = []string{"PATH=" + m.world + "/kill:" + rest, "REST=" + rest, "KILN_ROOT=" + m.root, "WORLD=" + m.world,
		"http_proxy=http://proxy.invalid", "https_proxy=http://proxy.invalid"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// start is run without a look at the verdict, and with a verb if there is one.
func (m *aMachine) start(arguments ...string) (string, int) {
	m.t.Helper()
	cmd := m.command(arguments...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 20 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

type verdict struct {
	Phase, Step, Node, Cluster, Document string
	Uptime                               int
	Steps                                map[string]int
	Versions                             map[string]string
	Waiting                              string
	Faults                               []struct{ Code, Object, Evidence, Remedy string }
}

// status reads status.json, strictly. A machine that has none yet gives the zero verdict.
func (m *aMachine) status() verdict {
	m.t.Helper()
	var v verdict
	text, err := os.ReadFile(m.root + "/var/lib/kiln/status.json")
	if errors.Is(err, fs.ErrNotExist) {
		return v
	}
	must(m.t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		m.t.Fatalf("status.json: %v\n%s", err, text)
	}
	if !slices.Contains([]string{"running", "waiting", "stopped", "done"}, v.Phase) || v.Faults == nil {
		m.t.Fatalf("status.json: %s", text)
	}
	return v
}

func (m *aMachine) read(path string) string {
	m.t.Helper()
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must(m.t, err)
	return string(content)
}

// wantDone runs the hook to its end.
func (m *aMachine) wantDone() string {
	m.t.Helper()
	out, code := m.run()
	if v := m.status(); code != 0 || v.Phase != "done" {
		m.t.Fatalf("exit status %d, phase %s\n%s", code, v.Phase, out)
	}
	if strings.Contains(out, "FAULT") || strings.Contains(out, secret) {
		m.t.Fatalf("output:\n%s", out)
	}
	return out
}

// wantFaults runs the hook, which must stop with these faults ("FAULT code object: evidence", in order) and no other,
// and say them in all four places.
func (m *aMachine) wantFaults(want ...string) string {
	m.t.Helper()
	out, code := m.run()
	var got []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "FAULT ") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if code != 1 || len(got) != len(want) {
		m.t.Fatalf("exit status %d, want %d faults %q\n%s", code, len(want), want, out)
	}
	v := m.status()
	if v.Phase != "stopped" || len(v.Faults) != len(want) {
		m.t.Fatalf("status.json: %+v", v)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			m.t.Errorf("fault %d: %s\nwant %s", i, got[i], want[i])
		}
		f := v.Faults[i]
		if line := fmt.Sprintf("FAULT %s %s: %s; %s", f.Code, f.Object, f.Evidence, f.Remedy); line != got[i] || f.Remedy == "" {
			m.t.Errorf("status.json: %s\nwant %s", line, got[i])
		}
	}
	all := strings.Join(got, "\n") + "\n"
	if issue := m.read(m.root + "/etc/issue.d/kiln.issue"); issue != all {
		m.t.Errorf("issue: %s\nwant %s", issue, all)
	}
	if console := m.read(m.root + "/dev/console"); !strings.HasSuffix(console, all) {
		m.t.Errorf("console: %s\nwant %s", console, all)
	}
	if strings.Contains(out, secret) {
		m.t.Error("a secret is in the output")
	}
	return out
}

var seconds = regexp.MustCompile(`("[a-z-]+":)\d+`)

// outcome is what lies on the machine and in the API server: what two runs must agree about.
func (m *aMachine) outcome() string {
	m.t.Helper()
	var b strings.Builder
	for _, dir := range []string{m.root, m.world + "/api"} {
		must(m.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(path, dir)
			if err != nil || strings.HasPrefix(name, "/run/kiln") || name == "/proc/uptime" || name == "/dev/console" {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s %s ", info.Mode(), name)
			if info.Mode().IsRegular() {
				fmt.Fprintf(&b, "%q", seconds.ReplaceAllString(m.read(path), "${1}N"))
			}
			b.WriteString("\n")
			return nil
		}))
	}
	applied := strings.Fields(m.read(m.world + "/applied"))
	sort.Strings(applied)
	fmt.Fprintln(&b, slices.Compact(applied))
	return b.String()
}

// kept is the part of outcome that belongs to the document, to Kubernetes and to etcd: a hook that stops before the kubelet's
// start leaves these files alone. Folders and links it may have made, as the document wants them.
func (m *aMachine) kept() string {
	m.t.Helper()
	var b strings.Builder
	for line := range strings.Lines(m.outcome()) {
		_, name, _ := strings.Cut(line, " ")
		for _, path := range []string{"/etc/kiln", "/etc/kubernetes", "/etc/with", "/var/lib/etcd", "/var/lib/kubelet", "/api"} {
			if strings.HasPrefix(line, "-") && strings.HasPrefix(name, path) {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// mortal makes every command of the hook a point where it may be killed.
func (m *aMachine) mortal() {
	m.t.Helper()
	write(m.t, m.world+"/kill/killer", killer, 0o755)
	for _, name := range strings.Fields("sync sleep date nproc ip systemctl curl cat mv rm mkdir ln tr chmod chown sha256sum readlink stat ls head tail sort") {
		must(m.t, os.Symlink("killer", m.world+"/kill/"+name))
	}
}

func (m *aMachine) killAt(n int) {
	m.t.Helper()
	m.know("calls", "")
	m.know("kill-at", strconv.Itoa(n)+"\n")
}

func (m *aMachine) immortal() { m.t.Helper(); must(m.t, os.RemoveAll(m.world+"/kill-at")) }

func (m *aMachine) calls() int { m.t.Helper(); return strings.Count(m.read(m.world+"/calls"), "\n") }

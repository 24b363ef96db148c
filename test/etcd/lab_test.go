package etcd

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inside is the folder of the programs, in the process that has network and mounts of its own.
const inside = "KILN_ETCD_INSIDE"

// programs is where the test's programs are: kiln and etcd.
var programs string

// TestMain runs the tests in a network that only they see, with a network namespace for every
// machine. So machines can be taken off the network, and nothing reaches the computer's own. When
// the test ends, all its processes end.
func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		for _, tool := range []string{"unshare", "ip", "curl", "sh"} {
			if _, err := exec.LookPath(tool); err != nil {
				fmt.Println("skipped:", err)
				return
			}
		}
		probe := exec.Command(
			"unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "true")
		if err := probe.Run(); err != nil {
			fmt.Println("skipped: this needs root and network namespaces: unshare:", err)
			return
		}
		cmd := exec.Command("unshare", append([]string{
			"--net", "--mount", "--propagation", "private",
			"--pid", "--fork", "--kill-child", "--mount-proc", os.Args[0],
		}, os.Args[1:]...)...)
		os.Exit(start(cmd))
	}
	programs = os.Getenv(inside)
	// "ip netns" keeps its names in /run; lo is down in a new network.
	must(unix.Mount("tmpfs", "/run", "tmpfs", 0, ""))
	ip("link", "set", "lo", "up")
	os.Exit(m.Run())
}

// start builds the programs, here where Go may still download modules, and runs the command that
// tests with them. It returns the command's exit code.
func start(cmd *exec.Cmd) int {
	var err error
	if programs, err = os.MkdirTemp("", "kiln-etcd"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(programs)
	build(".", "etcd", "go.etcd.io/etcd/server/v3")
	build(".", "etcdutl", "go.etcd.io/etcd/etcdutl/v3")
	build("../..", "kiln", "./cmd/kiln")
	cmd.Env = append(os.Environ(), inside+"="+programs)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return max(1, cmd.ProcessState.ExitCode())
	}
	return 0
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func build(dir, name, pkg string) {
	cmd := exec.Command("go", "build", "-o", programs+"/"+name, pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go build %s: %v\n%s", pkg, err, out))
	}
}

func ip(arguments ...string) {
	if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("ip %s: %v\n%s", strings.Join(arguments, " "), err, out))
	}
}

// lab is a cluster's members of etcd, each in a network namespace, on one bridge.
type lab struct {
	t       *testing.T
	role    string // of the members' machines
	dir     string
	bridge  string
	members []*member
	// patience is what the hooks of machines that are wiped from now on have in a step.
	patience time.Duration
}

const clusterYAML = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: etcd}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.etcd.test:6443
  network: {podSubnets: [10.244.0.0/16], serviceSubnets: [10.96.0.0/12]}
  machines: {os: flatcar, platform: metal}
  controlPlane: {etcd: {backup: {keep: 2}}}
  nodes:
`

var labs struct {
	sync.Mutex
	number int
}

// newLab renders a cluster of so many control planes and gives each a network.
func newLab(t *testing.T, members int) *lab {
	t.Helper()
	return newLabOf(t, "control-plane", members)
}

// newLabOf renders a cluster whose etcd runs on count machines of the role, and gives each a
// network.
func newLabOf(t *testing.T, role string, members int) *lab {
	t.Helper()
	labs.Lock()
	defer labs.Unlock()
	labs.number++
	l := &lab{
		t: t, role: role, dir: t.TempDir(),
		bridge: fmt.Sprintf("b%d", labs.number), patience: 40 * time.Second,
	}
	ip("link", "add", l.bridge, "type", "bridge")
	ip("link", "set", l.bridge, "up")
	t.Cleanup(func() { exec.Command("ip", "link", "del", l.bridge).Run() })
	l.render(members)
	return l
}

// names are the names of a lab's machines. steps are the steps of the hook that they can take: the
// others need a whole machine, or an API server.
var (
	names = map[string]string{"control-plane": "cp", "etcd": "etcd"}
	steps = map[string]string{
		"control-plane": "files|restore|others|etcd|member",
		"etcd":          "files|restore|others|etcd|member|ready",
	}
)

// render renders the cluster with the given number of members, from the same bundle every time. New
// members get a network.
func (l *lab) render(members int, arguments ...string) {
	l.t.Helper()
	config := clusterYAML
	for i := range members {
		config += fmt.Sprintf("  - {name: %s-%d, role: %s, addresses: [10.10.0.%d]}\n",
			names[l.role], i+1, l.role, 11+i)
	}
	if l.role == "etcd" {
		config += "  - {name: cp-1, role: control-plane, addresses: [10.10.0.111]}\n"
	}
	l.check(os.WriteFile(l.dir+"/cluster.yaml", []byte(config), 0o600))
	nodes := fmt.Sprintf("%s/nodes-%d", l.dir, members)
	arguments = append([]string{
		"render", "--config", l.dir + "/cluster.yaml", "--out", nodes,
	}, arguments...)
	cmd := exec.Command(programs+"/kiln", arguments...)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.t.Fatalf("kiln render: %v\n%s", err, out)
	}
	for i := len(l.members); i < members; i++ {
		m := &member{
			lab: l, name: fmt.Sprintf("%s-%d", names[l.role], i+1),
			address: fmt.Sprintf("10.10.0.%d", 11+i), ns: fmt.Sprintf("%sm%d", l.bridge, i+1),
		}
		m.root = l.dir + "/" + m.name
		ip("netns", "add", m.ns)
		ip("link", "add", m.ns, "type", "veth", "peer", "name", "eth0", "netns", m.ns)
		ip("link", "set", m.ns, "master", l.bridge)
		ip("-n", m.ns, "addr", "add", m.address+"/24", "dev", "eth0")
		ip("-n", m.ns, "link", "set", "eth0", "up")
		ip("-n", m.ns, "link", "set", "lo", "up")
		m.plug(true)
		l.t.Cleanup(func() {
			m.cutPower()
			exec.Command("ip", "netns", "del", m.ns).Run()
		})
		l.members = append(l.members, m)
		m.wipe(members)
	}
}

func (l *lab) check(err error) {
	if err != nil {
		l.t.Helper()
		l.t.Fatal(err)
	}
}

// settle lets these machines come to an end of their first boot, whatever it is.
func (l *lab) settle(members ...*member) {
	l.t.Helper()
	deadline := time.Now().Add(4 * l.patience)
	for {
		all := true
		for _, m := range members {
			ended, _ := m.step()
			all = all && ended
		}
		if all {
			return
		}
		if time.Now().After(deadline) {
			l.tell(members...)
			l.t.Fatal("the hooks do not end")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// tell shows what somebody needs who was not there.
func (l *lab) tell(members ...*member) {
	for _, m := range members {
		etcd := m.read("/etcd.log")
		l.t.Logf("%s: %s\n%s\n...%s", m.name, m.read("/var/lib/kiln/status.json"),
			m.read("/hook.log"), etcd[max(0, len(etcd)-3000):])
	}
}

// wantDone lets machines boot to their end, which must be success.
func (l *lab) wantDone(members ...*member) {
	l.t.Helper()
	l.settle(members...)
	for _, m := range members {
		if _, phase := m.step(); phase != "done" {
			l.tell(m)
			l.t.Fatalf("%s: phase %s", m.name, phase)
		}
	}
}

// wantFault lets machines boot to their end, which must be this fault, with no etcd started.
func (l *lab) wantFault(code string, members ...*member) {
	l.t.Helper()
	l.settle(members...)
	for _, m := range members {
		if got := m.fault(); got != code || m.etcd != nil {
			l.tell(m)
			l.t.Fatalf("%s: fault %q, want %q; etcd started: %v", m.name, got, code, m.etcd != nil)
		}
	}
}

// eventually repeats a condition for half a minute.
func (l *lab) eventually(what string, condition func() error) {
	l.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			l.tell(l.members...)
			l.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// wantCluster: these machines, and no others, vote, and each holds these keys.
func (l *lab) wantCluster(keys []string, members ...*member) {
	l.t.Helper()
	var names []string
	for _, m := range members {
		names = append(names, m.name)
	}
	slices.Sort(names)
	id := ""
	for _, m := range members {
		l.eventually(m.name, func() error {
			voters, others, err := m.voters()
			if err != nil {
				return err
			}
			if !slices.Equal(voters, names) || others > 0 {
				return fmt.Errorf("voters %q and %d others, want %q", voters, others, names)
			}
			got, err := m.keys()
			if err != nil {
				return err
			}
			if !slices.Equal(got, keys) {
				return fmt.Errorf("it holds %q, want %q", got, keys)
			}
			return nil
		})
		if got := m.clusterID(); id != "" && got != id || got == "" {
			l.t.Fatalf("%s is in cluster %q, another in %q", m.name, got, id)
		} else {
			id = got
		}
	}
}

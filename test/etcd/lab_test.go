package etcd

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inside is set in the process that has network and mounts of its own.
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
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			os.Exit(max(1, cmd.ProcessState.ExitCode()))
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "kiln-etcd"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(programs)
	// "ip netns" keeps its names in /run; lo is down in a new network.
	must(unix.Mount("tmpfs", "/run", "tmpfs", 0, ""))
	ip("link", "set", "lo", "up")
	build(".", "etcd", "go.etcd.io/etcd/server/v3")
	build(".", "etcdutl", "go.etcd.io/etcd/etcdutl/v3")
	build("../..", "kiln", "./cmd/kiln")
	return m.Run()
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

// member is one machine with a member: its document, laid out under root as on the machine, and its
// processes.
type member struct {
	lab     *lab
	name    string
	address string
	ns      string
	root    string
	etcd    *exec.Cmd
	hook    *exec.Cmd
	out     *os.File
	late    bool // its clock is long after the time to form the cluster
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
		"etcd":          "files|restore|others|etcd|member|ready|retire",
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

// plug puts the machine's cable in or out.
func (m *member) plug(in bool) {
	ip("link", "set", m.ns, map[bool]string{true: "up", false: "down"}[in])
}

// wipe gives the machine an empty disk and the document of the render with so many members.
func (m *member) wipe(members int) {
	t := m.lab.t
	t.Helper()
	m.cutPower()
	m.lab.check(os.RemoveAll(m.root))
	m.at("/etc/machine-id", strings.Repeat("0", 31)+m.name[len(m.name)-1:]+"\n", 0o444)
	m.lab.check(os.Symlink("/proc", m.root+"/proc"))
	data, err := os.ReadFile(fmt.Sprintf("%s/nodes-%d/%s/config.ign", m.lab.dir, members, m.name))
	m.lab.check(err)
	var document struct {
		Storage struct {
			Directories []struct {
				Path string
				Mode uint32
			}
			Files []struct {
				Path     string
				Mode     uint32
				Contents struct{ Source string }
			}
		}
	}
	m.lab.check(json.Unmarshal(data, &document))
	for _, d := range document.Storage.Directories {
		m.lab.check(os.MkdirAll(m.root+d.Path, 0o700))
		m.lab.check(os.Chmod(m.root+d.Path, os.FileMode(d.Mode)))
	}
	files := map[string]string{}
	for _, f := range document.Storage.Files {
		content, ok := strings.CutPrefix(f.Contents.Source, "data:;base64,")
		if ok {
			raw, err := base64.StdEncoding.DecodeString(content)
			m.lab.check(err)
			content = string(raw)
		} else {
			content, err = url.PathUnescape(strings.TrimPrefix(f.Contents.Source, "data:,"))
			m.lab.check(err)
		}
		files[f.Path] = content
		m.at(f.Path, content, os.FileMode(f.Mode))
	}
	// The document stays as it is, except for the steps that cannot be taken here, the times
	// (seconds, not minutes), and owners that this computer does not have.
	settings := files["/etc/kiln/machine"]
	taken := regexp.MustCompile(`\b(` + steps[m.lab.role] + `)\b`)
	line := regexp.MustCompile(`(?m)^steps=.*$`)
	settings = line.ReplaceAllStringFunc(settings, func(all string) string {
		return "steps='" + strings.Join(taken.FindAllString(all, -1), " ") + "'"
	})
	line = regexp.MustCompile(`(?m)^step_timeout=.*$`)
	timeout := fmt.Sprintf("step_timeout='%d'", int(m.lab.patience.Seconds()))
	settings = line.ReplaceAllString(settings, timeout)
	m.at("/etc/kiln/machine", settings, 0o600)
	list := owners.ReplaceAllString(files["/etc/kiln/files"], " - ")
	list = strings.Replace(list, sum(files["/etc/kiln/machine"]), sum(settings), 1)
	m.at("/etc/kiln/files", regexp.MustCompile(`(?m)^link .*\n`).ReplaceAllString(list, ""), 0o600)
	// Kubernetes is not here; its clock is the test's.
	m.at("/bin/date", "#!/bin/sh\n[ ! -e '"+m.root+
		"/late' ] || { echo 9999999999; exit; }\nexec /bin/date \"$@\"\n", 0o755)
	if m.late {
		m.at("/late", "", 0o600)
	}
	// Nor are systemd and containerd: what they would start in the image runs here.
	m.at("/bin/systemctl", "#!/bin/sh\n", 0o755)
	m.at("/bin/systemd-run",
		"#!/bin/sh\nwhile [ \"$1\" != ctr ]; do shift; done\nexec \"$@\"\n", 0o755)
	m.at("/bin/ctr", `#!/bin/sh
case $* in
*'images ls'*) sed -n "s/^etcd_image='\(.*\)'/\1/p" "$KILN_ROOT/etc/kiln/machine" ;;
*' run '*)
	while [ "$1" != kiln-restore ]; do shift; done
	shift 2
	exec '`+programs+`/etcdutl' "$@"
	;;
esac
`, 0o755)
}

// backUp takes a snapshot as the machine's timer does, and returns its path on the machine.
func (m *member) backUp() string {
	m.lab.t.Helper()
	cmd := m.command("sh", m.root+"/etc/kiln/backup")
	cmd.Env = []string{"KILN_ROOT=" + m.root, "PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.lab.t.Fatalf("%s: backup: %v\n%s", m.name, err, out)
	}
	path, _, _ := strings.Cut(string(out), ": ")
	return path
}

// owners matches etcd's in the hook's list of files: here all files are root's.
var owners = regexp.MustCompile(` (etcd:etcd|[0-9]+:[0-9]+) `)

// sum is how the hook's list of files names a content.
func sum(content string) string {
	h := sha256.Sum256([]byte(content))
	return hex.EncodeToString(h[:])[:12]
}

func (m *member) at(path, content string, mode os.FileMode) {
	m.lab.t.Helper()
	m.lab.check(os.MkdirAll(filepath.Dir(m.root+path), 0o755))
	m.lab.check(os.WriteFile(m.root+path, []byte(content), mode))
	m.lab.check(os.Chmod(m.root+path, mode))
}

func (m *member) command(name string, arguments ...string) *exec.Cmd {
	cmd := exec.Command("ip", append([]string{"netns", "exec", m.ns, name}, arguments...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// powerOn runs the hook, and starts etcd as soon as the hook allows it, as a kubelet does.
func (m *member) powerOn() {
	t := m.lab.t
	t.Helper()
	if strings.Contains(m.read("/var/lib/kiln/status.json"), `"phase":"stopped"`) {
		os.Remove(m.root + "/var/lib/kiln/status.json") // an earlier verdict is none of this start
	}
	var err error
	m.out, err = os.OpenFile(m.root+"/hook.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	m.lab.check(err)
	m.hook = m.command("sh", m.root+"/etc/kiln/boot")
	m.hook.Env = []string{
		"KILN_ROOT=" + m.root,
		"PATH=" + m.root + "/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
	}
	m.hook.Stdout, m.hook.Stderr = m.out, m.out
	m.lab.check(m.hook.Start())
}

// step does what the kubelet would do now. It says whether the hook has ended, and how.
func (m *member) step() (ended bool, phase string) {
	t := m.lab.t
	t.Helper()
	state := m.read("/var/lib/kiln/state")
	if m.etcd == nil && strings.Contains(state, `"etcd":`) {
		m.startEtcd()
	}
	var status struct{ Phase string }
	json.Unmarshal([]byte(m.read("/var/lib/kiln/status.json")), &status)
	return status.Phase == "done" || status.Phase == "stopped", status.Phase
}

var flag = regexp.MustCompile(`(?m)^ *- (--\S+)$`)

// startEtcd starts etcd with the command of its manifest, and these flags.
func (m *member) startEtcd(arguments ...string) {
	m.lab.t.Helper()
	below := strings.NewReplacer(
		"=/var/lib/etcd", "="+m.root+"/var/lib/etcd",
		"=/etc/etcd/pki", "="+m.root+"/etc/etcd/pki",
	)
	manifest := m.read("/etc/kubernetes/manifests/etcd.yaml")
	for _, f := range flag.FindAllStringSubmatch(manifest, -1) {
		arguments = append(arguments, below.Replace(f[1]))
	}
	m.etcd = m.command(programs+"/etcd", arguments...)
	log, err := os.OpenFile(m.root+"/etcd.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	m.lab.check(err)
	m.etcd.Stdout, m.etcd.Stderr = log, log
	m.lab.check(m.etcd.Start())
}

// cutPower ends all that runs on the machine, at once.
func (m *member) cutPower() {
	for _, cmd := range []*exec.Cmd{m.hook, m.etcd} {
		if cmd != nil && cmd.Process != nil {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Wait()
		}
	}
	m.hook, m.etcd = nil, nil
}

// shutDown ends etcd as a reboot does.
func (m *member) shutDown() {
	m.lab.t.Helper()
	m.lab.check(syscall.Kill(-m.etcd.Process.Pid, syscall.SIGTERM))
	m.etcd.Wait()
	m.cutPower()
}

func (m *member) read(path string) string {
	data, _ := os.ReadFile(m.root + path)
	return string(data)
}

// fault is the code of the hook's first fault, empty without one.
func (m *member) fault() string {
	var status struct{ Faults []struct{ Code string } }
	json.Unmarshal([]byte(m.read("/var/lib/kiln/status.json")), &status)
	if len(status.Faults) == 0 {
		return ""
	}
	return status.Faults[0].Code
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

// call asks a member through the JSON gateway, in its own network.
func (m *member) call(method string, request, response any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"https://"+m.address+":2379/v3/"+method, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	client, err := m.httpClient()
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", m.name, answer.Status, data)
	}
	return json.Unmarshal(data, response)
}

// httpClient dials from within the machine's namespace.
func (m *member) httpClient() (*http.Client, error) {
	cert, err := tls.LoadX509KeyPair(m.root+"/etc/etcd/pki/server.crt",
		m.root+"/etc/etcd/pki/server.key")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(m.read("/etc/etcd/pki/ca.crt")))
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			type dialled struct {
				conn net.Conn
				err  error
			}
			done := make(chan dialled, 1)
			go func() {
				// A thread that was in another network is not given back.
				runtime.LockOSThread()
				ns, err := os.Open("/run/netns/" + m.ns)
				if err != nil {
					done <- dialled{nil, err}
					return
				}
				defer ns.Close()
				if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
					done <- dialled{nil, err}
					return
				}
				conn, err := net.DialTimeout(network, address, 3*time.Second)
				done <- dialled{conn, err}
			}()
			d := <-done
			return d.conn, d.err
		},
	}}, nil
}

func (m *member) put(key, value string) error {
	b := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return m.call("kv/put", map[string]string{"key": b(key), "value": b(value)}, &struct{}{})
}

// keys are the keys that this member itself holds, without asking the others.
func (m *member) keys() ([]string, error) {
	var answer struct{ Kvs []struct{ Key []byte } }
	err := m.call("kv/range", map[string]any{
		"key": "AA==", "range_end": "AA==",
		"serializable": true, "keys_only": true, "limit": "1000",
	}, &answer)
	var keys []string
	for _, kv := range answer.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys, err
}

// clusterID returns the identity of the cluster that a member reports, with a quorum or without.
func (m *member) clusterID() string {
	client, err := m.httpClient()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"https://"+m.address+":2380/members", nil)
	if err != nil {
		return ""
	}
	answer, err := client.Do(r)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	return answer.Header.Get("X-Etcd-Cluster-Id")
}

// voters are the names of the members that vote, sorted, and how many there are besides.
func (m *member) voters() (names []string, others int, err error) {
	var answer struct {
		Members []struct {
			Name      string
			IsLearner bool
		}
	}
	err = m.call("cluster/member/list", map[string]bool{"linearizable": true}, &answer)
	for _, x := range answer.Members {
		if x.IsLearner || x.Name == "" {
			others++
		} else {
			names = append(names, x.Name)
		}
	}
	slices.Sort(names)
	return names, others, err
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

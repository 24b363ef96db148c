package etcd

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

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
	return hex.EncodeToString(h[:])[:8]
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
	// A hook with a fault may go on trying; that is an end too.
	ended = status.Phase == "done" || status.Phase == "stopped" || m.fault() != ""
	return ended, status.Phase
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

package templates_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
)

// files are the files of a machine, by path. A path that ends in a slash is a folder; the content
// "socket" makes a Unix socket.
type files map[string]string

// programs are the programs of a machine, by name, as shell scripts. The machine has these and
// coreutils, and no others.
type programs map[string]string

// checkRows has rows for every kind of check: the machine, and the result. "holds" means that the
// check holds; anything else is the evidence with which it fails, and "…" stands for any end.
var checkRows = []struct {
	call     string
	files    files
	programs programs
	want     string
}{
	{"root", nil, programs{"id": "echo 0"}, "holds"},
	{"root", nil, programs{"id": "echo 1000"}, "1000"},
	{"cpus 2", nil, programs{"nproc": "echo 2"}, "holds"},
	{"cpus 2", nil, programs{"nproc": "echo 1"}, "1"},
	{"memory 1700", files{"/proc/meminfo": "MemTotal: 1740800 kB\nMemFree: 1 kB\n"}, nil, "holds"},
	{"memory 1700", files{"/proc/meminfo": "MemTotal: 1740799 kB\n"}, nil, "1699"},
	{"arch x86_64", nil, programs{"uname": "echo x86_64"}, "holds"},
	{"arch x86_64", nil, programs{"uname": "echo aarch64"}, "aarch64"},
	{"os-version 24.04", files{"/etc/os-release": "NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\n"}, nil,
		"holds"},
	{"os-version 9", files{"/etc/os-release": "PLATFORM_VERSION_ID=x\nVERSION_ID='9.6'\n"}, nil,
		"holds"},
	{"os-version 2", files{"/etc/os-release": "VERSION_ID=2023\n"}, nil, "2023"},
	{"os-version 12", files{"/etc/os-release": "ID=debian\n"}, nil, ""},
	{"os-version 12", nil, nil, ""},
	{"kernel 5.13", nil, programs{"uname": "echo 5.13.0-1-amd64"}, "holds"},
	{"kernel 5.13", nil, programs{"uname": "echo 6.1.0"}, "holds"},
	{"kernel 5.13", nil, programs{"uname": "echo 5.9.16"}, "5.9.16"},
	{"cgroup2 cpu pids", files{"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n"},
		nil, "holds"},
	{"cgroup2 cpu pids", files{"/sys/fs/cgroup/cgroup.controllers": "cpuset memory pids\n"}, nil,
		" cpuset memory pids "},
	{"cgroup2 cpu pids", nil, nil, " cat: /sys/fs/cgroup/cgroup.controllers: " +
		"No such file or directory "},

	{"module overlay", files{"/sys/module/overlay/": ""}, nil, "holds"},
	{"module overlay",
		files{"/lib/modules/6.1/modules.builtin": "kernel/fs/overlayfs/overlay.ko\n"},
		programs{"uname": "echo 6.1"}, "holds"},
	{"module overlay", files{"/lib/modules/6.1/modules.builtin": "kernel/fs/ext4/ext4.ko\n"},
		programs{"uname": "echo 6.1"}, "missing"},
	{"filesystem overlay", files{"/proc/filesystems": "nodev\tsysfs\n\text4\nnodev\toverlay\n"},
		nil, "holds"},
	{"filesystem ext4", files{"/proc/filesystems": "nodev\tsysfs\n\text4\nnodev\toverlay\n"}, nil,
		"holds"},
	{"filesystem over", files{"/proc/filesystems": "nodev\toverlay\n"}, nil, "missing"},
	{"sysctl net/ipv4/ip_forward 1", files{"/proc/sys/net/ipv4/ip_forward": "1\n"}, nil, "holds"},
	{"sysctl net/ipv4/ip_forward 1", files{"/proc/sys/net/ipv4/ip_forward": "0\n"}, nil, "0"},
	{"sysctl no/such 1", nil, nil, "cat: /proc/sys/no/such: No such file or directory"},
	{"swap-off", files{"/proc/swaps": "Filename Type Size Used Priority\n"}, nil, "holds"},
	{"swap-off", nil, nil, "holds"}, // a kernel without swap
	{"swap-off", files{"/proc/swaps": "Filename Type\n/dev/sda2 partition\n"}, nil,
		"/dev/sda2 partition"},

	{"command losetup", nil, programs{"losetup": ""}, "holds"},
	{"command losetup", nil, nil, "missing"},
	{"file-exists /run/systemd/system", files{"/run/systemd/system/": ""}, nil, "holds"},
	{"file-exists /run/systemd/system", nil, nil, "missing"},
	{"file-exists /a /b", files{"/a": "", "/b": ""}, nil, "holds"},
	{"file-exists /a /b /c", files{"/a": ""}, nil, "missing /b"},
	{"socket /run/c.sock", files{"/run/c.sock": "socket"}, nil, "holds"},
	{"socket /run/c.sock", files{"/run/c.sock": ""}, nil, "missing"},
	{"active containerd.service", nil, programs{"systemctl": "echo active"}, "holds"},
	{"active containerd.service", nil, programs{"systemctl": "echo failed; exit 3"}, "failed"},
	{"inactive firewalld.service", nil, programs{"systemctl": "echo inactive; exit 3"}, "holds"},
	{"inactive firewalld.service", nil, programs{"systemctl": "echo active"}, "active"},
	{"selinux kubelet", nil, nil, "holds"},
	{"selinux kubelet", files{"/sys/fs/selinux/enforce": "0"},
		programs{"kubelet": "", "stat": "echo system_u:object_r:var_lib_t:s0"}, "holds"},
	{"selinux kubelet", files{"/sys/fs/selinux/enforce": "1"},
		programs{"kubelet": "", "stat": "echo system_u:object_r:kubelet_exec_t:s0"}, "holds"},
	{"selinux kubelet", files{"/sys/fs/selinux/enforce": "1"},
		programs{"kubelet": "", "stat": "echo system_u:object_r:bin_t:s0"}, "holds"},
	{"selinux kubelet", files{"/sys/fs/selinux/enforce": "1"},
		programs{"kubelet": "", "stat": "echo system_u:object_r:var_lib_t:s0"},
		"system_u:object_r:var_lib_t:s0"},

	{"machine-id", files{"/etc/machine-id": "6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1\n"}, nil, "holds"},
	{"machine-id", files{"/etc/machine-id": "uninitialized\n"}, nil, "uninitialized"},
	{"machine-id", nil, nil, ""},
	{"product-uuid 4c4c4544-0042", files{"/sys/class/dmi/id/product_uuid": "4c4c4544-0042\n"}, nil,
		"holds"},
	{"product-uuid 4c4c4544-0042", files{"/sys/class/dmi/id/product_uuid": "0de0a7d2-1a5e\n"}, nil,
		"0de0a7d2-1a5e"},
	{"product-uuid 4c4c4544-0042", nil, nil, ""},

	{"user etcd 998 997", nil,
		programs{"id": "echo 'uid=998(etcd) gid=997(etcd) groups=997(etcd)'"}, "holds"},
	{"user etcd 998 997", nil, programs{"id": "echo 'uid=998(etcd) gid=997(etcd)'"}, "holds"},
	{"user etcd 998 997", nil,
		programs{"id": "echo 'uid=105(etcd) gid=113(etcd) groups=113(etcd)'"},
		"uid=105(etcd) gid=113(etcd) groups=113(etcd)"},
	{"user etcd 99 997", nil, programs{"id": "echo 'uid=998(etcd) gid=997(etcd) groups=997(etcd)'"},
		"uid=998(etcd) …"},
	{"user etcd 998 997", nil,
		programs{"id": "echo 'uid=998(sssd) gid=997(etcd) groups=997(etcd)'"}, "uid=998(sssd) …"},
	{"user etcd 998 997", nil, programs{"id": "echo \"id: 'etcd': no such user\" >&2; exit 1"},
		"id: 'etcd': no such user"},
	{"mac 52:54:00:12:34:56", nil, programs{"ip": `echo '2: eth0: <UP> mtu 1500\    link/ether ` +
		`52:54:00:12:34:56 brd ff:ff:ff:ff:ff:ff'`}, "holds"},
	{"mac 52:54:00:12:34:56", nil, programs{"ip": `echo '2: eth0: <SLAVE,UP> mtu 1500\    ` +
		`link/ether 52:54:00:00:00:01 brd ff:ff:ff:ff:ff:ff permaddr 52:54:00:12:34:56'`}, "holds"},
	{"mac 52:54:00:12:34:56", nil, programs{"ip": `[ "$1" = -br ] && echo 'eth0 UP ` +
		`52:54:00:00:00:01'`}, "there is eth0 UP 52:54:00:00:00:01"},

	{"disk / 1", files{"/": ""}, nil, "holds"},
	{"disk /var 1024", nil, programs{"stat": "echo '262143*4096/1048576'"}, "1023"},
	{"disk /var 1024", nil, nil, "0"},
	{"inodes /var 10000", nil, programs{"stat": "echo 65536 10000"}, "holds"},
	{"inodes /var 10000", nil, programs{"stat": "echo 0 0"}, "holds"}, // btrfs
	{"inodes /var 10000", nil, programs{"stat": "echo 65536 9999"}, "9999"},
	{"inodes /var 10000", nil, programs{"stat": "exit 1"}, "0"},
	{"writable /etc /var", files{"/etc/": "", "/var/": ""}, nil, "holds"},
	{"writable /etc /var", files{"/etc/": ""}, nil, "touch: cannot touch '/var/.kiln': " +
		"No such file or directory"},
	{"writable /etc", files{"/etc/": ""},
		programs{"touch": "echo Read-only file system >&2; exit 1"}, "Read-only file system"},
	{"empty-dir /var/lib/etcd", nil, nil, "holds"},
	{"empty-dir /var/lib/etcd", files{"/var/lib/etcd/lost+found/": ""}, nil, "holds"},
	{"empty-dir /var/lib/etcd", files{"/var/lib/etcd/member/": ""}, nil, "member"},
	{"disk-speed /var 10", files{"/var/": "", "/proc/uptime": "100.00 1.00\n"}, nil, "holds"},
	{"disk-speed /var 10", files{"/var/": "", "/proc/uptime": "9.99 1.00\n"},
		programs{"dd": `echo '10.17 1.00' >"$root/proc/uptime"`}, "11 ms"},

	{"address 10.0.0.11", nil, programs{"ip": "echo '2: eth0    inet 10.0.0.11/24 scope global " +
		"eth0'"}, "holds"},
	{"address 10.0.0.11", nil, programs{"ip": `[ "$1" != -br ] || echo 'eth0 UP 10.0.0.12/24'`},
		"there is eth0 UP 10.0.0.12/24"},
	{"address fd00::11", nil, programs{"ip": `[ "$1" = -br ] || echo '2: eth0 inet6 fd00::11/64 ` +
		`scope global tentative'`}, "there is "},
	{"route 4", nil, programs{"ip": `[ "$1" = -4 ] && echo 'default via 10.0.0.1 dev eth0'`},
		"holds"},
	{"route 6", nil, programs{"ip": `[ "$1" = -4 ] && echo 'default via 10.0.0.1 dev eth0'`},
		"missing"},
	{"port-free 6443", files{"/proc/net/tcp": " 0: 0100007F:0277 00000000:0000 0A 0:0\n 1: " +
		"0B00000A:192B 0C00000A:9C40 01 0:0\n"}, nil, "holds"},
	{"port-free 6443", files{"/proc/net/tcp": " 0: 0B00000A:192B 00000000:0000 0A 0:0\n"}, nil,
		"in use"},
	{"port-free 10250", files{"/proc/net/tcp6": " 0: " + zeros + ":280A " + zeros +
		":0000 0A 0:0\n"}, nil, "in use"},
	{"resolves api.test", nil, nil, "holds"}, // without getent it is not known
	{"resolves api.test", nil, programs{"getent": leads("10.0.0.9")}, "holds"},
	{"resolves api.test", nil, programs{"getent": leads("10.0.0.9", "fd00::9")}, "holds"},
	{"resolves api.test 10.0.0.9", nil, programs{"getent": leads("10.0.0.9", "fd00::9")}, "holds"},
	{"resolves api.test 10.0.0.9", nil, programs{"getent": leads("10.0.0.99")}, "10.0.0.99"},
	{"resolves api.test 10.0.0.9", nil, programs{"getent": "exit 2"}, "unknown"},
	{"resolves api.test", nil, programs{"getent": leads("127.0.1.1")}, "127.0.1.1"},
	{"resolves api.test", nil, programs{"getent": leads("10.0.0.9", "::1")}, "10.0.0.9 ::1"},
	{"resolves api.test", nil, programs{"getent": "exit 2"}, "unknown"},
	{"trusted https://10.0.0.9:6443 /etc/ca.crt 100", files{"/run/kiln/": ""},
		programs{"date": "echo 100", "curl": "printf 000; echo 'curl: (7) refused' >&2; exit 7"},
		"holds"},
	{"trusted https://10.0.0.9:6443 /etc/ca.crt 100", files{"/run/kiln/": ""},
		programs{"date": "echo 100", "curl": "printf 401"}, "holds"},
	// no clock yet
	{"trusted https://10.0.0.9:6443 /etc/ca.crt 100", files{"/run/kiln/": ""},
		programs{"date": "echo 99", "curl": "exit 60"}, "holds"},
	{"trusted https://10.0.0.9:6443 /etc/ca.crt 100", files{"/run/kiln/": ""},
		programs{"date": "echo 100", "curl": `echo "curl: (60) $*" >&2; exit 60`},
		"curl: (60) -q -sSg -A kiln -m 10 --noproxy * -o /run/kiln/body -w %{http_code} -m 2 " +
			"--cacert /etc/ca.crt https://10.0.0.9:6443"},

	{"unshared 10.0.0.11", nil, nil, "holds"}, // without arping it is not known
	{"unshared 10.0.0.11", nil, programs{"arping": "", "ip": onEth0,
		"systemd-run": `echo "ARPING 10.0.0.11 from 0.0.0.0 eth0"; echo "Received 0 response(s)"`},
		"holds"},
	{"unshared 10.0.0.11", nil, programs{"arping": "", "ip": onEth0,
		"systemd-run": "echo no bus >&2; exit 1"}, "holds"},
	{"unshared 10.0.0.11", nil, programs{"arping": "", "ip": onEth0,
		"systemd-run": `echo "Unicast reply from 10.0.0.11 [52:54:00:12:34:56] $*"; exit 1`},
		"Unicast reply from 10.0.0.11 [52:54:00:12:34:56] --quiet --wait --pipe --collect arping " +
			"-D -c 2 -w 2 -I eth0 10.0.0.11"},
	{"token 100", nil, programs{"date": "echo 100"}, "holds"},
	{"token 100", nil, programs{"date": "echo 101"}, "101"},
	{"token 100", files{"/var/lib/kubelet/pki/kubelet-client-current.pem": "pem"},
		programs{"date": "echo 101"}, "holds"},
	{"not-before 100", nil, programs{"date": "echo 100"}, "holds"},
	{"not-before 100", nil, programs{"date": "echo 99"}, "99"},
	{"not-after 100", nil, programs{"date": "echo 100"}, "holds"},
	{"not-after 100", nil, programs{"date": "echo 101"}, "101"},
	{"time-sync", nil, nil, "holds"}, // without timedatectl it is not known
	{"time-sync", files{"/run/systemd/timesync/synchronized": ""},
		programs{"timedatectl": "echo NTPSynchronized=no"}, "holds"},
	{"time-sync", nil, programs{"timedatectl": "echo NTPSynchronized=yes"}, "holds"},
	{"time-sync", nil, programs{"timedatectl": "echo no bus >&2; exit 1"}, "holds"},
	{"time-sync", nil, programs{"timedatectl": "echo NTPSynchronized=no"}, "NTPSynchronized=no"},

	{"kubelet-version kubelet v1.36 v1.37", nil, programs{"kubelet": "echo Kubernetes v1.36.3"},
		"holds"},
	{"kubelet-version kubelet v1.36 v1.37", nil, programs{"kubelet": "echo Kubernetes v1.9.11"},
		"Kubernetes v1.9.11"},
	{"kubelet-version kubelet v1.36 v1.37", nil, programs{"kubelet": "echo Kubernetes v1.37.0"},
		"Kubernetes v1.37.0"},
	{"kubelet-version kubelet v1.36 v1.37", nil, nil, "…"},
	{"runtime-version 2.0", nil, nil, "holds"}, // not in this PATH
	{"runtime-version 2.0", nil,
		programs{
			"containerd": "echo containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7"},
		"holds"},
	{"runtime-version 2.0", nil,
		programs{"containerd": "echo containerd github.com/containerd/containerd 1.6.20~ds1 " +
			"1.6.20~ds1-1+b1"}, "1.6.20~ds1"},
	{"runtime-version 2.0", nil,
		programs{"containerd": "echo containerd github.com/containerd/containerd v1.7.24 88bf19b"},
		"v1.7.24"},

	{"images https://r.test/v2/ r.test/a:1", nil, nil, "holds"}, // without ctr it is not known
	{"images https://r.test/v2/ r.test/a:1 r.test/b:1", nil,
		programs{"ctr": "echo r.test/b:1; echo r.test/a:1", "curl": "exit 7"}, "holds"},
	{"images https://r.test/v2/ r.test/a:1", nil,
		programs{"ctr": "", "systemctl": "", "curl": answers(200)}, "holds"},
	{"images https://r.test/v2/ r.test/a:1", nil,
		programs{"ctr": "exit 1", "systemctl": "", "curl": answers(401)}, "holds"},
	{"images https://r.test/v2/ r.test/a:1", nil,
		programs{"ctr": "", "systemctl": "", "curl": answers(503)},
		"r.test/a:1 is not here: https://r.test/v2/ HTTP 503"},
	{"images https://r.test/v2/ r.test/a:1 r.test/b:1", nil,
		programs{"ctr": "echo r.test/a:1", "systemctl": "",
			"curl": "echo 'curl: (6) no such host'; " + answers(0) + "; exit 6"},
		"r.test/b:1 is not here: curl: (6) no such host\nhttps://r.test/v2/ HTTP 000"},
	{"images https://m.test/v2/,https://r.test/v2/ r.test/a:1", nil,
		programs{"ctr": "", "systemctl": "", "curl": "case $* in *m.test/v2/) " + answers(200) +
			" ;; *) exit 7 ;; esac"}, "holds"},
	{"images https://m.test/v2/,https://r.test/v2/ r.test/a:1", nil,
		programs{"ctr": "", "systemctl": "", "curl": "case $* in *r.test/v2/) " + answers(403) +
			" ;; *) exit 7 ;; esac"}, "holds"},
	// It asks through containerd's proxy, and ignores the rest of containerd's environment.
	{"images https://r.test/v2/ r.test/a:1", nil,
		programs{"ctr": "", "systemctl": `echo 'root=x HTTPS_PROXY=http://p.test:3128 no_proxy=a,` +
			`b "A=b c" PATH=/'`, "curl": `echo "$HTTPS_PROXY $no_proxy"`},
		"r.test/a:1 is not here: http://p.test:3128 a,b"},
}

const zeros = "00000000000000000000000000000000"

// leads is a getent that knows the addresses of api.test. It prints each address once for each kind
// of socket.
func leads(addresses ...string) string {
	text := `[ "$*" = 'ahosts api.test' ] || exit 2`
	for _, a := range addresses {
		text += fmt.Sprintf("\necho '%s STREAM api.test'\necho '%[1]s DGRAM'", a)
	}
	return text
}

// onEth0 is an ip that knows on which interface an address is.
const onEth0 = "echo '2: eth0    inet 10.0.0.11/24 scope global eth0'"

// answers is a curl that gets this code from the URL, its ninth argument, and prints both in the
// requested form.
func answers(code int) string { return fmt.Sprintf(`printf '%%s HTTP %03d' "$9"`, code) }

// coreutils are the programs of coreutils that checks use, and a shell for the fake programs.
var coreutils = strings.Fields(
	"cat cut date dd id ls nproc rm sh sort stat tail timeout touch tr uname")

// TestChecks runs every check on machines where it holds and where it fails, with the functions
// that such a machine gets.
func TestChecks(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		system := t.TempDir()
		for _, name := range coreutils {
			must(t, os.Symlink(need.Basic(t, name), filepath.Join(system, name)))
		}
		holds, fails := map[string]bool{}, map[string]bool{}
		for _, row := range checkRows {
			kind, arguments, _ := strings.Cut(row.call, " ")
			m := machineFolder(t, row.files, row.programs)
			script := "set -euf\nexport LC_ALL=C root\netc=$root/etc/kiln lib=$root/var/lib/kiln " +
				"run=$root/run/kiln kube=$root/etc/kubernetes proc=$root/proc found=''\n" +
				"client=$root/var/lib/kubelet/pki/kubelet-client-current.pem\n" +
				templates.Steps(nil, []string{kind}) +
				"if check_" + strings.ReplaceAll(kind, "-", "_") +
				" $arguments; then printf holds; else printf %s \"$found\"; fi\n"
			cmd := exec.Command(shell[0], append(shell[1:], "-c", script)...)
			cmd.Env = []string{"PATH=" + m + "/bin:" + system, "root=" + m + "/root",
				"arguments=" + arguments}
			out, err := cmd.Output()
			got := strings.ReplaceAll(string(out), m+"/root", "")
			prefix, open := strings.CutSuffix(row.want, "…")
			if err != nil || got != row.want && !(open && strings.HasPrefix(got, prefix) &&
				got != "holds") {
				t.Errorf("%s with %v %v: %q (%v), want %q", row.call, row.files, row.programs, got,
					err, row.want)
			}
			if row.want == "holds" {
				holds[kind] = true
			} else {
				fails[kind] = true
			}
			for _, left := range []string{"/etc/.kiln", "/var/.kiln"} {
				if _, err := os.Lstat(m + "/root" + left); err == nil {
					t.Errorf("%s leaves %s", row.call, left)
				}
			}
		}
		for _, kind := range templates.CheckKinds() {
			if !holds[kind] || !fails[kind] {
				t.Errorf("%s is not tested to hold and to fail", kind)
			}
		}
	})
}

// machineFolder returns a folder with a machine's root and its bin.
func machineFolder(t *testing.T, files files, programs programs) string {
	t.Helper()
	// Not t.TempDir: a Unix socket's path has at most 108 bytes.
	dir, err := os.MkdirTemp("", "kiln")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.MkdirAll(dir+"/root", 0o700))
	for path, content := range files {
		path = dir + "/root" + path
		switch {
		case strings.HasSuffix(path, "/"):
			must(t, os.MkdirAll(path, 0o700))
		case content == "socket":
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			l, err := net.Listen("unix", path)
			must(t, err)
			t.Cleanup(func() { l.Close() })
		default:
			write(t, path, content, 0o600)
		}
	}
	must(t, os.Mkdir(dir+"/bin", 0o700))
	for name, text := range programs {
		write(t, dir+"/bin/"+name, "#!/bin/sh\n"+text+"\n", 0o700)
	}
	return dir
}

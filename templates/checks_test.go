package templates_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	{"equals x86_64 uname -m", nil, programs{"uname": "echo x86_64"}, "holds"},
	{"equals x86_64 uname -m", nil, programs{"uname": "echo aarch64"}, "aarch64"},
	{"equals active systemctl is-active kiln-wall.service", nil,
		programs{"systemctl": "echo failed; exit 3"}, "failed"},
	{"equals 4c4c4544-0042 cat sys/class/dmi/id/product_uuid",
		files{"/sys/class/dmi/id/product_uuid": "4c4c4544-0042\n"}, nil, "holds"},
	{"equals 4c4c4544-0042 cat sys/class/dmi/id/product_uuid", nil, nil, "…"},
	{"is_not active systemctl is-active firewalld.service", nil,
		programs{"systemctl": "echo inactive; exit 3"}, "holds"},
	{"is_not active systemctl is-active firewalld.service", nil,
		programs{"systemctl": "echo active"}, "active"},
	{"at_least 2 nproc", nil, programs{"nproc": "echo 2"}, "holds"},
	{"at_least 2 nproc", nil, programs{"nproc": "echo 1"}, "1"},
	{"at_least 2 nproc", nil, programs{"nproc": "echo no such thing >&2; exit 1"}, "no such thing"},
	{"memory_kib 1740800",
		files{"/proc/meminfo": "MemTotal:     1740800 kB\nMemFree: 1 kB\n"}, nil, "holds"},
	{"memory_kib 1740800",
		files{"/proc/meminfo": "MemTotal:     1740799 kB\n"}, nil, "1740799"},
	{"memory_kib 1740800", nil, nil, ""},
	{"at_least 100 date +%s", nil, programs{"date": "echo 100"}, "holds"},
	{"at_least 100 date +%s", nil, programs{"date": "echo 99"}, "99"},
	{"at_most 100 date +%s", nil, programs{"date": "echo 100"}, "holds"},
	{"at_most 100 date +%s", nil, programs{"date": "echo 101"}, "101"},
	{"at_least 1 free_mib .", nil, nil, "holds"},
	{"at_least 1024 free_mib var", nil, programs{"stat": "echo '262143*4096/1048576'"}, "1023"},
	{"at_least 1024 free_mib var", nil, nil, "…"},
	{"has_word 24.04 os_version",
		files{"/etc/os-release": "NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\n"}, nil, "holds"},
	{"has_word 9 os_version", files{"/etc/os-release": "PLATFORM_VERSION_ID=x\nVERSION_ID='9.6'\n"},
		nil, "holds"},
	{"has_word 2 os_version", files{"/etc/os-release": "VERSION_ID=2023\n"}, nil, "2023"},
	{"has_word 12 os_version", files{"/etc/os-release": "ID=debian\n"}, nil, ""},
	{"has_word 12 os_version", nil, nil, "…"},
	{"has_word v1.36 kubelet --version", nil, programs{"kubelet": "echo Kubernetes v1.36.3"},
		"holds"},
	{"has_word v1.36 kubelet --version", nil, programs{"kubelet": "echo Kubernetes v1.36"},
		"holds"},
	{"has_word v1.36 kubelet --version", nil, programs{"kubelet": "echo Kubernetes v1.3.11"},
		"Kubernetes v1.3.11"},
	{"has_word v1.3 kubelet --version", nil, programs{"kubelet": "echo Kubernetes v1.36.3"},
		"Kubernetes v1.36.3"},
	{"has_word v1.36 kubelet --version", nil, nil, "…"},
	{"version_from 5.13 uname -r", nil, programs{"uname": "echo 5.13.0-1-amd64"}, "holds"},
	{"version_from 5.13 uname -r", nil, programs{"uname": "echo 6.1.0"}, "holds"},
	{"version_from 5.13 uname -r", nil, programs{"uname": "echo 5.9.16"}, "5.9.16"},
	{"swap_off", files{"/proc/swaps": "Filename Type Size Used Priority\n"}, nil, "holds"},
	{"swap_off", nil, nil, "holds"}, // a kernel without swap
	{"swap_off", files{"/proc/swaps": "Filename Type\n/dev/sda2 partition\n"}, nil,
		"/dev/sda2 partition"},
	{"exist run/systemd/system", files{"/run/systemd/system/": ""}, nil, "holds"},
	{"exist a b", files{"/a": "", "/b": ""}, nil, "holds"},
	{"exist a b c", files{"/a": ""}, nil, "missing: b c"},
	{"exist run/c.sock", files{"/run/c.sock": "socket"}, nil, "holds"},
	{"exist losetup ip", nil, programs{"losetup": "", "ip": ""}, "holds"},
	{"exist losetup ip curl", nil, programs{"ip": ""}, "missing: losetup curl"},
	{"modules overlay", files{"/sys/module/overlay/": ""}, nil, "holds"},
	{"modules overlay",
		files{"/lib/modules/6.1/modules.builtin": "kernel/fs/overlayfs/overlay.ko\n"},
		programs{"uname": "echo 6.1"}, "holds"},
	{"modules br_netfilter overlay",
		files{"/lib/modules/6.1/modules.builtin": "kernel/fs/ext4/ext4.ko\n"},
		programs{"uname": "echo 6.1"}, "missing: br_netfilter overlay"},
	{"sysctls net/ipv4/ip_forward=1 net/ipv4/ip_local_port_range=1024,65535",
		files{"/proc/sys/net/ipv4/ip_forward": "1\n",
			"/proc/sys/net/ipv4/ip_local_port_range": "1024\t65535\n"}, nil, "holds"},
	{"sysctls net/ipv4/ip_forward=1", files{"/proc/sys/net/ipv4/ip_forward": "0\n"}, nil,
		"it is: net/ipv4/ip_forward=0"},
	{"sysctls no/such=1", nil, nil, "it is: no/such=unknown"},
	{"mounts /var/lib/etcd", files{"/var/lib/etcd/": "", "/proc/mounts": "/dev/vda1 / ext4 rw " +
		"0 0\n/dev/vdb /var/lib/etcd ext4 rw,relatime 0 0\n"}, nil, "holds"},
	{"mounts /var/lib/etcd /var/lib/containerd",
		files{"/proc/mounts": "/dev/vdb /var/lib/etcd-old ext4 rw 0 0\n"}, nil,
		"missing: /var/lib/etcd /var/lib/containerd"},
	{"ports_free 6443 6444", files{"/proc/net/tcp": "  sl\n" +
		"   0: 0100007F:0277 00000000:0000 0A 0:0\n" +
		"   1: 0B00000A:192B 0C00000A:9C40 01 0:0\n"}, nil, "holds"},
	{"ports_free 6443 6444", files{"/proc/net/tcp": "   0: 0B00000A:192B 00000000:0000 0A 0:0\n"},
		nil, "in use: 6443"},
	{"ports_free 6443 10250", files{"/proc/net/tcp": "   0: 0B00000A:192B 00000000:0000 0A 0:0\n",
		"/proc/net/tcp6": "  10: " + zeros + ":280A " + zeros + ":0000 0A 0:0\n"}, nil,
		"in use: 6443 10250"},
	{"addresses 10.0.0.11", nil, programs{"ip": "echo '2: eth0    inet 10.0.0.11/24 scope global " +
		"eth0'"}, "holds"},
	{"addresses 10.0.0.11 fd00::11", nil,
		programs{"ip": `[ "$1" != -br ] || echo 'eth0 UP 10.0.0.12/24'`},
		"missing: 10.0.0.11 fd00::11; has eth0 UP 10.0.0.12/24"},
	{"addresses fd00::11", nil, programs{"ip": `[ "$1" = -br ] || echo '2: eth0 inet6 ` +
		`fd00::11/64 scope global tentative'`}, "missing: fd00::11; has "},
	{"routes 4", nil, programs{"ip": `[ "$1" = -4 ] && echo 'default via 10.0.0.1 dev eth0'`},
		"holds"},
	{"routes 4 6", nil, programs{"ip": `[ "$1" = -4 ] && echo 'default via 10.0.0.1 dev eth0'`},
		"missing: IPv6"},

	{"selinux_starts kubelet", nil, nil, "holds"},
	{"selinux_starts kubelet", files{"/sys/fs/selinux/enforce": "0"},
		programs{"kubelet": "", "stat": "echo system_u:object_r:var_lib_t:s0"}, "holds"},
	{"selinux_starts kubelet", files{"/sys/fs/selinux/enforce": "1"},
		programs{"kubelet": "", "stat": "echo system_u:object_r:kubelet_exec_t:s0"}, "holds"},
	{"selinux_starts kubelet", files{"/sys/fs/selinux/enforce": "1"},
		programs{"kubelet": "", "stat": "echo system_u:object_r:bin_t:s0"}, "holds"},
	{"selinux_starts kubelet", files{"/sys/fs/selinux/enforce": "1"},
		programs{"kubelet": "", "stat": "echo system_u:object_r:var_lib_t:s0"},
		"system_u:object_r:var_lib_t:s0"},

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

	{"resolves api.test", nil, programs{"getent": leads("10.0.0.9")}, "holds"},
	{"resolves api.test", nil, programs{"getent": leads("10.0.0.9", "fd00::9")}, "holds"},
	{"resolves api.test 10.0.0.9", nil, programs{"getent": leads("10.0.0.9", "fd00::9")}, "holds"},
	{"resolves api.test 10.0.0.9", nil, programs{"getent": leads("10.0.0.99")}, "10.0.0.99"},
	{"resolves api.test 10.0.0.9", nil, programs{"getent": "exit 2"}, "unknown"},
	{"resolves api.test", nil, programs{"getent": leads("127.0.1.1")}, "127.0.1.1"},
	{"resolves api.test", nil, programs{"getent": leads("10.0.0.9", "::1")}, "10.0.0.9 ::1"},
	{"resolves api.test", nil, programs{"getent": "exit 2"}, "unknown"},
	{"token_until 100", nil, programs{"date": "echo 100"}, "holds"},
	{"token_until 100", nil, programs{"date": "echo 101"}, "101"},
	{"token_until 100", files{"/var/lib/kubelet/pki/kubelet-client-current.pem": "pem"},
		programs{"date": "echo 101"}, "holds"},
	{"clock_synced", nil, nil, "holds"}, // without timedatectl it is not known
	{"clock_synced", files{"/run/systemd/timesync/synchronized": ""},
		programs{"timedatectl": "echo NTPSynchronized=no"}, "holds"},
	{"clock_synced", nil, programs{"timedatectl": "echo NTPSynchronized=yes"}, "holds"},
	{"clock_synced", nil, programs{"timedatectl": "echo no bus >&2; exit 1"}, "holds"},
	{"clock_synced", nil, programs{"timedatectl": "echo NTPSynchronized=no"}, "NTPSynchronized=no"},

	{"images https://r.test/v2/ r.test/a:1", nil, nil, "holds"}, // without ctr it is not known
	{"images https://r.test/v2/ r.test/a:1 r.test/b:1", nil,
		programs{"ctr": "echo r.test/b:1; echo r.test/a:1", "curl": "exit 7"}, "holds"},
	{"images https://r.test/v2/ r.test/x/a:1", nil, pulls(manifest("r.test", "x/a", "1"), 200, oci),
		"holds"},
	{"images https://r.test/v2/ r.test/a@sha256:0f", nil,
		pulls(manifest("r.test", "a", "sha256:0f"), 200, oci), "holds"},
	{"images https://r.test/v2/ r.test/a:1", nil,
		pulls(manifest("r.test", "a", "1"), 401, "application/json"), "holds"},
	{"images https://r.test/v2/ r.test/a:1", nil, pulls(manifest("r.test", "a", "1"), 403, ""),
		"holds"},
	{"images https://r.test/v2/ r.test/a:1", nil, pulls(manifest("r.test", "a", "1"), 404, ""),
		"r.test/a:1 is not here: https://r.test/v2/a/manifests/1 HTTP 404 "},
	{"images https://r.test/v2/ r.test/a:1", nil,
		pulls(manifest("r.test", "a", "1"), 200, "text/html; charset=utf-8"),
		"r.test/a:1 is not here: https://r.test/v2/a/manifests/1 HTTP 200 " +
			"text/html; charset=utf-8, no registry"},
	// Each image that is missing is asked for.
	{"images https://r.test/v2/ r.test/a:1 r.test/b:1 r.test/c:1", nil, programs{
		"ctr": "echo r.test/a:1", "systemctl": "",
		"curl": pulls(manifest("r.test", "b", "1"), 200, oci)["curl"]},
		"r.test/c:1 is not here: curl: (6) no such host"},
	// A mirror is told which registry it stands for. The registry itself comes after it.
	{"images https://m.test/v2/,https://r.test/v2/ r.test/a:1", nil,
		pulls(manifest("m.test", "a", "1?ns=r.test"), 200, oci), "holds"},
	{"images https://m.test/v2/,https://r.test/v2/ r.test/a:1", nil,
		pulls(manifest("r.test", "a", "1"), 200, oci), "holds"},
	{"images https://m.test/v2/,https://r.test/v2/ r.test/a:1", nil,
		pulls(manifest("r.test", "a", "1"), 503, ""), "r.test/a:1 is not here: " +
			"curl: (6) no such host; https://r.test/v2/a/manifests/1 HTTP 503 "},
	// It asks through containerd's proxy, and ignores the rest of containerd's environment.
	{"images https://r.test/v2/ r.test/a:1", nil,
		programs{"ctr": "", "systemctl": `echo 'root=x HTTPS_PROXY=http://p.test:3128 no_proxy=a,` +
			`b "A=b c" PATH=/'`, "curl": `echo "$HTTPS_PROXY $no_proxy"`},
		"r.test/a:1 is not here: http://p.test:3128 a,b"},

	{"etcd_from 3.5.24 https://e.test:2379", files{"/run/kiln/": ""},
		etcd(200, `{"etcdserver":"3.6.1","etcdcluster":"3.6.0"}`), "holds"},
	{"etcd_from 3.5.24 https://e.test:2379", files{"/run/kiln/": ""},
		etcd(200, `{"etcdserver":"3.5.9","etcdcluster":"3.5.0"}`), "https://e.test:2379: 3.5.9"},
	{"etcd_from 3.5.24 https://e.test:2379", files{"/run/kiln/": ""},
		etcd(503, `{"health":"false"}`), "https://e.test:2379/health: HTTP 503"},
	// One member that is off keeps nobody waiting.
	{"etcd_from 3.5.24 https://off.test:2379 https://e.test:2379", files{"/run/kiln/": ""},
		programs{"curl": "for last; do :; done; case $last in *off.test*) exit 7 ;; esac; " +
			etcd(200, `{"etcdserver":"3.6.1"}`)["curl"]}, "holds"},
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

const oci = "application/vnd.oci.image.index.v1+json"

// manifest returns the URL of an image's manifest.
func manifest(host, repository, version string) string {
	return "https://" + host + "/v2/" + repository + "/manifests/" + version
}

// pulls returns the programs of a machine without images, where one URL answers.
func pulls(url string, code int, contentType string) programs {
	return programs{"ctr": "exit 1", "systemctl": "", "curl": fmt.Sprintf(`
for last; do :; done
case "$* " in
"-q -sSgLI -m "*" -H Accept: "*"manifest.list.v2+json,"*"index.v1+json,"*" $last ") ;;
*) echo "unexpected: $*" && exit ;;
esac
[ "$last" = '%[1]s' ] || { echo 'curl: (6) no such host'; exit 6; }
printf '%%s HTTP %[2]d %%s' "$last" '%[3]s'`, url, code, contentType)}
}

// etcd returns the programs of a machine where every endpoint of etcd gives this answer.
func etcd(code int, body string) programs {
	return programs{"curl": fmt.Sprintf(`printf '%%s' '%s' >"$root/run/kiln/body"
echo %d`, body, code)}
}

// coreutils are the programs of coreutils that checks use, and a shell for the fake programs.
var coreutils = strings.Fields(
	"cat cut date head id nproc readlink rm sed sh sort stat tail timeout tr uname")

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
			m := machineFolder(t, row.files, row.programs)
			script := "set -euf\nexport LC_ALL=C root\netc=$root/etc/kiln lib=$root/var/lib/kiln " +
				"run=$root/run/kiln kube=$root/etc/kubernetes proc=$root/proc found=''\n" +
				"client=$root/var/lib/kubelet/pki/kubelet-client-current.pem\n" +
				templates.Steps([]string{templates.IfIPv6}, nil,
					templates.CheckFunctions(row.call)) + "cd \"$root\"\n" +
				"if $call; then printf holds; else printf %s \"$found\"; fi\n"
			cmd := exec.Command(shell[0], append(shell[1:], "-c", script)...)
			cmd.Env = []string{"PATH=" + m + "/bin:" + system, "root=" + m + "/root",
				"call=" + row.call}
			out, err := cmd.Output()
			got := strings.ReplaceAll(string(out), m+"/root", "")
			prefix, open := strings.CutSuffix(row.want, "…")
			require.NoError(t, err, "%v: %v %v", row.call, row.files, row.programs)
			require.False(t, got != row.want && !(open && strings.HasPrefix(got, prefix) &&
				got != "holds"), "%v: %v %v", row.call, row.files, row.programs)
			// What a program prints is held against the wanted answer.
			for i, word := range strings.Fields(row.call) {
				if i == 0 || slices.Contains(printers, word) {
					holds[word] = holds[word] || row.want == "holds"
					fails[word] = fails[word] || row.want != "holds"
				}
			}
		}
		for name := range sourceFunctions(t, "checks") {
			require.False(t, !slices.Contains(parts, name) && (!holds[name] || !fails[name]),
				"%s is not tested to hold and to fail", name)
		}
	})
}

// printers are functions that stand where a check names a program.
var printers = []string{"free_mib", "os_version"}

// parts are functions that only other functions call.
var parts = []string{
	"saw", "see", "wrong", "led", "pullable", "access", "exchanged", "challenge", "login",
	"proxied",
}

// everyCheck returns the functions of all rows.
func everyCheck() (names []string) {
	for _, row := range checkRows {
		names = append(names, templates.CheckFunctions(row.call)...)
	}
	return names
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

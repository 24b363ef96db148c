package templates_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kiln/templates"
)

func TestBootMakesControlPlane(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.at("/etc/issue.d/kiln.issue", "FAULT of an earlier start\n")
		m.document()
		m.wantDone()
		want := []string{
			"api_v1_namespaces_kube-system_secrets_token", "apis_apps_v1_namespaces_kube-system_deployments_coredns",
			"api_v1_namespaces_kube-system_configmaps_kiln", "api_v1_nodes_cp-1",
		}
		if got := strings.Fields(m.read(m.world + "/applied")); !slices.Equal(got, want) {
			t.Errorf("applied %q\nwant %q", got, want)
		}
		for _, path := range append(strings.Fields(m.data["retire"]), "/etc/issue.d/kiln.issue", "/run/kiln/lock") {
			if _, err := os.Lstat(m.root + path); err == nil {
				t.Errorf("%s is still there", path)
			}
		}
		if link, err := os.Readlink(m.root + "/var/lib/kubelet/pki/kubelet-client-current.pem"); link != "kubelet-client-2026.pem" {
			t.Error(link, err)
		}
		steps := "files machine preflight etcd kubelet member control-plane objects node labels retire"
		if v := m.status(); len(v.Steps) != len(strings.Fields(steps)) || v.Node != "cp-1" || v.Cluster != m.data["cluster"] {
			t.Errorf("status.json: %+v", v)
		}
		// Every request to a server names the CA, but for two that have none.
		for line := range strings.Lines(m.read(m.world + "/curl")) {
			if !strings.Contains(line, "--noproxy *") || !strings.HasPrefix(line, "-q ") || strings.Contains(line, secret) {
				t.Errorf("curl %s", line)
			}
			if strings.Contains(line, "https://10.") != strings.Contains(line, "--cacert") {
				t.Errorf("curl %s", line)
			}
		}
		// After it is done, it is done: at once, and whatever was retired.
		before := m.outcome()
		must(t, os.Remove(m.world+"/curl"))
		start := time.Now()
		out := m.wantDone()
		t.Logf("again: %v", time.Since(start))
		if m.outcome() != before || m.read(m.world+"/curl") != "" || !strings.Contains(out, "this machine is done") {
			t.Error("the second run did something", out)
		}
	})
}

func TestBootMakesWorker(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for _, identity := range []string{"token", "certificate", "pool"} {
			m := newMachine(t, shell, "worker")
			switch identity {
			case "certificate":
				must(t, os.Remove(m.root+"/etc/kubernetes/bootstrap-kubelet.conf"))
				m.at("/etc/kubernetes/kubelet.conf", "conf")
				m.at("/var/lib/kubelet/pki/kubelet-client-current.pem", secret)
			case "pool":
				m.ofPool("-4")
				m.know("hostname", "Pool-7\n")
				m.check = slices.DeleteFunc(m.check, func(s string) bool { return strings.HasPrefix(s, "hostname|") })
			}
			m.document()
			m.wantDone()
			asked := m.read(m.world + "/curl")
			want := map[string]string{"pool": "/api/v1/nodes/pool-7"}[identity]
			if want == "" {
				want = "/api/v1/nodes/cp-1"
			}
			if !strings.Contains(asked, want) || strings.Contains(asked, "install.key") || m.read(m.world+"/applied") != "" {
				t.Errorf("%s: curl %s", identity, asked)
			}
			if _, err := os.Stat(m.root + "/etc/kubernetes/bootstrap-kubelet.conf"); err == nil {
				t.Error("the token is still there")
			}
		}
	})
}

// TestBootWaitsForRoles: a worker is not done before its Node has the roles that the API server gives it, and gives the controller-manager
// a reason to write to the Node. Roles that do not come stop nothing.
func TestBootWaitsForRoles(t *testing.T) {
	const (
		node   = `{"metadata":{"labels":{%s},"managedFields":[{"f:labels":{"f:node-role.kubernetes.io/ingress":{},"f:role.kiln.dev/ingress":{}}}]},"status":{"nodeInfo":{"machineID":"6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1"}}}`
		asked  = `"role.kiln.dev/ingress":"","role.kiln.dev/disk":"ssd"`
		remedy = ": kubectl label node cp-1 node-role.kubernetes.io/disk=ssd node-role.kubernetes.io/ingress=\n"
	)
	all := asked + `,"node-role.kubernetes.io/ingress":"","node-role.kubernetes.io/disk":"ssd"`
	for _, row := range []struct {
		name          string
		first, later  string // labels of the Node, and once it has been written to
		wrote, become int    // requests to write to it, and how many of them it takes until later
		patch         int    // what the API server answers to them
		says, silent  string
	}{
		{name: "there", first: all, silent: "waiting for the roles of cp-1: "},
		{name: "come", first: asked, later: all, wrote: 3, become: 3, patch: 200,
			says: "role: waiting for the roles of cp-1: the Node has no label node-role.kubernetes.io/disk yet, HTTP 200\n", silent: "warning"},
		{name: "come later than the API server", first: asked, later: all, wrote: 1, become: 1, patch: 503, silent: "warning"},
		{name: "one is missing", first: strings.Replace(all, `"node-role.kubernetes.io/ingress":"",`, "", 1), later: all, wrote: 1, become: 1, patch: 200,
			says: "no label node-role.kubernetes.io/ingress yet"},
		{name: "never come", first: asked, wrote: 7, become: 99, patch: 200,
			says: "role: warning: the Node has no label node-role.kubernetes.io/disk yet, HTTP 200" + remedy},
		{name: "Node of an earlier machine", first: `"a":"b"`, says: "role: warning: the Node was registered without the role disk" + remedy,
			silent: "waiting for the roles of cp-1: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			underEachShell(t, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				m.data["steps"] = "files machine preflight kubelet node role retire"
				m.data["roles"] = "disk=ssd ingress="
				m.data["step_timeout"] = "30"
				// The step before asks once; then every request to write follows one to read.
				m.rule("GET", "*/api/v1/nodes/cp-1", 1+max(row.become, 1), 200, 0, fmt.Sprintf(node, row.first))
				m.rule("GET", "*/api/v1/nodes/cp-1", 99, 200, 0, fmt.Sprintf(node, row.later))
				m.rule("PATCH", "*/api/v1/nodes/cp-1", 99, row.patch, 0, "{}")
				m.document()
				out := m.wantDone()
				if !strings.Contains(out, row.says) || row.silent != "" && strings.Contains(out, row.silent) {
					t.Errorf("want %q, and not %q\n%s", row.says, row.silent, out)
				}
				wrote := 0
				for line := range strings.Lines(m.read(m.world + "/curl")) {
					if strings.Contains(line, "-X PATCH") {
						wrote++
						if !strings.Contains(line, "kubelet-client-current.pem") || !strings.Contains(line, `{"metadata":{"annotations":{"node.alpha.kubernetes.io/ttl":null}}}`) {
							t.Errorf("curl %s", line)
						}
					}
				}
				if wrote != row.wrote {
					t.Errorf("%d requests to write, want %d\n%s", wrote, row.wrote, out)
				}
			})
		})
	}
}

// TestBootMakesEtcdMachine: a machine that carries a member of etcd and nothing else waits for that alone, and asks no API server.
func TestBootMakesEtcdMachine(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for name, arrange := range map[string]func(*aMachine){
			"forms":   func(*aMachine) {},
			"waits":   func(m *aMachine) { m.rule("GET", "http://127.0.0.1:2381/readyz", 3, 503, 0, "[-]non_learner failed") },
			"reports": func(m *aMachine) { m.rule("GET", "http://127.0.0.1:2381/readyz?verbose", 1, 200, 0, "ok") },
		} {
			m := newMachine(t, shell, "etcd")
			m.check = slices.DeleteFunc(m.check, func(s string) bool { return strings.HasPrefix(s, "port-6443|") })
			arrange(m)
			m.document()
			m.wantDone()
			steps := strings.Fields(m.data["steps"])
			if v := m.status(); len(v.Steps) != len(steps) {
				t.Errorf("%s: status.json: %+v", name, v)
			}
			if out, code := m.start("report"); code != 0 || !strings.Contains(out, "http://127.0.0.1:2381: HTTP 200") {
				t.Errorf("%s: report: exit status %d\n%s", name, code, out)
			}
			asked := m.read(m.world + "/curl")
			for _, word := range []string{":6443", "/api/", "/etc/kubernetes", "kubelet-client"} {
				if strings.Contains(asked, word) {
					t.Errorf("%s: %q in what it asked:\n%s", name, word, asked)
				}
			}
		}
		m := newMachine(t, shell, "etcd")
		m.check = m.check[:1]
		m.data["step_timeout"] = "30"
		m.rule("GET", "http://127.0.0.1:2381/readyz", 99, 503, 0, "[+]serializable_read ok\n[-]linearizable_read failed: etcdserver: leader changed")
		m.document()
		m.wantFaults("FAULT etcd-unhealthy http://127.0.0.1:2381/readyz: HTTP 503 [-]linearizable_read failed: etcdserver: leader changed; ")
	})
}

// TestBootStops has one row for everything that stops a machine: what is wrong, and the faults, in order.
func TestBootStops(t *testing.T) {
	const missing, differs = "missing; write the document", "not what was rendered; write the document"
	never := func(name string) func(*aMachine) { return func(m *aMachine) { m.know(name, "") } }
	tell := func(name, what string) func(*aMachine) { return func(m *aMachine) { m.know(name, what+"\n") } }
	answer := func(method, url string, code, exit int, body string) func(*aMachine) {
		return func(m *aMachine) { m.rule(method, url, 9999, code, exit, body) }
	}
	for _, row := range []struct {
		name  string
		role  string            // or worker
		wrong func(m *aMachine) // before the document is written
		later func(m *aMachine) // after that
		want  []string
	}{
		// files
		{name: "file missing", later: func(m *aMachine) { os.Remove(m.root + "/etc/with space.conf") },
			want: []string{"FAULT file-damaged /etc/with space.conf: " + missing}},
		{name: "file changed", later: func(m *aMachine) { m.at("/etc/kubernetes/pki/ca.crt", "cA") },
			want: []string{"FAULT file-damaged /etc/kubernetes/pki/ca.crt: " + differs}},
		{name: "several files", later: func(m *aMachine) { m.at("/etc/kiln/checks", ""); m.at("/etc/kiln/machine", "node='") },
			want: []string{"FAULT file-damaged /etc/kiln/checks: " + differs, "FAULT file-damaged /etc/kiln/machine: " + differs}},
		{name: "manifest cut off", later: func(m *aMachine) {
			f := m.root + "/etc/kiln/files"
			must(m.t, os.WriteFile(f, []byte(strings.TrimSuffix(m.read(f), "end\n")), 0o600))
		}, want: []string{"FAULT file-damaged /etc/kiln/files: cut off"}},
		{name: "manifest empty", later: func(m *aMachine) { m.at("/etc/kiln/files", "") },
			want: []string{"FAULT file-damaged /etc/kiln/files: cut off"}},
		{name: "manifest missing", later: func(m *aMachine) { os.Remove(m.root + "/etc/kiln/files") },
			want: []string{"FAULT file-damaged /etc/kiln/files: missing"}},
		{name: "file for a folder", wrong: func(m *aMachine) {
			m.at("/etc/x", "")
			m.kinds = []string{"dir 0700 root:root /etc/x/y"}
		}, want: []string{"FAULT file-damaged /etc/x/y: cannot be made 0700 root:root"}},
		{name: "no place for a link", wrong: func(m *aMachine) {
			m.at("/etc/x", "")
			m.kinds = []string{"link z - /etc/x/y"}
		}, want: []string{"FAULT file-damaged /etc/x/y: not a link to z"}},
		{name: "owner unknown", wrong: func(m *aMachine) { m.kinds = []string{"dir 0700 nobody-at-all:root /etc/x"} },
			want: []string{"FAULT file-damaged /etc/x: cannot be made 0700 nobody-at-all:root"}},

		// preflight
		{name: "root", wrong: tell("uid", "1000"), want: []string{"FAULT root root: 1000; run it as root"}},
		{name: "cpus", wrong: tell("cpus", "1"), want: []string{"FAULT cpus cpus 2: 1; give it two CPUs"}},
		{name: "memory", wrong: func(m *aMachine) { m.at("/proc/meminfo", "MemTotal: 1048576 kB\n") },
			want: []string{"FAULT memory memory 1700: 1024; "}},
		{name: "arch", wrong: tell("arch", "aarch64"), want: []string{"FAULT arch arch x86_64: aarch64; "}},
		{name: "cgroup v1", wrong: func(m *aMachine) { os.RemoveAll(m.root + "/sys/fs/cgroup") },
			want: []string{"FAULT cgroup-v1 cgroup2 cpu cpuset memory pids: "}},
		{name: "cgroup controller", wrong: func(m *aMachine) { m.at("/sys/fs/cgroup/cgroup.controllers", "cpu cpuset pids\n") },
			want: []string{"FAULT cgroup-v1 cgroup2 cpu cpuset memory pids:  cpu cpuset pids ; "}},
		{name: "swap", wrong: never("no-swapoff"), want: []string{"FAULT swap swap-off: /dev/sda2 partition"}},
		{name: "swap kept", wrong: func(m *aMachine) { m.data["swap"] = "keep" }, want: []string{"FAULT swap swap-off: /dev/sda2"}},
		{name: "command", wrong: func(m *aMachine) { m.check = []string{"c|stop|command no-such-command|install it"} },
			want: []string{"FAULT c command no-such-command: missing; install it"}},
		{name: "file", wrong: func(m *aMachine) {
			m.check = []string{"no-systemd|stop|file-exists /run/systemd/system|boot with systemd"}
		},
			want: []string{"FAULT no-systemd file-exists /run/systemd/system: missing; "}},
		{name: "module", wrong: never("no-module"), want: []string{"FAULT module-br_netfilter module br_netfilter: missing; "}},
		{name: "sysctl", wrong: never("no-sysctl"), want: []string{"FAULT sysctl-ip_forward sysctl net/ipv4/ip_forward 1: 0; "}},
		{name: "sysctl unknown", wrong: func(m *aMachine) { m.check = []string{"s|stop|sysctl no/such 1|x"} },
			want: []string{"FAULT s sysctl no/such 1: cat: "}},
		{name: "host name", wrong: tell("hostname", "other"), want: []string{"FAULT hostname sysctl kernel/hostname cp-1: other; "}},
		{name: "port, IPv4", wrong: func(m *aMachine) {
			m.at("/proc/net/tcp", "  sl\n   1: 0B00000A:192B 00000000:0000 0A 0:0\n")
		}, want: []string{"FAULT port-6443 port-free 6443: in use; ss -ltnp"}},
		{name: "port, IPv6", wrong: func(m *aMachine) {
			z := strings.Repeat("0", 32)
			m.at("/proc/net/tcp6", "  sl\n   1: "+z+":280A "+z+":0000 0A 0:0\n")
		}, want: []string{"FAULT port-10250 port-free 10250: in use; "}},
		{name: "address", wrong: tell("address", ""), want: []string{"FAULT node-ip-absent address 10.0.0.11: there is lo UNKNOWN 127.0.0.1/8 eth0 UP 10.0.0.11/24; "}},
		{name: "address tentative", wrong: tell("address", "2: eth0 inet6 fd00::11/64 scope global tentative"),
			want: []string{"FAULT node-ip-absent address 10.0.0.11: "}},
		{name: "clock behind", wrong: tell("clock", "1000000000"), want: []string{"FAULT clock-behind not-before 1790000000: 100000000"}},
		{name: "certificate expired", wrong: tell("clock", "1900000000"), want: []string{"FAULT cert-expired not-after 1830000000: 1900000000; render again"}},
		{name: "kubelet absent", wrong: func(m *aMachine) { m.check = []string{"kubelet-version|stop|kubelet-version no-kubelet v1.33 v1.37|x"} },
			want: []string{"FAULT kubelet-version kubelet-version no-kubelet v1.33 v1.37: "}},
		{name: "kubelet old", wrong: tell("kubelet-version", "Kubernetes v1.9.11"), want: []string{"FAULT kubelet-version kubelet-version kubelet v1.33 v1.37: Kubernetes v1.9.11; "}},
		{name: "kubelet new", wrong: tell("kubelet-version", "Kubernetes v1.37.0"), want: []string{"FAULT kubelet-version kubelet-version kubelet v1.33 v1.37: Kubernetes v1.37.0; "}},
		{name: "socket", wrong: func(m *aMachine) { os.Remove(m.root + "/run/containerd/containerd.sock") },
			want: []string{"FAULT cri-socket socket /run/containerd/containerd.sock: missing; "}},
		{name: "runtime", wrong: tell("active", "failed"), want: []string{"FAULT cri-down active containerd.service: failed; "}},
		{name: "disk", wrong: func(m *aMachine) { m.check = []string{"disk-var|stop|disk /var 999999999|make room"} },
			want: []string{"FAULT disk-var disk /var 999999999: "}},
		{name: "folder not empty", wrong: func(m *aMachine) { m.at("/var/lib/etcd/x", "") },
			want: []string{"FAULT etcd-dir empty-dir /var/lib/etcd: lost+found x; "}},
		{name: "all together", wrong: func(m *aMachine) {
			m.know("cpus", "1\n")
			m.know("arch", "riscv64\n")
			m.know("active", "inactive\n")
			m.know("kernel", "5.4.0\n")
		}, want: []string{"FAULT cpus cpus 2: 1", "FAULT arch arch x86_64: riscv64", "FAULT cri-down active containerd.service: inactive"}},

		{name: "a remedy for several checks", wrong: func(m *aMachine) {
			m.check = []string{"a|stop|file-exists /a|make them", "b|stop|file-exists /b|", "root|stop|root|", "c|stop|file-exists /c|"}
		}, want: []string{"FAULT a file-exists /a: missing; make them", "FAULT b file-exists /b: missing; make them", "FAULT c file-exists /c: missing; make them"}},

		// etcd
		{role: "control-plane", name: "etcd after formation", wrong: tell("clock", "1800600001"),
			want: []string{"FAULT etcd-empty-after-formation /var/lib/etcd: empty at 1800600001, after 1800600000, and no other member answers; "}},
		// health
		{role: "control-plane", name: "kubelet", wrong: tell("no-kubelet", "active"),
			want: []string{"FAULT kubelet-unhealthy kubelet.service: curl: (7) refused; sh /etc/kiln/boot report"}},
		{role: "control-plane", name: "kubelet crashes", wrong: func(m *aMachine) {
			m.know("no-kubelet", "activating\n")
			m.know("journal", `E1121 08:00:00 run.go:72] "command failed" err="unknown flag: --x"`+"\n")
		}, want: []string{"FAULT kubelet-crash kubelet.service: curl: (7) refused; E1121 08:00:00 run.go:72] 'command failed' err='unknown flag: --x'; sh"}},
		{role: "control-plane", name: "etcd", wrong: answer("GET", "http://127.0.0.1:2381/readyz", 503, 0, "[+]a ok\n[-]data_corruption failed"),
			want: []string{"FAULT etcd-unhealthy http://127.0.0.1:2381/readyz: HTTP 503 [-]data_corruption failed; "}},
		{role: "control-plane", name: "API server", wrong: answer("GET", "https://*/readyz", 500, 0, "[+]ping ok\n[-]etcd failed: reason withheld\n[-]x failed\nreadyz check failed"),
			want: []string{"FAULT kube-apiserver-unhealthy https://10.0.0.11:6443/readyz: HTTP 500 [-]etcd failed: reason withheld [-]x failed; "}},
		{role: "control-plane", name: "controller-manager", wrong: answer("GET", "*:10257/*", 500, 0, ""), want: []string{"FAULT kube-controller-manager-unhealthy "}},
		{role: "control-plane", name: "scheduler", wrong: answer("GET", "*:10259/*", 500, 0, ""), want: []string{"FAULT kube-scheduler-unhealthy "}},

		// objects
		{role: "control-plane", name: "object malformed", wrong: answer("PATCH", "*/coredns*", 422, 0,
			`{"kind":"Status","metadata":{},"status":"Failure","message":"Deployment \"coredns\" is invalid:\n spec","reason":"Invalid","details":{"causes":[{"reason":"x"}]},"code":422}`),
			want: []string{`FAULT object /apis/apps/v1/namespaces/kube-system/deployments/coredns: HTTP 422: Deployment 'coredns' is invalid:n spec; `}},
		{role: "control-plane", name: "object without message", wrong: answer("PATCH", "*/coredns*", 400, 0, secret),
			want: []string{"FAULT object /apis/apps/v1/namespaces/kube-system/deployments/coredns: HTTP 400; "}},
		{role: "control-plane", name: "secret malformed", wrong: answer("PATCH", "*/secrets/*", 400, 0, `{"message":"cannot decode `+secret+`","reason":"x"}`),
			want: []string{"FAULT object " + kubeSystem + "/secrets/token: HTTP 400; "}},
		{role: "control-plane", name: "credential refused", wrong: answer("GET", "*/configmaps/kiln", 401, 0, `{"message":"Unauthorized","reason":"Unauthorized"}`),
			want: []string{"FAULT object " + kubeSystem + "/configmaps/kiln: HTTP 401: Unauthorized; "}},
		{role: "control-plane", name: "webhook down", wrong: answer("PATCH", "*/coredns*", 500, 0, `{"message":"failed calling webhook","reason":"InternalError"}`),
			want: []string{"FAULT object /apis/apps/v1/namespaces/kube-system/deployments/coredns: HTTP 500: failed calling webhook; "}},
		{role: "control-plane", name: "labels refused", wrong: answer("PATCH", "*/nodes/*", 422, 0, `{"message":"bad label","reason":"Invalid"}`),
			want: []string{"FAULT object /api/v1/nodes/cp-1: HTTP 422: bad label; "}},

		// node
		{name: "not registered", wrong: answer("GET", "*/nodes/*", 404, 0, `{"message":"nodes cp-1 not found","reason":"NotFound"}`),
			want: []string{"FAULT node-not-registered https://10.0.0.11:6443/api/v1/nodes/cp-1: HTTP 404: nodes cp-1 not found; "}},
		{name: "endpoint silent", wrong: answer("GET", "*/nodes/*", 0, 7, ""),
			want: []string{"FAULT api-endpoint https://10.0.0.11:6443/api/v1/nodes/cp-1: curl: (7) as the rule says; "}},
		{name: "endpoint of another cluster", wrong: answer("GET", "*/nodes/*", 0, 60, ""),
			want: []string{"FAULT api-wrong-cluster https://10.0.0.11:6443/api/v1/nodes/cp-1: curl: (60) as the rule says; "}},
		{name: "endpoint of a name that the certificate lacks", wrong: func(m *aMachine) {
			m.know("curl-says", "SSL: no alternative certificate subject name matches target host name 'api.test'\n")
			m.rule("GET", "*/nodes/*", 99, 0, 60, "")
		}, want: []string{"FAULT api-wrong-cluster https://10.0.0.11:6443/api/v1/nodes/cp-1: curl: (60) SSL: no alternative certificate subject name matches target host name 'api.test'; " +
			"its certificate lacks this name: add it to apiServer.certSANs, or correct endpoint"}},
		{name: "certificate without the endpoint's name", wrong: func(m *aMachine) {
			m.know("curl-says", "SSL: no alternative certificate subject name matches target host name 'api.test'\n")
			m.rule("GET", "https://api.test:6443", 99, 0, 60, "")
			m.check = []string{"c|stop|trusted https://api.test:6443 /etc/kubernetes/pki/ca.crt 1790000000|another cluster answers"}
		}, want: []string{"FAULT c trusted https://api.test:6443 /etc/kubernetes/pki/ca.crt 1790000000: curl: (60) SSL: no alternative certificate subject name matches " +
			"target host name 'api.test'; its certificate lacks this name: add it to apiServer.certSANs"}},
		{name: "certificate of another CA", wrong: func(m *aMachine) {
			m.rule("GET", "https://api.test:6443", 99, 0, 60, "")
			m.check = []string{"c|stop|trusted https://api.test:6443 /etc/kubernetes/pki/ca.crt 1790000000|another cluster answers"}
		}, want: []string{"FAULT c trusted https://api.test:6443 /etc/kubernetes/pki/ca.crt 1790000000: curl: (60) as the rule says; another cluster answers"}},
		{name: "name taken", wrong: answer("GET", "*/nodes/*", 200, 0, `{"status":{"nodeInfo":{"machineID":"ec2d5a","bootID":"b"}}}`),
			want: []string{"FAULT name-taken https://10.0.0.11:6443/api/v1/nodes/cp-1: the Node of machine ec2d5a; another machine has this name: turn it off"}},

		// the hook itself
		{name: "unknown step", wrong: func(m *aMachine) { m.data["steps"] = "files dance" },
			want: []string{"FAULT hook dance: ended with status 127; "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			underEachShell(t, func(t *testing.T, shell []string) {
				role := row.role
				if role == "" {
					role = "worker"
				}
				m := newMachine(t, shell, role)
				m.data["step_timeout"] = "3"
				if row.wrong != nil {
					row.wrong(m)
				}
				m.document()
				if row.later != nil {
					row.later(m)
				}
				before := m.kept()
				m.wantFaults(row.want...)
				_, err := os.Stat(m.root + "/var/lib/kiln/kubelet-allowed")
				if after := m.kept(); err != nil && after != before {
					t.Errorf("it changed the machine:\n%s", diff(before, after))
				}
				if _, err := os.Lstat(m.root + "/run/kiln/lock"); err == nil {
					t.Error("the lock is still there")
				}
			})
		})
	}
}

// TestBootGoesOn: a machine that was stopped finishes when what was wrong has been put right, without doing again
// what it has done.
func TestBootGoesOn(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.data["step_timeout"] = "20"
		m.document()
		m.know("cpus", "1\n")
		m.wantFaults("FAULT cpus ")
		m.know("cpus", "2\n")
		m.rule("GET", "*:10259/healthz", 10, 503, 0, "")
		m.wantFaults("FAULT kube-scheduler-unhealthy ")
		m.at("/proc/net/tcp", "  sl\n   1: 0B00000A:192B 00000000:0000 0A 0:0\n")
		must(t, os.RemoveAll(m.world+"/rules"))
		must(t, os.Truncate(m.world+"/systemctl", 0))
		m.wantDone()
		if got := m.read(m.world + "/systemctl"); got != "stop *.swap\n" {
			t.Errorf("systemctl %s", got)
		}
	})
}

// TestBootWaits: what is not there yet is waited for, named at once and then once a minute, whatever the clock does.
func TestBootWaits(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.document()
		m.know("clock", "1789999900\n")                        // 100 s too early
		m.rule("GET", "*:10248/healthz", 20, 0, 7, "")         // some 140 s
		m.rule("GET", "*/readyz", 2, 500, 0, "[-]etcd failed") // of etcd
		m.rule("GET", "*/configmaps/kiln", 2, 403, 0, `{"message":"RBAC: not yet","reason":"Forbidden"}`)
		for i, code := range []int{0, 401, 403, 404, 409, 429, 500, 503} {
			m.rule("PATCH", "*/coredns*", 1, code, map[int]int{0: 52}[code], "")
			_ = i
		}
		m.rule("GET", "*/nodes/cp-1", 2, 404, 0, "")
		out := m.wantDone()
		for text, times := range map[string]int{
			"preflight: waiting for this machine: clock-behind: 1789999900; ":                  1,
			"preflight: waiting for this machine: ":                                            2,
			"kubelet: waiting for kubelet: curl: (7) as the rule says":                         3,
			"control-plane: waiting for etcd: HTTP 500 [-]etcd failed":                         1,
			"objects: waiting for " + kubeSystem + "/configmaps/kiln: HTTP 403: RBAC: not yet": 1,
			"objects: waiting for /apis/apps/v1/namespaces/kube-system/deployments/coredns":    1,
			"node: waiting for cp-1: HTTP 404":                                                 1,
		} {
			if n := strings.Count(out, text); n != times {
				t.Errorf("%d times %q, want %d\n%s", n, text, times, out)
			}
		}
	})
}

func TestBootRepairsModes(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.document()
		must(t, os.Chmod(m.root+"/etc/kubernetes/pki/install.key", 0o644))
		must(t, os.Chmod(m.root+"/etc/with space.conf", 0o777))
		must(t, os.MkdirAll(m.root+"/etc/kubernetes/manifests", 0o755))
		out := m.wantDone()
		for path, mode := range map[string]os.FileMode{"/etc/with space.conf": 0o600, "/etc/kubernetes/manifests": 0o700 | os.ModeDir} {
			if info, err := os.Stat(m.root + path); err != nil || info.Mode() != mode {
				t.Error(path, info.Mode(), err)
			}
			if !strings.Contains(out, path) {
				t.Errorf("%s was repaired silently", path)
			}
		}
	})
}

// TestBootOwners: the list may name owners by number; what belongs to another number is put right.
func TestBootOwners(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.kinds = []string{"dir 0700 0:0 /etc/number", "dir 0700 4242:4243 /etc/foreign"}
		m.document()
		for _, dir := range []string{"number", "foreign"} {
			must(t, os.MkdirAll(m.root+"/etc/"+dir, 0o700))
		}
		out := m.wantDone()
		for _, path := range []string{"/etc/number", "/etc/hostname"} {
			if strings.Contains(out, path) {
				t.Errorf("%s was right before\n%s", path, out)
			}
		}
		info, err := os.Stat(m.root + "/etc/foreign")
		must(t, err)
		if own := info.Sys().(*syscall.Stat_t); own.Uid != 4242 || own.Gid != 4243 {
			t.Errorf("/etc/foreign is %d:%d's", own.Uid, own.Gid)
		}
	})
}

func TestBootKnowsItsDocument(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		m.wantDone()
		m.at("/etc/with space.conf", "another document")
		m.document()
		m.wantFaults("FAULT document-changed /etc/kiln/files: this machine was made from ")
	})
}

// TestBootLeavesObjects: the marker says that a control plane has given the API server its objects before.
func TestBootLeavesObjects(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.know("api/api_v1_namespaces_kube-system_configmaps_kiln", "")
		m.document()
		m.wantDone()
		if got := m.read(m.world + "/applied"); got != "api_v1_nodes_cp-1\n" {
			t.Errorf("applied %s", got)
		}
	})
}

// TestBootWarns: what only warns is said once, and stops nothing.
func TestBootWarns(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.check = slices.DeleteFunc(m.check, func(s string) bool { return strings.HasPrefix(s, "cpus|") })
		m.check = append(m.check, "cpus|warn|cpus 2|give it two CPUs")
		m.know("cpus", "1\n")
		m.know("kernel", "5.4.0\n")
		m.know("clock", "1789999990\n") // 10 s too early: the checks are made several times
		m.document()
		out := m.wantDone()
		for _, warning := range []string{"preflight: warning: cpus: 1; give it two CPUs\n", "preflight: warning: kernel: 5.4.0; update the kernel\n"} {
			if strings.Count(out, warning) != 1 {
				t.Errorf("want once %s%s", warning, out)
			}
		}
	})
}

func TestBootRunsOnce(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		// A process that went away without its lock.
		must(t, os.MkdirAll(m.root+"/run/kiln", 0o700))
		must(t, os.Symlink("4194305.1", m.root+"/run/kiln/lock"))
		m.wantDone()

		// Its id is another process's now, which looks like a hook, but began at another time.
		foreign := exec.Command("sh", "-c", "sleep 60 & wait", "/etc/kiln/boot", "--bootstrap-kubeconfig=x")
		foreign.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		must(t, foreign.Start())
		defer func() { syscall.Kill(-foreign.Process.Pid, syscall.SIGKILL); foreign.Wait() }()
		for _, lock := range []string{"%d", "%d.", "%d.1"} {
			m = newMachine(t, shell, "worker")
			m.document()
			must(t, os.MkdirAll(m.root+"/run/kiln", 0o700))
			must(t, os.Symlink(fmt.Sprintf(lock, foreign.Process.Pid), m.root+"/run/kiln/lock"))
			m.wantDone()
		}

		m = newMachine(t, shell, "worker")
		m.document()
		hold := exec.Command(shell[0], append(slices.Clone(shell[1:]), "-c", "sleep 60 & wait", m.root+"/etc/kiln/boot")...)
		hold.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		must(t, hold.Start())
		defer func() { syscall.Kill(-hold.Process.Pid, syscall.SIGKILL); hold.Wait() }()
		must(t, os.MkdirAll(m.root+"/run/kiln", 0o700))
		stat := m.read(fmt.Sprintf("/proc/%d/stat", hold.Process.Pid))
		began := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])[19]
		must(t, os.Symlink(fmt.Sprintf("%d.%s", hold.Process.Pid, began), m.root+"/run/kiln/lock"))
		out, code := m.run()
		if code != 0 || !strings.Contains(out, fmt.Sprintf("already-running as process %d\n", hold.Process.Pid)) || m.read(m.root+"/var/lib/kiln/state") != "" {
			t.Errorf("exit status %d\n%s", code, out)
		}
		if _, err := os.Readlink(m.root + "/run/kiln/lock"); err != nil {
			t.Error(err)
		}
	})
}

// TestBootEndsCleanly on SIGTERM, wherever it comes: no fault, no lock, and the next start goes on.
func TestBootEndsCleanly(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for i := range 6 {
			m := newMachine(t, shell, "control-plane")
			m.document()
			cmd := m.command()
			var out strings.Builder
			cmd.Stderr = &out
			must(t, cmd.Start())
			time.Sleep(time.Duration(20+i*40) * time.Millisecond)
			must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM))
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); strings.Contains(out.String(), "FAULT") || code == 1 {
				t.Errorf("exit status %d\n%s", code, out.String())
			}
			if v := m.status(); cmd.ProcessState.ExitCode() == 143 && v.Phase != "stopped" && v.Phase != "" {
				t.Errorf("phase %s", v.Phase)
			}
			if _, err := os.Lstat(m.root + "/run/kiln/lock"); err == nil && cmd.ProcessState.ExitCode() == 143 {
				t.Error("the lock is still there")
			}
			m.wantDone()
		}
	})
}

// everyPoint is for an hour in which the computer has nothing better to do.
var everyPoint = flag.Bool("every-point", false, "kill the hook before each of its commands, not before some")

// TestBootSurvivesKill kills the hook and all that it started before its n-th command, and starts it again: it must end
// where an undisturbed one ends.
func TestBootSurvivesKill(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for _, role := range []string{"control-plane", "worker"} {
			make := func(t *testing.T) *aMachine {
				m := newMachine(t, shell, role)
				m.rule("GET", "*:10248/healthz", 2, 0, 7, "")
				m.rule("PATCH", "*/coredns*", 1, 409, 0, "")
				m.mortal()
				m.check = []string{m.check[1], m.check[14], m.check[len(m.check)-1]}
				m.document()
				return m
			}
			m := make(t)
			m.wantDone()
			want, calls := m.outcome(), m.calls()
			runs := calls
			if !*everyPoint {
				runs = 5
			}
			r := rand.New(rand.NewPCG(1, 2))
			for i := range runs {
				at := i
				if !*everyPoint {
					at = r.IntN(calls)
				}
				m := make(t)
				m.killAt(at)
				if _, code := m.run(); code != -1 {
					t.Errorf("%s: not killed before command %d of %d", role, at, calls)
				}
				// Once more, earlier: a start may be killed as well.
				m.killAt(at / 2)
				m.run()
				m.immortal()
				m.wantDone()
				if got := m.outcome(); got != want {
					t.Errorf("%s: killed before command %d of %d:\n%s", role, at, calls, diff(want, got))
				}
			}
			t.Logf("%s: %d of %d points", role, runs, calls)
		}
	})
}

// diff returns the lines that only one of two texts has.
func diff(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range w {
		if !slices.Contains(g, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range g {
		if !slices.Contains(w, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	return b.String()
}

// TestBootIsInert: whatever a value holds, it is data.
func TestBootIsInert(t *testing.T) {
	evil := []string{
		"$(touch pwned)", "`touch pwned`", "';touch pwned;'", `"; touch pwned; "`, "a[$(touch pwned)]", "-n", "--help", "%s%n%p",
		`\n\033[2J\`, "line\nFAULT forged x: y; z", "*", "~root", "${root}", "\x1b]0;x\a\x9b2J", "é\u009b", "&& touch pwned", "> pwned",
	}
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, value := range evil {
			m := newMachine(t, shell, []string{"control-plane", "worker"}[i%2])
			m.data["step_timeout"] = "3"
			m.data["extra"] = value
			for name := range m.data {
				// One more value at a time is evil, the one that the index names for this text; ends in a fault or not.
				if name != "role" && name != "step_timeout" && (len(name)+i)%3 == 0 {
					m.data[name] = value
				}
			}
			if i%4 == 3 {
				m.data["step_timeout"], m.data["formation_deadline"] = value, value
			}
			word := strings.NewReplacer("|", "", "\n", "").Replace(value)
			m.check = append(m.check, word+"|stop|file-exists "+word+"|"+word, "e|warn|cpus "+word+"|"+word, "f|stop|sysctl "+word+" "+word+"|x")
			m.document()
			out, code := m.run()
			if code != 0 && code != 1 {
				t.Errorf("%q: exit status %d\n%s", value, code, out)
			}
			if regexp.MustCompile("(?m)^FAULT forged").MatchString(out) {
				t.Errorf("%q: a forged line:\n%s", value, out)
			}
			for _, dir := range []string{m.root, m.world} {
				must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
					if strings.HasSuffix(path, "pwned") {
						t.Errorf("%q: it ran", value)
					}
					return err
				}))
			}
			for _, text := range []string{m.read(m.root + "/dev/console"), m.read(m.root + "/etc/issue.d/kiln.issue"), m.read(m.root + "/var/lib/kiln/status.json")} {
				if regexp.MustCompile(`[^\n -~]|\\`).MatchString(text) {
					t.Errorf("%q: not plain: %q", value, text)
				}
			}
		}
	})
}

// TestBootDespiteDeadEnds: no place to report to changes what becomes of the machine.
func TestBootDespiteDeadEnds(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		defer full.Close()
		for _, wrong := range []bool{false, true} {
			m := newMachine(t, shell, "worker")
			must(t, os.Remove(m.root+"/dev/console"))
			must(t, os.Symlink("/dev/full", m.root+"/dev/console"))
			m.at("/etc/issue.d", "a file") // not a folder
			m.document()
			if wrong {
				m.know("cpus", "1\n")
			}
			cmd := m.command()
			cmd.Stdout, cmd.Stderr = full, full
			cmd.Run()
			if v := m.status(); wrong && (cmd.ProcessState.ExitCode() != 1 || v.Phase != "stopped") || !wrong && (cmd.ProcessState.ExitCode() != 0 || v.Phase != "done") {
				t.Errorf("exit status %d, phase %s", cmd.ProcessState.ExitCode(), v.Phase)
			}
		}
		// No state, no step: it says so.
		m := newMachine(t, shell, "worker")
		m.document()
		must(t, os.Symlink("/dev/full", m.root+"/var/lib/kiln"))
		if out, code := m.start(); code != 1 || !strings.Contains(out, "FAULT unwritable ") {
			t.Errorf("exit status %d\n%s", code, out)
		}
		// No lock, no start.
		m = newMachine(t, shell, "worker")
		m.document()
		must(t, os.Symlink("/bin/false", m.bin+"/ln"))
		if out, code := m.start(); code != 1 || !strings.Contains(out, "FAULT unwritable ") {
			t.Errorf("exit status %d\n%s", code, out)
		}
	})
}

// TestBootCutOff: a hook that arrived without its end does not pass for one that is done.
func TestBootCutOff(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		lines := strings.SplitAfter(templates.Boot, "\n")
		for n := len(lines) - 2; n > 10; n -= 7 {
			m.at("/etc/kiln/boot", strings.Join(lines[:n], ""))
			if out, code := m.start(); code == 0 {
				t.Errorf("%d lines: exit status 0\n%s", n, out)
			}
		}
	})
}

// TestBootKnowsItsMachine: the disk of a machine, copied to another, is no machine of the cluster. The kubelet there is
// not started either, by whatever starts it.
func TestBootKnowsItsMachine(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.at("/sys/class/dmi/id/product_uuid", "4c4c4544-0042-3510-8054-b7c04f4e3232\n")
		m.document()
		if _, code := m.start("kubelet"); code != 1 {
			t.Errorf("before the first boot: exit status %d", code)
		}
		m.wantDone()
		m.at("/proc/sys/kernel/hostname", "dhcp-17\n")
		out, code := m.start("kubelet")
		if name := m.read(m.root + "/proc/sys/kernel/hostname"); code != 0 || out != "" || name != "cp-1\n" {
			t.Errorf("exit status %d, host name %q\n%s", code, name, out)
		}
		m.at("/sys/class/dmi/id/product_uuid", "0de0a7d2-1a5e-4c52-9a3e-7f3a2c1b0d99\n")
		m.wantFaults("FAULT cloned /etc/machine-id: the disk is that of 6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1 4c4c4544-0042-3510-8054-b7c04f4e3232, this is 6a1f")
		if out, code := m.start("kubelet"); code != 1 || !strings.Contains(out, "copy of another machine") {
			t.Errorf("exit status %d\n%s", code, out)
		}
	})
}

// TestBootStopsLoops: a machine that starts again and again, and never gets further, is stopped, and so is its kubelet. A
// person's restart gives it as many starts again.
func TestBootStopsLoops(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["step_timeout"] = "1"
		m.know("no-kubelet", "")
		m.document()
		m.wantFaults("FAULT kubelet-unhealthy ")
		m.at("/var/lib/kiln/starts", "20\n")
		m.wantFaults("FAULT no-progress /var/lib/kiln/state: 21 starts since the last step was done; ")
		if _, err := os.Stat(m.root + "/var/lib/kiln/kubelet-allowed"); err == nil {
			t.Error("the kubelet may still start")
		}
		must(t, os.Remove(m.world+"/no-kubelet"))
		m.wantDone()
		if starts := m.read(m.root + "/var/lib/kiln/starts"); starts != "" {
			t.Errorf("%s starts are still counted", starts)
		}
	})
}

// TestBootRunsScripts: the user's scripts run once, in their order, before and after; what they print is kept.
func TestBootRunsScripts(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["steps"] = "files pre-boot machine preflight kubelet node post-boot retire"
		m.data["pre_boot"], m.data["post_boot"] = "disk:60 raid:60", "tell:60"
		m.at("/etc/kiln/pre-boot/disk", `echo disk >>"$WORLD/order"; echo "made $((1 + 1))"`)
		m.at("/etc/kiln/pre-boot/raid", `echo raid >>"$WORLD/order"; [ -e "$WORLD/mended" ] || { echo no disk >&2; exit 7; }`)
		m.at("/etc/kiln/post-boot/tell", `[ -e "$WORLD/running" ] && echo tell >>"$WORLD/order"`)
		m.document()
		m.wantFaults("FAULT pre-boot raid: status 7 after 0 of 60 seconds; sh /etc/kiln/boot report shows what it printed")
		out, code := m.start("report")
		if code != 0 || !strings.Contains(out, "-- /var/lib/kiln/pre-boot-raid.log\nno disk\n") || !strings.Contains(out, "made 2") {
			t.Errorf("exit status %d\n%s", code, out)
		}
		if m.read(m.world+"/running") != "" {
			t.Error("the kubelet runs")
		}
		m.know("mended", "")
		m.wantDone()
		m.wantDone()
		if order := m.read(m.world + "/order"); order != "disk\nraid\ndisk\nraid\ntell\n" {
			t.Errorf("order %q", order)
		}
		m = newMachine(t, shell, "worker")
		m.data["steps"], m.data["pre_boot"] = "files pre-boot", "slow:60"
		m.at("/etc/kiln/pre-boot/slow", "forever")
		m.document()
		m.wantFaults("FAULT pre-boot slow: status 1 after 60 of 60 seconds; ")

		// Not on the wrong machine: its disks would be another's.
		m = newMachine(t, shell, "worker")
		m.data["steps"], m.data["pre_boot"] = "files pre-boot", "wipe:60"
		m.at("/etc/kiln/pre-boot/wipe", `: >"$WORLD/wiped"`)
		m.check = []string{"cpus|stop|cpus 99|no", "product-uuid|stop|product-uuid 4c4c4544-0042-3510-8054-b7c04f4e3232|boot its own document"}
		m.document()
		m.wantFaults("FAULT product-uuid product-uuid 4c4c4544-0042-3510-8054-b7c04f4e3232: ; boot its own document")
		if _, err := os.Stat(m.world + "/wiped"); err == nil {
			t.Error("it ran")
		}
	})
}

// TestBootReports: the report tells what there is to tell, at any time, and nothing secret.
func TestBootReports(t *testing.T) {
	const jwt, token, key = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2lnbmF0", "abcdef.0123456789abcdef", "MHcCAQEEIJr5t0b8Yk1l2m3n4o5p6q7r8s9t0u1v2w3x4y5z"
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.data["step_timeout"] = "3"
		m.document()
		if out, code := m.start("report"); code != 0 || !strings.Contains(out, "== status") {
			t.Errorf("before the first boot: exit status %d\n%s", code, out)
		}
		m.rule("GET", "https://10.0.0.11:6443/readyz*", 99, 500, 0, "[+]ping ok\n[-]etcd failed: reason withheld")
		m.at("/var/log/pods/kube-system_etcd-cp-1_0/etcd/0.log", "panic: "+jwt+" and "+token+"\n-----BEGIN EC PRIVATE KEY-----\n"+key+"\n-----END EC PRIVATE KEY-----\nBearer "+key+"\nlast line\n")
		m.wantFaults("FAULT kube-apiserver-unhealthy ")
		before := m.outcome()
		out, code := m.start("report")
		for _, want := range []string{`"phase":"stopped"`, "FAULT kube-apiserver-unhealthy", "[-]etcd failed: reason withheld", "/var/log/pods/kube-system_etcd-cp-1_0/etcd/0.log", "last line"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		for _, word := range []string{secret, jwt, token, key} {
			if strings.Contains(out, word) {
				t.Errorf("%q in\n%s", word, out)
			}
		}
		if code != 0 || m.outcome() != before {
			t.Errorf("exit status %d, or it changed something", code)
		}
	})
}

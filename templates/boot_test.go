package templates_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/machine/preflight"
	"kiln.dev/kiln/test/need"
)

func TestBootMakesControlPlane(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.at("/etc/issue.d/kiln.issue", "FAULT of an earlier start\n")
		m.document()
		m.wantDone()
		want := []string{
			"api_v1_namespaces_kube-system_secrets_token",
			"apis_apps_v1_namespaces_kube-system_deployments_coredns",
			"api_v1_namespaces_kube-system_configmaps_kiln", "api_v1_nodes_cp-1",
		}
		require.Equal(t, want, strings.Fields(m.read(m.world+"/applied")))
		for _, path := range append(strings.Fields(m.data["retire"]), "/etc/issue.d/kiln.issue") {
			require.False(t, m.remains(path), "%s is still there", path)
		}
		link, _ := os.Readlink(m.root +
			"/var/lib/kubelet/pki/kubelet-client-current.pem")
		require.Equal(t, "kubelet-client-2026.pem", link)
		steps := "files machine preflight etcd kubelet member objects control-plane node labels " +
			"network done"
		if v := m.status(); len(v.Steps) != len(strings.Fields(steps)) || v.Node != "cp-1" ||
			v.Cluster != m.data["cluster"] {
			t.Errorf("status.json: %+v", v)
		}
		// Every request to a server names the CA, except for two servers that have none.
		for line := range strings.Lines(m.read(m.world + "/curl")) {
			require.Contains(t, line, "--noproxy *")
			require.True(t, strings.HasPrefix(line, "-q "), line)
			require.NotContains(t, line, secret)
			require.Equal(t, strings.Contains(line, "--cacert"),
				strings.Contains(line, "https://10."))
		}
		// A finished machine stays finished: the next start ends at once, although files were
		// removed.
		before := m.outcome()
		must(t, os.Remove(m.world+"/curl"))
		start := time.Now()
		out := m.wantDone()
		t.Logf("again: %v", time.Since(start))
		require.Equal(t, before, m.outcome(), out)
		require.Empty(t, m.read(m.world+"/curl"), out)
		require.Contains(t, out, "done: cp-1 is part of its cluster\n")
	})
}

func TestBootMakesWorker(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, name := range []string{"cp-1", "pool-7"} {
			if !isTurn(t, shell, i) {
				continue
			}
			m := newMachine(t, shell, "worker")
			if name == "pool-7" {
				m.ofPool("-4")
				m.know("hostname", "Pool-7\n")
			}
			m.document()
			m.wantDone()
			require.Contains(t, m.read(m.world+"/systemctl"), "\nrestart "+m.data["restart"]+"\n")
			asked := m.read(m.world + "/curl")
			require.Contains(t, asked, "/api/v1/nodes/"+name, name)
			require.NotContains(t, asked, "install.key", name)
			require.Empty(t, m.read(m.world+"/applied"), name)
			require.False(t, m.remains(bootstrap), "the token is still there")
		}
	})
}

// TestBootAsksForRoles: a worker that is to have roles gives the controller-manager a reason to
// write to its Node, once and with its own certificate. What comes of it stops nothing.
func TestBootAsksForRoles(t *testing.T) {
	for i, row := range []struct {
		code         int
		says, silent string
	}{
		{code: 200, silent: "warning"},
		{code: 403, says: "role: warning: no roles yet: HTTP 403\n"},
	} {
		t.Run(strconv.Itoa(row.code), func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				m.data["steps"] = "files machine preflight kubelet node role"
				m.rule("PATCH", "*/api/v1/nodes/cp-1", 99, row.code, 0, "{}")
				m.document()
				out := m.wantDone()
				require.Contains(t, out, row.says)
				require.False(t, row.silent != "" && strings.Contains(out, row.silent), out)
				const patch = `{"annotations":{"node.alpha.kubernetes.io/ttl":null}}}`
				asked := m.read(m.world + "/curl")
				require.Equal(t, 1, strings.Count(asked, patch))
				require.Equal(t, strings.Count(asked, patch), strings.Count(asked, "-X PATCH"))
				require.Contains(t, asked, "kubelet-client-current.pem")
			})
		})
	}
}

// TestBootMakesEtcdMachine: a machine that runs a member of etcd and nothing else waits for the
// member alone, and asks no API server.
func TestBootMakesEtcdMachine(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, row := range []struct {
			name, url     string
			times, status int
			answer        string
		}{
			{name: "forms"},
			{"waits", "http://127.0.0.1:2381/readyz", 3, 503, "[-]non_learner failed"},
			{"reports", "http://127.0.0.1:2381/readyz", 1, 200, "ok"},
		} {
			if !isTurn(t, shell, i) {
				continue
			}
			name := row.name
			m := newMachine(t, shell, "etcd")
			if row.url != "" {
				m.rule("GET", row.url, row.times, row.status, 0, row.answer)
			}
			m.document()
			m.wantDone()
			steps := strings.Fields(m.data["steps"])
			require.Len(t, m.status().Steps, len(steps)+1, name)
			out, code := m.start("report")
			require.Zero(t, code, "%v: %v", name, out)
			require.Contains(t, out, "http://127.0.0.1:2381/readyz: HTTP 200", name)
			asked := m.read(m.world + "/curl")
			for _, word := range []string{":6443", "/api/", "/etc/kubernetes", "kubelet-client"} {
				require.NotContains(t, asked, word, name)
			}
		}
		m := newMachine(t, shell, "etcd")
		m.check = m.check[:1]
		m.data["step_timeout"] = "30"
		m.rule("GET", "http://127.0.0.1:2381/readyz", 99, 503, 0,
			"[+]serializable_read ok\n[-]linearizable_read failed: etcdserver: leader changed")
		m.document()
		m.wantOverdue("FAULT etcd-unhealthy http://127.0.0.1:2381/readyz: " +
			"HTTP 503 [-]linearizable_read failed: etcdserver: leader changed; ")
	})
}

// TestBootLeavesObjects: if the marker is there, the hook applies no objects again.
func TestBootLeavesObjects(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.know("api/api_v1_namespaces_kube-system_configmaps_kiln", "")
		m.document()
		m.wantDone()
		require.Equal(t, "api_v1_nodes_cp-1\n", m.read(m.world+"/applied"))
	})
}

// TestBootWarns: a warning is said once, and stops nothing.
func TestBootWarns(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.check = slices.DeleteFunc(m.check,
			func(s string) bool { return strings.HasPrefix(s, "cpus|") })
		m.check = append(m.check, "cpus|warn|at_least 2 nproc|give it two CPUs")
		m.know("cpus", "1\n")
		m.know("kernel", "5.4.0\n")
		m.know("clock", "1789999990\n") // 10 s too early: the checks are made several times
		m.document()
		out := m.wantDone()
		for _, warning := range []string{"preflight: warning: cpus: 1; give it two CPUs\n",
			"preflight: warning: kernel: 5.4.0; update the kernel\n"} {
			require.Equal(t, 1, strings.Count(out, warning), out)
		}
	})
}

// TestBootRunsScripts: the user's scripts run once, in their order, and their output is kept.
func TestBootRunsScripts(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["steps"] = "files pre-boot machine preflight kubelet node post-boot"
		m.data["pre_boot"], m.data["post_boot"] = "disk:60 raid:60", "tell:60"
		m.at("/etc/kiln/pre-boot/disk", `echo disk >>"$WORLD/order"; echo "made $((1 + 1))"`)
		m.at("/etc/kiln/pre-boot/raid", `echo raid >>"$WORLD/order"; [ -e "$WORLD/mended" ] || { `+
			`echo no disk >&2; exit 7; }`)
		m.at("/etc/kiln/post-boot/tell", `[ -e "$WORLD/running" ] && echo tell >>"$WORLD/order"`)
		m.document()
		m.wantFaults("FAULT pre-boot raid: status 7 after 0 of 60 seconds; " +
			"sh /etc/kiln/boot report shows what it printed")
		out, code := m.start("report")
		require.Zero(t, code, out)
		require.Contains(t, out, "/var/lib/kiln/pre-boot-raid.log <==\nno disk\n")
		require.Contains(t, out, "made 2")
		require.Empty(t, m.read(m.world+"/running"), "the kubelet runs")
		m.know("mended", "")
		m.wantDone()
		m.wantDone()
		require.Equal(t, "disk\nraid\ndisk\nraid\ntell\n", m.read(m.world+"/order"))
		m = newMachine(t, shell, "worker")
		m.data["steps"], m.data["pre_boot"] = "files pre-boot", "slow:60"
		m.at("/etc/kiln/pre-boot/slow", "forever")
		m.document()
		m.wantFaults("FAULT pre-boot slow: status 1 after 60 of 60 seconds; ")

		// On the wrong machine they are not run: they may change disks.
		m = newMachine(t, shell, "worker")
		m.data["steps"], m.data["pre_boot"] = "files pre-boot", "wipe:60"
		m.at("/etc/kiln/pre-boot/wipe", `: >"$WORLD/wiped"`)
		const asks = "equals 4c4c4544-0042-3510-8054-b7c04f4e3232 " +
			"cat sys/class/dmi/id/product_uuid"
		m.check = []string{"cpus|stop|at_least 99 nproc|no",
			"product-uuid|stop|" + asks + "|boot its own document"}
		m.at("/sys/class/dmi/id/product_uuid", "0de0a7d2-1a5e-4c52-9a3e-7f3a2c1b0d99\n")
		m.document()
		m.wantFaults("FAULT product-uuid " + asks + ": 0de0a7d2-1a5e-4c52-9a3e-7f3a2c1b0d99; " +
			"boot its own document")
		_, err := os.Stat(m.world + "/wiped")
		require.Error(t, err, "it ran")
	})
}

// TestBootReports: the report works at any time and holds no secret.
func TestBootReports(t *testing.T) {
	const jwt, token, key = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2lnbmF0", "abcdef.0123456789abcdef",
		"MHcCAQEEIJr5t0b8Yk1l2m3n4o5p6q7r8s9t0u1v2w3x4y5z"
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.data["step_timeout"] = "3"
		m.document()
		if out, code := m.start("report"); code != 0 || !strings.Contains(out, "== cat ") {
			t.Errorf("before the first boot: exit status %d\n%s", code, out)
		}
		m.rule("GET", "https://10.0.0.11:6443/readyz*", 99, 500, 0,
			"[+]ping ok\n[-]etcd failed: reason withheld")
		m.at("/var/log/pods/kube-system_etcd-cp-1_0/etcd/0.log",
			"panic: "+jwt+" and "+token+"\n-----BEGIN EC PRIVATE KEY-----\n"+key+"\n"+
				"-----END EC PRIVATE KEY-----\nBearer "+key+"\nlast line\n")
		m.wantOverdue("FAULT kube-apiserver-unhealthy ")
		m.at("/run/cloud-init/enabled", "")
		write(t, m.bin+"/cloud-init", "#!/bin/sh\n[ \"$*\" = 'status --long' ] || exit 1\n"+
			"echo 'extended_status: degraded done'; echo 'key \"mounst\" is unknown'\nexit 2\n",
			0o755)
		before := m.outcome()
		out, code := m.start("report")
		for _, want := range []string{`"phase":"waiting"`,
			"FAULT kube-apiserver-unhealthy",
			"[-]etcd failed: reason withheld", "/var/log/pods/kube-system_etcd-cp-1_0/etcd/0.log",
			"last line", "extended_status: degraded done", `key "mounst" is unknown`} {
			require.Contains(t, out, want)
		}
		for _, word := range []string{secret, jwt, token, key} {
			require.NotContains(t, out, word)
		}
		require.Zero(t, code)
		require.Equal(t, before, m.outcome())
	})
}

// TestReadme: the first boot that the README shows is what the hook says on that machine, a single
// control plane, and the fault beside it is what the hook says of a port that is taken.
func TestReadme(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../README.md")
	must(t, err)
	journal := regexp.MustCompile("(?s)```text\n# journalctl [^\n]*\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, journal, "the README shows no first boot")
	m := newMachine(t, need.Words(mainShell(t)), "control-plane")
	m.alone()
	m.data["steps"] = strings.Replace(m.data["steps"], " member", "", 1) // nobody gives it a vote
	m.document()
	// chmod tells of a folder that the tests' machine has with another mode.
	said := regexp.MustCompile(`(?m)^mode of .*\n`).ReplaceAllString(m.wantDone(), "")
	require.Equal(t, strings.Fields(string(journal[1])), strings.Fields(said))

	fault := regexp.MustCompile(`(?m)^    (FAULT .*\n)`).FindSubmatch(page)
	require.NotNil(t, fault, "the README shows no fault")
	isPort := func(e preflight.Entry) bool { return e.ID == "port" }
	port := slices.IndexFunc(preflight.Catalogue, isPort)
	m = newMachine(t, need.Words(mainShell(t)), "worker")
	m.check = []string{"port|stop|ports_free 10250 10248|" + preflight.Catalogue[port].Remedy}
	m.at("/proc/net/tcp", "  sl\n   1: 0B00000A:280A 00000000:0000 0A 0:0\n")
	m.document()
	out, _ := m.run()
	require.Contains(t, out, string(fault[1]))
}

package preflight_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/machine/preflight"
	"kiln.dev/kiln/render/plan"
)

var update = flag.Bool("update", false, "rewrite docs/preflight.md")

// head and nodes are what stands before and behind a test's own lines in the spec of a cluster.
const (
	head = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: test}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.test
`
	nodes = `  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: worker-1, role: worker, addresses: [10.0.0.21]}
`
)

// machine returns the facts of the named machine of a cluster of two, whose spec holds the lines.
func machine(t *testing.T, name, spec string) *preflight.Facts {
	t.Helper()
	text := head + spec + nodes
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err)
	p := plan.New(c)
	for i := range p.Machines {
		if p.Machines[i].Name == name {
			return &preflight.Facts{
				Plan: p, Machine: &p.Machines[i],
				From: time.Unix(100, 0), Until: time.Unix(200, 0),
				Modules:    []string{"overlay"},
				Sysctls:    map[string]string{"net.ipv4.ip_forward": "1"},
				ResolvConf: "/etc/resolv.conf",
				Images:     []string{"registry.k8s.io/pause:3.10"},
			}
		}
	}
	t.Fatal("no such machine")
	return nil
}

// lines returns a machine's checks by ID. Those with one ID are joined.
func lines(f *preflight.Facts) map[string]string {
	out := map[string]string{}
	for _, c := range preflight.Checks(f) {
		out[c.ID] += c.Severity + "|" + c.Call + "\n"
	}
	return out
}

const debian = "  machines: {os: debian}\n"

// TestCatalogue: every row is complete, in the alphabet of the hook's data.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(preflight.Catalogue), 30)
	seen := map[string]bool{}
	severities := []string{preflight.Stop, preflight.Wait, preflight.Warn}
	for _, e := range preflight.Catalogue {
		require.Regexp(t, `^[a-z0-9-]+(-…)?$`, e.ID)
		require.False(t, seen[e.ID], e.ID)
		seen[e.ID] = true
		require.Contains(t, severities, e.Severity, e.ID)
		calls := reflect.ValueOf(e).FieldByName("calls")
		require.False(t, calls.IsNil(), "%s: calls is empty, so no machine makes the check", e.ID)
		require.Regexp(t, `^[ -{}…]+$`, e.Remedy, e.ID)
		for _, text := range []string{e.Reads, e.Wants, e.Source} {
			require.Regexp(t, `^[ -{}~]+$`, text, e.ID)
		}
	}
}

// TestLines: whatever the machine is, its checks are four columns that the hook can read, and it
// has functions for them.
func TestLines(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../../templates/boot/checks")
	require.NoError(t, err)
	const word = `[!-{}~]+`
	line := regexp.MustCompile(`^[a-z0-9][!-{}~]*\|(stop|wait|warn)\|` +
		word + `( ` + word + `)*\|[ -{}~]+\n$`)
	for _, spec := range []string{debian, `
  machines: {os: rhel, kubeletVersion: v1.34.1}
  network: {proxy: iptables, cni: none}
`, `
  machines:
    os: flatcar
    arch: arm64
    registries: [{host: _default, mirrors: [http://m.test:5000]}]
  security: {profile: baseline}
`} {
		for _, name := range []string{"cp-1", "worker-1"} {
			f := machine(t, name, spec)
			f.Peers = []preflight.Peer{{Name: "cp-2.test", URL: "https://10.0.0.12:2379"}}
			f.Plugins = []string{"/opt/cni/bin/bridge"}
			f.Machine.ProductUUID = "4c4c4544-0042-3510-8054-b7c04f4e3232"
			f.Machine.MAC = "52:54:00:ab:cd:ef"
			for _, c := range preflight.Checks(f) {
				require.Regexp(t, line, c.String())
				function := "check_" + strings.ReplaceAll(c.Kind(), "-", "_")
				require.True(t, strings.Contains(string(script), "\n"+function+"() {"),
					"templates/boot/checks has no function %s", function)
			}
		}
	}
}

// TestChecks: what depends on the machine.
func TestChecks(t *testing.T) {
	t.Parallel()
	cp, worker := lines(machine(t, "cp-1", debian)), lines(machine(t, "worker-1", debian))
	const endpoint = "stop|trusted https://api.test:6443 /etc/kubernetes/pki/ca.crt 100\n"
	const images = "wait|images https://registry.k8s.io/v2/ registry.k8s.io/pause:3.10\n"
	for id, want := range map[string]struct{ controlPlane, worker string }{
		"cpus":                 {"stop|cpus 2\n", ""},
		"kernel-nftables":      {"stop|kernel 5.13\n", "stop|kernel 5.13\n"},
		"kernel":               {"", ""},
		"port-6443":            {"stop|port-free 6443\n", ""},
		"port-10250":           {"stop|port-free 10250\n", "stop|port-free 10250\n"},
		"endpoint-name":        {"", "wait|resolves api.test\n"},
		"endpoint-certificate": {"", endpoint},
		"disk-speed":           {"warn|disk-speed /var/lib/etcd 10\n", ""},
		"cert-expired":         {"stop|not-after 200\n", "stop|not-after 200\n"},
		"images":               {images, images},
		"product-uuid":         {"", ""},
		"selinux":              {"", ""},
	} {
		require.Equal(t, want.controlPlane, cp[id], "%s of a control plane", id)
		require.Equal(t, want.worker, worker[id], "%s of a worker", id)
	}

	f := machine(t, "worker-1", `
  machines: {os: fedora-coreos, kubeletVersion: v1.34.1}
  network: {proxy: iptables}
`)
	f.Machine.ProductUUID, f.SwapAllowed, f.ResolvConf = "4c4c4544", true, "/etc/with space"
	other := lines(f)
	require.Equal(t, "warn|kernel 5.4\n", other["kernel"])
	require.Equal(t, "stop|product-uuid 4c4c4544\n", other["product-uuid"])
	require.Equal(t, "warn|selinux kubelet\n", other["selinux"])
	for _, id := range []string{"kernel-nftables", "runtime-version", "swap", "resolv-conf"} {
		require.NotContains(t, other, id)
	}
}

// TestBalanced: a worker with a balancer asks the control planes themselves, and keeps the
// balancer's ports free.
func TestBalanced(t *testing.T) {
	t.Parallel()
	const spec = debian + "  workers: {localBalancer: {port: 7443}}\n"
	worker, cp := lines(machine(t, "worker-1", spec)), lines(machine(t, "cp-1", spec))
	require.NotContains(t, worker, "endpoint-name")
	require.Equal(t, "stop|trusted https://10.0.0.11:6443 /etc/kubernetes/pki/ca.crt 100\n",
		worker["endpoint-certificate"])
	require.Equal(t, "stop|port-free 7443\n", worker["port-7443"])
	require.Equal(t, "stop|port-free 6444\n", worker["port-6444"])
	require.NotContains(t, cp, "port-7443")
	require.NotContains(t, cp, "endpoint-certificate")

	carrier := lines(machine(t, "cp-1", debian+"  controlPlane: {vip: {address: 10.0.0.10}}\n"))
	require.Equal(t, "stop|port-free 2112\n", carrier["port-2112"])
	require.NotContains(t, cp, "port-2112")
}

// TestImages: each image is looked for under the name that containerd gives it, and where
// containerd asks for it.
func TestImages(t *testing.T) {
	t.Parallel()
	f := machine(t, "cp-1", `
  machines:
    os: debian
    registries:
    - {host: docker.io, mirrors: [https://m.test, http://m.test:5000/v2/]}
    - {host: _default, mirrors: [https://all.test/cache/]}
`)
	f.Images = []string{
		"registry.k8s.io/pause:3.10", "etcd:3.6", "r.test:5000/a/b@sha256:00",
		"r.test:5000/c:1@sha256:11", "docker.io/me/api", "localhost/x:1",
	}
	const rest = "wait|images https://all.test/cache/v2/,"
	require.Equal(t, strings.Join([]string{
		rest + "https://registry.k8s.io/v2/ registry.k8s.io/pause:3.10",
		"wait|images https://m.test/v2/,http://m.test:5000/v2/,https://registry-1.docker.io/v2/ " +
			"docker.io/library/etcd:3.6 docker.io/me/api:latest",
		rest + "https://r.test:5000/v2/ r.test:5000/a/b@sha256:00 r.test:5000/c@sha256:11",
		rest + "https://localhost/v2/ localhost/x:1", "",
	}, "\n"), lines(f)["images"])
}

// TestIgnored: what ignorePreflight names only warns, by kiln's name or by kubeadm's.
func TestIgnored(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string]string{
		"swap": "swap", "Swap": "swap", "NumCPU": "cpus", "mem": "memory",
		"port-6443": "port-6443", "Port-6443": "port-6443",
		"address-10.0.0.11":                         "address-10.0.0.11",
		"fileexisting-losetup":                      "tool-losetup",
		"FileContent--proc-sys-net-ipv4-ip_forward": "sysctl-net.ipv4.ip_forward",
		"SystemVerification": "kernel-nftables namespaces seccomp cgroup cgroup-optional " +
			"filesystem-overlay",
	} {
		spec := fmt.Sprintf("  machines: {os: debian, ignorePreflight: [%q]}\n", name)
		f := machine(t, "cp-1", spec)
		plain := lines(machine(t, "cp-1", debian))
		for id, line := range lines(f) {
			want := plain[id]
			if strings.Contains(" "+ids+" ", " "+id+" ") {
				_, call, _ := strings.Cut(want, "|")
				want = "warn|" + call
			}
			require.Equal(t, want, line, "%s with %s", id, name)
		}
	}
	require.True(t, preflight.Known("product-uuid"))
	require.True(t, preflight.Known("numcpu"))
	for _, name := range []string{"port-1", "Port-", "port-…", "HTTPProxy", ""} {
		require.False(t, preflight.Known(name), name)
	}
}

// TestDoc holds the table of docs/preflight.md to the catalogue.
func TestDoc(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/preflight.md"
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	const ruler = "\n|---|---|---|---|---|---|---|\n"
	before, rows, ok := strings.Cut(string(page), ruler)
	require.True(t, ok)
	var b strings.Builder
	for _, e := range preflight.Catalogue {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n",
			e.ID, e.Reads, e.Wants, e.Severity, e.Remedy, strings.Join(e.Kubeadm, ", "), e.Source)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+ruler+b.String()), 0o644))
		return
	}
	require.Equal(t, b.String(), rows,
		"go test ./render/machine/preflight -run TestDoc -update rewrites it")
}

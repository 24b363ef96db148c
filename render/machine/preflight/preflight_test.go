package preflight_test

import (
	"flag"
	"fmt"
	"maps"
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
	"kiln.dev/kiln/templates"
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
	require.GreaterOrEqual(t, len(preflight.Catalogue), 25)
	seen := map[string]bool{}
	severities := []string{preflight.Stop, preflight.Wait, preflight.Warn}
	for _, e := range preflight.Catalogue {
		require.Regexp(t, `^[a-z0-9-]+$`, e.ID)
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
			f.Plugins = []string{"/opt/cni/bin/bridge"}
			f.Machine.ProductUUID = "4c4c4544-0042-3510-8054-b7c04f4e3232"
			f.Machine.MAC = "52:54:00:ab:cd:ef"
			for _, c := range preflight.Checks(f) {
				require.Regexp(t, line, c.String())
				templates.Steps(nil, nil, templates.CheckFunctions(c.Call)) // it panics without one
			}
		}
	}
}

// TestChecks: what depends on the machine, beside what the goldens show.
func TestChecks(t *testing.T) {
	t.Parallel()
	f := machine(t, "worker-1", `
  machines: {os: rhel, kubeletVersion: v1.34.1}
  network: {proxy: iptables}
`)
	f.Machine.ProductUUID, f.SwapAllowed, f.ResolvConf = "4c4c4544", true, "/etc/with space"
	other := lines(f)
	require.Equal(t, "warn|version_from 5.4 uname -r\n", other["kernel"])
	require.Equal(t, "stop|equals 4c4c4544 cat sys/class/dmi/id/product_uuid\n",
		other["product-uuid"])
	require.Equal(t, "warn|selinux_starts kubelet\n", other["selinux"])
	for _, id := range []string{"kernel-nftables", "time-sync", "swap", "resolv-conf"} {
		require.NotContains(t, other, id)
	}
}

// TestKnownSystems: the first boot does not ask what the table of systems says of every image, what
// the kubelet asks itself, and what no program of the document depends on.
func TestKnownSystems(t *testing.T) {
	t.Parallel()
	const nftables = "stop|version_from 5.13 uname -r\n"
	const cgroup = "stop|exist sys/fs/cgroup/cgroup.controllers\n"
	for spec, want := range map[string][3]string{
		"machines: {os: debian}":                              {nftables},
		"machines: {os: flatcar}":                             {},
		"machines: {os: ubuntu, osVersion: '24.04'}":          {},
		"machines: {os: rhel, ignorePreflight: [os-version]}": {nftables},
		"machines: {os: flatcar, kubeletVersion: v1.34.1}":    {"", cgroup},
		"machines: {os: flatcar, preload: /opt/images.tar, arch: amd64}": {"", "",
			"stop|equals x86_64 uname -m\n"},
	} {
		got := lines(machine(t, "worker-1", "  "+spec+"\n"))
		require.Equal(t, want, [3]string{got["kernel-nftables"], got["cgroup"], got["arch"]}, spec)
	}
}

// TestMounts: a folder whose name cannot be a word of a check is left out.
func TestMounts(t *testing.T) {
	t.Parallel()
	f := machine(t, "cp-1", debian)
	f.Mounts = []string{"/var/lib/etcd", "/with space", "/a|b", "/data"}
	require.Equal(t, "stop|mounts /var/lib/etcd /data\n", lines(f)["mount"])
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
    - {host: quay.io, mirrors: [https://m.test/v2/quay/]}
`)
	f.Images = []string{
		"registry.k8s.io/pause:3.10", "etcd:3.6", "r.test:5000/a/b@sha256:00",
		"r.test:5000/c:1@sha256:11", "docker.io/me/api", "localhost/x:1", "quay.io/a/b:1",
	}
	const rest = "wait|images https://all.test/cache/v2/,"
	require.Equal(t, strings.Join([]string{
		rest + "https://registry.k8s.io/v2/ registry.k8s.io/pause:3.10",
		"wait|images https://m.test/v2/,http://m.test:5000/v2/,https://registry-1.docker.io/v2/ " +
			"docker.io/library/etcd:3.6 docker.io/me/api:latest",
		rest + "https://r.test:5000/v2/ r.test:5000/a/b@sha256:00 r.test:5000/c@sha256:11",
		rest + "https://localhost/v2/ localhost/x:1",
		// containerd asks in a project of a mirror, and so does the hook.
		"wait|images https://m.test/v2/quay/,https://quay.io/v2/ quay.io/a/b:1", "",
	}, "\n"), lines(f)["images"])
}

// TestSysctls: the numbers that a user sets are asked for, and nothing that reads otherwise than it
// was written, or that comes with an interface.
func TestSysctls(t *testing.T) {
	t.Parallel()
	f := machine(t, "worker-1", `
  machines:
    os: debian
    sysctls:
      vm.max_map_count: "262144"
      net.ipv4.ip_local_port_range: "1024 65535"
      net.ipv4.conf.all.rp_filter: "0"
      net.ipv4.conf.eth0.rp_filter: "0"
      net/ipv4/conf/eth0.7/rp_filter: "0"
      net.core.default_qdisc: fq
      kernel.core_pattern: "|/bin/false %p"
      vm.nr_hugepages: "016"
`)
	f.Sysctls = map[string]string{"net.ipv4.ip_forward": "1"}
	maps.Copy(f.Sysctls, f.Machine.Settings.Sysctls)
	require.Equal(t, "stop|equals 1 cat proc/sys/net/ipv4/ip_forward\n", lines(f)["sysctl"])
	require.Equal(t, "warn|sysctls net/ipv4/conf/all/rp_filter=0 "+
		"net/ipv4/ip_local_port_range=1024,65535 vm/max_map_count=262144\n",
		lines(f)["own-sysctl"])
}

// TestIgnored: what ignorePreflight names only warns, by kiln's name or by kubeadm's.
func TestIgnored(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string]string{
		"swap": "swap", "Swap": "swap", "NumCPU": "cpus", "mem": "memory",
		"port": "port", "address-10.0.0.11": "address",
		"FileContent--proc-sys-net-ipv4-ip_forward": "sysctl",
		"SystemVerification":                        "kernel-nftables cgroup",
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
	// What is ignored of a list has a line of its own.
	for _, name := range []string{"port-10248", "Port-10248", "fileexisting-losetup"} {
		spec := fmt.Sprintf("  machines: {os: debian, ignorePreflight: [%q]}\n", name)
		f := machine(t, "worker-1", spec)
		require.True(t, preflight.Has(f, name), name)
		require.Contains(t, preflight.Names(f), "tool-losetup")
		got := lines(f)
		if name == "fileexisting-losetup" {
			require.Equal(t, "stop|exist cp curl flock ip mount\nwarn|exist losetup\n",
				got["tool"])
			continue
		}
		require.Equal(t, "stop|ports_free 10250 6445\nwarn|ports_free 10248\n", got["port"])
	}
	for _, name := range []string{"product-uuid", "numcpu", "port", "sysctl"} {
		require.True(t, preflight.Known(name), name)
	}
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

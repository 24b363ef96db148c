package render_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/test/need"
)

// withFlannel is a cluster of Flannel's. NETWORK is more of spec.network, A and B are addresses.
const withFlannel = `  endpoint: api.example.com:8443
  machines: {os: debian}
  network: {cni: flannel, NETWORK}
  nodes:
  - {name: cp-1, role: control-plane, addresses: A}
  - {name: worker-1, role: worker, addresses: B}
`

// newFlannel returns the cluster with these settings of spec.network, and more at its end.
func newFlannel(t *testing.T, network, more string) (*render.Cluster, error) {
	t.Helper()
	a, b := "[10.0.0.11]", "[10.0.0.21]"
	switch {
	case strings.HasPrefix(network, dual):
		a, b = `[10.0.0.11, "fd00::11"]`, `[10.0.0.21, "fd00::21"]`
	case strings.HasPrefix(network, dual6):
		a, b = `["fd00::11", 10.0.0.11]`, `["fd00::21", 10.0.0.21]`
	case strings.HasPrefix(network, ipv6):
		a, b = `["fd00::11"]`, `["fd00::21"]`
	}
	text := strings.NewReplacer("NETWORK", network, ": A}", ": "+a+"}", ": B}", ": "+b+"}").
		Replace(withFlannel) + more
	return specified(t, text, fstest.MapFS{})
}

// Networks of the rows below.
const (
	ipv4 = `podSubnets: [10.244.0.0/16]`
	ipv6 = `podSubnets: ["fd00:10:244::/48"], serviceSubnets: ["fd00:10:96::/112"]`
	dual = `podSubnets: [10.244.0.0/16, "fd00:10:244::/48"], ` +
		`serviceSubnets: [10.96.0.0/12, "fd00:10:96::/112"]`
	dual6 = `podSubnets: ["fd00:10:244::/48", 10.244.0.0/16], ` +
		`serviceSubnets: ["fd00:10:96::/112", 10.96.0.0/12]`
)

// TestFlannel: what Flannel is told of each kind of network, and how it is started.
func TestFlannel(t *testing.T) {
	t.Parallel()
	const (
		direct = "/opt/bin/flanneld --kube-subnet-mgr --ip-masq --healthz-ip=127.0.0.1 " +
			"--healthz-port=6445 --iface=$(HOST_IP)"
		first4 = "/opt/bin/flanneld --kube-subnet-mgr --ip-masq --healthz-ip=127.0.0.1 " +
			"--healthz-port=6445 --iface=10.0.0.11 --public-ipv6=fd00::11"
		only4 = `"EnableIPv4": true, "EnableIPv6": false, "Network": "10.244.0.0/16", `
		both  = `"EnableIPv4": true, "EnableIPv6": true, "Network": "10.244.0.0/16", ` +
			`"IPv6Network": "fd00:10:244::/48", `
		vxlan = `"Backend": {"Type": "vxlan", "Port": 8472, "DirectRouting": false}}`
	)
	for name, row := range map[string]struct{ network, conf, command string }{
		"IPv4": {ipv4, `{"EnableNFTables": true, ` + only4 + vxlan, direct},
		"IPv6": {ipv6, `{"EnableNFTables": true, "EnableIPv4": false, "EnableIPv6": true, ` +
			`"IPv6Network": "fd00:10:244::/48", ` + vxlan,
			strings.Replace(direct, "127.0.0.1", "::1", 1)},
		"both": {dual, `{"EnableNFTables": true, ` + both + vxlan, first4},
		"IPv6 first": {dual6, `{"EnableNFTables": true, ` + both + vxlan,
			strings.Replace(first4, "127.0.0.1", "::1", 1)},
		"iptables": {ipv4 + ", proxy: iptables", `{"EnableNFTables": false, ` + only4 + vxlan,
			direct},
		"no proxy": {ipv4 + ", proxy: none", `{"EnableNFTables": false, ` + only4 + vxlan, direct},
		"port, mtu, directRouting": {
			ipv4 + ", flannel: {port: 4789, mtu: 1450, directRouting: true}",
			`{"EnableNFTables": true, ` + only4 + `"Backend": {"Type": "vxlan", "Port": 4789, ` +
				`"MTU": 1450, "DirectRouting": true}}`, direct,
		},
		"host-gw": {ipv4 + ", flannel: {backend: host-gw}",
			`{"EnableNFTables": true, ` + only4 + `"Backend": {"Type": "host-gw"}}`, direct},
		"encryption": {ipv4 + ", encryption: wireguard", `{"EnableNFTables": true, ` + only4 +
			`"Backend": {"Type": "wireguard", "ListenPort": 51820, "ListenPortV6": 51820}}`,
			direct},
		"wireguard of both": {dual + ", flannel: {backend: wireguard, port: 4000, mtu: 9000}",
			`{"EnableNFTables": true, ` + both + `"Backend": {"Type": "wireguard", ` +
				`"ListenPort": 4000, "ListenPortV6": 4001, "MTU": 9000}}`, first4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := newFlannel(t, row.network, "")
			require.NoError(t, err)
			var settings struct{ Data map[string]string }
			flannelObject(t, r, "ConfigMap", "kube-flannel-cfg", &settings)
			require.JSONEq(t, row.conf, settings.Data["net-conf.json"])
			require.True(t, json.Valid([]byte(settings.Data["cni-conf.json"])))

			var daemons flannelDaemons
			flannelObject(t, r, "DaemonSet", "kube-flannel-ds", &daemons)
			pod := &daemons.Spec.Template.Spec
			for _, addresses := range []string{"10.0.0.11,fd00::11", "fd00::11,10.0.0.11"} {
				require.Equal(t, row.command, started(t, pod.Containers[0].Command, addresses))
			}
			require.Equal(t, target.FlannelHealthPort, pod.Containers[0].Ports[0].ContainerPort)
			env := map[string]string{}
			for _, e := range pod.Containers[0].Env {
				env[e.Name] = e.Value
			}
			require.Equal(t, "api.example.com", env["KUBERNETES_SERVICE_HOST"])
			require.Equal(t, "8443", env["KUBERNETES_SERVICE_PORT"])
		})
	}
}

// started returns the command line of flanneld, on a Node with these addresses.
func started(t *testing.T, command []string, addresses string) string {
	t.Helper()
	if command[0] != "/bin/sh" {
		return strings.Join(command, " ")
	}
	script := strings.Replace(command[2], "exec ", "echo ", 1)
	cmd := exec.Command(need.Basic(t, "sh"), "-c", script)
	cmd.Env = []string{"HOST_IPS=" + addresses}
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// flannelDaemons is what the test reads of Flannel's DaemonSet.
type flannelDaemons struct {
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Command []string
					Env     []struct{ Name, Value string }
					Ports   []struct{ ContainerPort int }
				}
			}
		}
	}
}

// flannelObject reads one of Flannel's objects.
func flannelObject(t *testing.T, r *render.Cluster, kind, name string, into any) {
	t.Helper()
	for _, o := range r.Objects {
		if o.Kind == kind && o.Namespace == "kube-flannel" && o.Name == name {
			require.NoError(t, yaml.Unmarshal(o.YAML, into))
			return
		}
	}
	t.Fatalf("no %s %s", kind, name)
}

// TestFlannelPatched: what a user makes of Flannel's settings must agree with the cluster.
func TestFlannelPatched(t *testing.T) {
	t.Parallel()
	patch := func(conf string) string {
		return `  patches:
  - patch: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: kube-flannel-cfg, namespace: kube-flannel}
      data: {net-conf.json: '` + conf + `'}
`
	}
	for conf, want := range map[string]string{
		`{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}`: "",
		`{"Network": "10.32.0.0/16"}`: `ConfigMap kube-flannel/kube-flannel-cfg: ` +
			`data["net-conf.json"].Network: 10.32.0.0/16 does not hold 10.244.0.0/16 of ` +
			`network.podSubnets`,
		`{"Network": "10.244.0.0/16", "EnableIPv4": false}`: `pods get no address of IPv4`,
		`{"Network": "10.244.0.0/16"`:                       `is not a JSON object`,
	} {
		_, err := newFlannel(t, ipv4, patch(conf))
		if want == "" {
			require.NoError(t, err, conf)
		} else {
			require.ErrorContains(t, err, want, conf)
		}
	}
}

// TestFlannelWorkerMore: one more worker changes no other document.
func TestFlannelWorkerMore(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(clusters, "flannel", "cluster.yaml"))
	require.NoError(t, err)
	_, b := inputs(t, "flannel")
	documents := func(text string) map[string][]byte {
		c, err := config.Parse("cluster.yaml", []byte(text), fstest.MapFS{})
		require.NoError(t, err)
		r, err := render.New(c, b)
		require.NoError(t, err)
		out := map[string][]byte{}
		for i := range r.Machines() {
			n, err := r.Node(i)
			require.NoError(t, err)
			for _, f := range n.Files {
				out[n.Name+f.Path] = f.Content
			}
		}
		return out
	}
	before := documents(string(text))
	const more = "  - {name: worker-2, role: worker, addresses: [10.0.0.22, \"fd00::22\"]}\n"
	after := documents(strings.Replace(string(text), "  pools:\n", more+"  pools:\n", 1))
	require.Greater(t, len(after), len(before))
	for path, content := range before {
		require.Equal(t, string(content), string(after[path]), path)
	}
}

package render_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// TestMetricsReaders: controller-manager and scheduler listen on all addresses for the service
// accounts that may read metrics, and the accounts get that right alone.
func TestMetricsReaders(t *testing.T) {
	t.Parallel()
	c, b := inputs(t, "single")
	c.Spec.ControlPlane.MetricsReaders = []string{"monitoring/prometheus", "ops/agent"}
	r, err := render.New(c, b)
	require.NoError(t, err)
	n, err := r.Node(0)
	require.NoError(t, err)
	for _, program := range []string{"kube-controller-manager", "kube-scheduler"} {
		pod := string(n.File("/etc/kubernetes/manifests/" + program + ".yaml").Content)
		require.Contains(t, pod, "--bind-address=0.0.0.0\n", program)
	}
	require.Contains(t, string(n.File("/etc/kubernetes/manifests/etcd.yaml").Content),
		"--listen-metrics-urls=http://127.0.0.1:2381\n")
	var objects strings.Builder
	for _, f := range n.Files {
		if strings.Contains(f.Path, "kiln-metrics") {
			objects.Write(f.Content)
		}
	}
	require.Contains(t, objects.String(),
		`"rules":[{"nonResourceURLs":["/metrics","/metrics/slis"],"verbs":["get"]}]`)
	require.Contains(t, objects.String(), `"subjects":[`+
		`{"kind":"ServiceAccount","name":"prometheus","namespace":"monitoring"},`+
		`{"kind":"ServiceAccount","name":"agent","namespace":"ops"}]`)
}

// TestKMS: the API servers write with the KMS, read what the bundle's key wrote, and have the
// folder of the plugin's socket. With encryption: identity they read what the KMS wrote.
func TestKMS(t *testing.T) {
	t.Parallel()
	for encryption, want := range map[string]string{
		"secretbox": "- kms:\n      apiVersion: v2\n      endpoint: unix:///run/kms/vault.sock\n" +
			"      name: vault\n  - secretbox:\n",
		"identity": "- identity: {}\n  - kms:\n",
	} {
		c, b := inputs(t, "single")
		c.Spec.Security.Encryption = encryption
		c.Spec.Security.KMS = &config.KMS{Name: "vault", Endpoint: "unix:///run/kms/vault.sock"}
		r, err := render.New(c, b)
		require.NoError(t, err)
		n, err := r.Node(0)
		require.NoError(t, err)
		settings := n.File("/etc/kubernetes/apiserver/encryption.yaml")
		require.Contains(t, string(settings.Content), want)
		pod := string(n.File("/etc/kubernetes/manifests/kube-apiserver.yaml").Content)
		require.Contains(t, pod, "- mountPath: /run/kms\n      name: kms\n      readOnly: true\n")
		require.Contains(t, pod,
			"- hostPath:\n      path: /run/kms\n      type: DirectoryOrCreate\n")
	}
}

// TestSystemReserved: pods leave a part of their machine to the system, by default and with amounts
// of the user's. A machine without pods reserves nothing.
func TestSystemReserved(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		node string
		want map[string]string
	}{
		{"role: worker", map[string]string{"cpu": "200m", "memory": "250Mi"}},
		{
			"role: worker, kubelet: {systemReserved: {memory: 1Gi}}",
			map[string]string{"cpu": "200m", "memory": "1Gi"},
		},
		{"role: worker, kubelet: {systemReserved: null}", nil},
		{"role: etcd", nil},
	} {
		r := cluster(t, "  - {name: m, addresses: [10.0.0.21], "+row.node+"}")
		var kubelet struct {
			SystemReserved map[string]string `json:"systemReserved"`
		}
		content := rendered(t, r, "m").file(plan.KubeletConfig).Content
		require.NoError(t, yaml.Unmarshal(content, &kubelet))
		require.Equal(t, row.want, kubelet.SystemReserved, row.node)
	}
}

// TestShutdown: logind waits as long as the kubelet needs, by default and with each setting of the
// kubelet.
func TestShutdown(t *testing.T) {
	t.Parallel()
	const file = "/etc/systemd/logind.conf.d/90-kiln.conf"
	for _, row := range []struct {
		kubelet string
		want    string // seconds; none: logind is left as it is
	}{
		{"", "60"},
		{"shutdownGracePeriod: 90s, shutdownGracePeriodCriticalPods: 30s", "90"},
		{"shutdownGracePeriod: 0s", ""},
		{"shutdownGracePeriodByPodPriority: [" +
			"{priority: 0, shutdownGracePeriodSeconds: 30}, " +
			"{priority: 2000000000, shutdownGracePeriodSeconds: 15}]", "45"},
	} {
		const worker = "  - {name: worker-1, role: worker, addresses: [10.0.0.21], kubelet: {"
		r := cluster(t, worker+row.kubelet+"}}")
		m := rendered(t, r, "worker-1")
		own := strings.Contains(string(m.file(plan.KubeletConfig).Content),
			"shutdownGracePeriod: 60s")
		require.Equal(t, row.kubelet == "", own)
		if row.want == "" {
			require.Nil(t, m.n.File(file))
			continue
		}
		require.Equal(t, "[Login]\nInhibitDelayMaxSec="+row.want+"\n", string(m.file(file).Content))
	}
}

// TestTLSMinVersion: with security.tlsMinVersion: VersionTLS13 all servers speak TLS 1.3 alone, and
// none is given suites, with which etcd would not start.
func TestTLSMinVersion(t *testing.T) {
	t.Parallel()
	versions := regexp.MustCompile(`(?i)tls-?min-?version[=:] ?([A-Za-z0-9.]+)`)
	suites := regexp.MustCompile(`(?i)cipher-?suites`)
	for field, want := range map[string]string{
		"": "2",
		"  security: {tlsMinVersion: VersionTLS13}": "3",
	} {
		m := rendered(t, cluster(t, field), "cp-1")
		for _, path := range []string{
			plan.ManifestsDir + "/etcd.yaml", plan.ManifestsDir + "/kube-apiserver.yaml",
			plan.ManifestsDir + "/kube-controller-manager.yaml",
			plan.ManifestsDir + "/kube-scheduler.yaml", plan.KubeletConfig,
		} {
			content := m.file(path).Content
			found := versions.FindSubmatch(content)
			require.NotNil(t, found, path)
			require.Regexp(t, want+"$", string(found[1]), path)
			require.Equal(t, want == "2", suites.Match(content), path)
		}
	}
}

// TestUnknownChecks: a name in ignorePreflight that is no check is a problem of the layer that has
// it. The ids of a machine's checks, the ids of other machines' checks, and kubeadm's names are no
// problem.
func TestUnknownChecks(t *testing.T) {
	t.Parallel()
	_, err := specified(t, `  machines:
    os: debian
    ignorePreflight: [port-6443, cpu]
  workers:
    machines:
      ignorePreflight: [NumCPU, mac, module-overlay, Port-6443, everything-else]
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - name: cp-2
    role: control-plane
    addresses: [10.0.0.12]
    ignorePreflight: [address-10.0.0.11, port-10251]
  - {name: cp-3, role: control-plane, addresses: [10.0.0.13]}
  - {name: worker-1, role: worker, addresses: [10.0.0.21]}
  endpoint: api.test
`, nil)
	require.EqualError(t, err, strings.Join([]string{
		`cluster.yaml:8:34: machines.ignorePreflight[1]: ` +
			`no check of cp-1 has this name; did you mean "cpus"?`,
		`cluster.yaml:11:54: workers.machines.ignorePreflight[3]: ` +
			`no check of worker-1 has this name; did you mean "port-6445"?`,
		`cluster.yaml:11:65: workers.machines.ignorePreflight[4]: ` +
			`no check of worker-1 has this name; docs/preflight.md lists them`,
		`cluster.yaml:17:23: nodes[1].ignorePreflight[0]: ` +
			`no check of cp-2 has this name; did you mean "address-10.0.0.12"?`,
		`cluster.yaml:17:42: nodes[1].ignorePreflight[1]: ` +
			`no check of cp-2 has this name; did you mean "port-10250"?`,
	}, "\n"))
}

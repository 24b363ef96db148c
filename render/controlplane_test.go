package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
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

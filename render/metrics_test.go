package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
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

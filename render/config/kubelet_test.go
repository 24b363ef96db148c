package config_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

// TestKubeletMinors: a field of KubeletConfiguration is accepted in those minors that have it, and
// for an older kubelet of a newer cluster, which the check of the finished machine looks at.
func TestKubeletMinors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		minor int
		field string
		want  string // "" if the field is accepted
	}{
		{34, "maxPods: 110", ""},
		{37, "maxPods: 110", ""},
		{35, "memoryReservationPolicy: None", "cluster.yaml:6:61: machines.kubelet." +
			"memoryReservationPolicy: KubeletConfiguration has this field in " +
			"Kubernetes 1.36, 1.37, not in 1.35"},
		{36, "memoryReservationPolicy: None", ""},
		{36, "defaultPodSysctls: {}", "cluster.yaml:6:55: machines.kubelet.defaultPodSysctls: " +
			"KubeletConfiguration has this field in Kubernetes 1.37, not in 1.36"},
		{37, "defaultPodSysctls: {}", ""},
	} {
		text := fmt.Sprintf(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  kubernetesVersion: v1.%d.1
  machines: {os: debian, kubelet: {%s}}
  nodes: [{name: cp-1, role: control-plane, addresses: [10.0.0.11]}]
`, row.minor, row.field)
		_, err := config.Parse("cluster.yaml", []byte(text), nil)
		if row.want == "" {
			require.NoError(t, err, "%d %s", row.minor, row.field)
		} else {
			require.EqualError(t, err, row.want, "%d %s", row.minor, row.field)
		}
	}
}

package config_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

func TestProblemsCutOff(t *testing.T) {
	t.Parallel()
	text := header + onOS + `
  network: {cni: none, podSubnets: ["172.16.0.0/12"], nodeMaskSizes: [26]}
` + oneNode + workers(9000, "W_%d")
	_, err := config.Parse("c.yaml", []byte(text), nil)
	var problems config.Problems
	require.True(t, errors.As(err, &problems))
	require.Len(t, problems, 51)
	require.Equal(t, "c.yaml: and 8950 more", problems[50].Error())
	require.Equal(t, "kiln: 9000 problems in c.yaml; nothing was written", problems.Summary())
}

func TestProblemf(t *testing.T) {
	t.Parallel()
	text := header + onOS + `  controlPlane:
    apiServer:
      extraArgs:
      - {name: audit-log-maxage, value: "30"}
  nodes:
  - name: cp-1
    role: control-plane
    addresses: [10.0.0.11]
    labels: {example.com/zone.a: b, example.com/zone: c}
`
	c := parse(t, text, nil)
	rows := []struct{ path, want string }{
		{"metadata.name", "cluster.yaml:3:18: metadata.name: bad 1"},
		{"kubernetesVersion", "cluster.yaml:5:22: kubernetesVersion: bad 1"},
		{"nodes[0].addresses[0]", "cluster.yaml:14:17: nodes[0].addresses[0]: bad 1"},
		{
			"nodes[0].labels.example.com/zone.a",
			"cluster.yaml:15:34: nodes[0].labels.example.com/zone.a: bad 1",
		},
		{
			"nodes[0].labels.example.com/zone",
			"cluster.yaml:15:55: nodes[0].labels.example.com/zone: bad 1",
		},
		{"nodes[0].interfaces[0]", "cluster.yaml:12:5: nodes[0].interfaces[0]: bad 1"},
		{"nodes[7].name", "cluster.yaml:11:3: nodes[7].name: bad 1"},
		{
			"controlPlane.apiServer.extraArgs",
			"cluster.yaml:9:7: controlPlane.apiServer.extraArgs: bad 1",
		},
		{"dns.replicas", "cluster.yaml:4:1: dns.replicas: bad 1"},
		{"nodes[x", "cluster.yaml:11:3: nodes[x: bad 1"},
		{"", "cluster.yaml:4:1: bad 1"},
	}
	for _, row := range rows {
		require.Equal(t, row.want, c.Problemf(row.path, "bad %d", 1).Error(), row.path)
	}
	require.Equal(t, ": nodes: bad", (&config.Cluster{}).Problemf("nodes", "bad").Error())
}

func TestSummary(t *testing.T) {
	t.Parallel()
	require.Equal(t, "kiln: no problems", config.Problems(nil).Summary())
	require.Equal(t, "kiln: 1 problem in a; nothing was written",
		config.Problems{{File: "a", Message: "x"}}.Summary())
	require.Equal(t, "kiln: 2 problems in a; nothing was written",
		config.Problems{{File: "a"}, {File: "a"}}.Summary())
}

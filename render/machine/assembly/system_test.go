package assembly_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
)

// machine returns a machine with an operating system and further lines of its settings, and what
// package assembly adds to it.
func machine(t *testing.T, osName, lines string) (n *node.Node, unit string) {
	t.Helper()
	text := "apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: test}\nspec:\n" +
		"  kubernetesVersion: v1.36.3\n  machines:\n    os: " + osName + "\n" + lines +
		"  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11, \"fd00::11\"]}\n" +
		"  network: {podSubnets: [10.244.0.0/16, \"fd01::/48\"], " +
		"serviceSubnets: [10.96.0.0/16, \"fd02::/112\"]}\n"
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err)
	n = &node.Node{}
	unit, _ = assembly.AddSystemFiles(&plan.New(c).Machines[0], n, c.Text)
	return n, unit
}

// content returns the content of a machine's file.
func content(t *testing.T, n *node.Node, path string) string {
	t.Helper()
	f := n.File(path)
	require.NotNil(t, f, path)
	return string(f.Content)
}

// TestNothing: a machine that sets nothing has nothing.
func TestNothing(t *testing.T) {
	t.Parallel()
	for _, s := range target.Systems {
		n, unit := machine(t, s.Name, "")
		require.Empty(t, n.Files)
		require.Empty(t, n.Units)
		require.Empty(t, unit)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	n, unit := machine(t, "debian",
		"    hostAliases: [{ip: 192.0.2.5, hostnames: [a.example.com, a]}]\n")
	require.Empty(t, unit, "programs read /etc/hosts each time")
	require.Equal(t, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"+
		"10.0.0.11 cp-1\nfd00::11 cp-1\n192.0.2.5 a.example.com a\n",
		content(t, n, target.HostsFile))
}

// TestPolicies: every system has a way to install no updates.
func TestPolicies(t *testing.T) {
	t.Parallel()
	for _, s := range target.Systems {
		n, _ := machine(t, s.Name, "    updates: {policy: none}\n")
		require.NotEmpty(t, len(n.Files)+len(n.Units), s.Name)
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompletions: a shell is told the values of flags, the machines of a configuration, and the
// fields below what was typed. What cannot be read has no values, and is no error.
func TestCompletions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "cluster.yaml")
	text := output(t, "init", "--address", "10.0.0.11,10.0.0.21", "--pool", "blue")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	for _, row := range []struct {
		words []string
		has   []string
		not   string
	}{
		{[]string{"init", "--os", ""}, []string{"flatcar\n", "ubuntu\n", ":4\n"}, "amd64"},
		{[]string{"init", "--platform", ""}, []string{"metal\n", "aws\n", ":4\n"}, "flatcar"},
		{[]string{"init", "--arch", ""}, []string{"amd64\narm64\n:4\n"}, "aws"},
		{
			[]string{"explain", "kubelet", "--config", path, "--node", ""},
			[]string{"cp-1\nworker-1\nblue\n:4\n"}, "cluster.yaml",
		},
		{[]string{"explain", "--config", dir + "/absent", "--node", ""}, []string{":4\n"}, "cp-1"},
		{
			[]string{"explain", "net"}, []string{"network\tnetwork ", "nodes\t", ":6\n"},
			"apiVersion",
		},
		{[]string{"explain", "network."}, []string{"network.cni\t", ":6\n"}, "network\t"},
		{[]string{"explain", "no.such."}, []string{":4\n"}, "\t"},
		{[]string{"explain", "/etc/"}, []string{":4\n"}, "\t"},
		{[]string{"explain", "network", ""}, []string{":4\n"}, "\t"},
	} {
		printed := output(t, append([]string{"__complete"}, row.words...)...)
		for _, want := range row.has {
			require.Contains(t, printed, want, "%q", row.words)
		}
		require.NotContains(t, printed, row.not, "%q", row.words)
	}
}

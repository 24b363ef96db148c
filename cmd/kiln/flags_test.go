package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestPlaceholders: the help shows a word in capitals for the value of each flag, which the text
// beside it explains, and never the name of a Go type.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			placeholder, usage := pflag.UnquoteUsage(f)
			if f.Hidden || f.Value.Type() == "bool" {
				return
			}
			require.Equal(t, strings.ToUpper(placeholder), placeholder, "%s --%s",
				cmd.CommandPath(), f.Name)
			require.Contains(t, usage, placeholder, "%s --%s", cmd.CommandPath(), f.Name)
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root())
}

// TestListFlags: no flag of any verb takes a part of a value and drops the rest.
func TestListFlags(t *testing.T) {
	t.Parallel()
	single := []string{"bool", "duration", "int", "string"}
	found := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(single, f.Value.Type()) {
				return
			}
			found++
			whole, _ := f.Value.(pflag.SliceValue) // a flag that takes no list in a value
			for _, value := range []string{"dev\nops", "dev\r\nops", "a,b\n", "\x00", "\u0085"} {
				err := f.Value.Set(value)
				if whole != nil && f.Value.Type() == "stringArray" {
					require.NoError(t, err)
					require.Contains(t, whole.GetSlice(), value)
					continue
				}
				require.Error(t, err, "%s --%s %q", cmd.CommandPath(), f.Name, value)
				require.Equal(t, "[]", f.Value.String(), "%s --%s", cmd.CommandPath(), f.Name)
			}
			require.NoError(t, f.Value.Set("dev,ops"))
			require.NotEqual(t, "[]", f.Value.String())
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root())
	require.Greater(t, found, 15)
}

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

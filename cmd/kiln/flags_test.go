package main

import (
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

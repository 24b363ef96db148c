package main

import (
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

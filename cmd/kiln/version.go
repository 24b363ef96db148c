package main

import (
	"cmp"
	"runtime/debug"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
)

// version is set by the release build; a build from a checkout tells its revision.
var version = ""

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the program's version",
		Example: "  kiln version",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := version
			if info, ok := debug.ReadBuildInfo(); ok && text == "" {
				text = info.Main.Version
			}
			message.Printf(cmd.OutOrStdout(), "kiln %s\n", cmp.Or(text, "(devel)"))
			return nil
		},
	}
}

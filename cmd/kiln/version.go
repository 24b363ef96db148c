package main

import (
	"cmp"
	"runtime/debug"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
)

// version is set by the release build. A build from a checkout has the revision of the checkout.
var version = ""

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of kiln",
		Example: "  kiln version",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version
			if info, ok := debug.ReadBuildInfo(); ok && v == "" {
				v = info.Main.Version
			}
			message.Printf(cmd.OutOrStdout(), "kiln %s\n", cmp.Or(v, "(devel)"))
			return nil
		},
	}
}

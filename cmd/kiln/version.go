package main

import (
	"cmp"
	"runtime/debug"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/usage"
)

// version is set by the release build. A build from a checkout has the revision of the checkout.
var version = ""

func versionCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:         "version",
		Annotations: usage.Reads(),
		Short:       "Print the version of kiln",
		Example:     "  kiln version",
		Args:        usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if form == "json" {
				return message.JSON(cmd.OutOrStdout(), struct {
					Version string `json:"version"`
				}{versionName()})
			}
			message.Printf(cmd.OutOrStdout(), "kiln %s\n", versionName())
			return nil
		},
	}
	usage.OutputFlag(cmd, &form, "version")
	return cmd
}

// versionName returns the version of this program, or "(devel)" if the build does not know it.
func versionName() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	return cmp.Or(v, "(devel)")
}

package main

import (
	"github.com/spf13/cobra"

	"kiln/cmd/kiln/usage"
	"kiln/render/config"
)

func schemaCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:         "schema",
		Annotations: usage.Reads(),
		Short:       "Print the JSON Schema of cluster.yaml, for editors",
		Example:     "  kiln schema > cluster.schema.json",
		Args:        usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema())
			return err
		},
	}
	usage.OutputFlag(cmd, &form, "schema, which is JSON in both forms,")
	return cmd
}

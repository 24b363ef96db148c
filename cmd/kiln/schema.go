package main

import (
	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/config"
)

func schemaCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:         "schema",
		Annotations: term.Reads(),
		Short:       "Print the JSON Schema of cluster.yaml, for editors",
		Example:     "  kiln schema > cluster.schema.json",
		Args:        term.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema())
			return err
		},
	}
	term.OutputFlag(cmd, &form, "schema, which is JSON in both forms,")
	return cmd
}

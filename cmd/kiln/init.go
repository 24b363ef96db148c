package main

import (
	"github.com/spf13/cobra"

	"kiln/render/config"
)

func initCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:     "init [--name NAME]",
		Short:   "Print a first cluster.yaml with comments",
		Example: "  kiln init --name prod > cluster.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			content := config.Init(name)
			if _, err := config.Parse("cluster.yaml", content, nil); err != nil {
				return usageErrorf("--name %s: a cluster's name is made of "+
					"lower-case letters, digits and hyphens", name)
			}
			_, err := cmd.OutOrStdout().Write(content)
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "demo", "give the cluster this `NAME`")
	return cmd
}

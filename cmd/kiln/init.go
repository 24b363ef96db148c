package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kiln/render/config"
)

func initCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Print a commented first cluster.yaml",
		Example: "  kiln init --name prod > cluster.yaml",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := config.Init(name)
			if _, err := config.Parse("cluster.yaml", text, nil); err != nil {
				return usageError{fmt.Errorf("--name %s: a cluster's name is made of lower-case letters, digits and hyphens", name)}
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "demo", "the cluster's name")
	return cmd
}

package main

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/render"
	"kiln/render/plan"
)

func imagesCommand() *cobra.Command {
	var path, output string
	cmd := &cobra.Command{
		Use:     "images --config FILE",
		Short:   "List the container images that the cluster's machines run",
		Example: "  kiln images --config cluster.yaml",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(required("config", path, "cluster.yaml"), outputFlag(output)); err != nil {
				return err
			}
			c, err := render.Config(path)
			if err != nil {
				return err
			}
			p, err := plan.New(c)
			if err != nil {
				return err
			}
			images := p.UsedImages()
			if output == "json" {
				return message.JSON(cmd.OutOrStdout(), images)
			}
			for _, name := range slices.Sorted(maps.Keys(images)) {
				message.Printf(cmd.OutOrStdout(), "%s\n", images[name])
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "the cluster's configuration")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "the list's form: text or json")
	return cmd
}

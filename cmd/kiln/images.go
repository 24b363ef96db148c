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
	var path, form string
	cmd := &cobra.Command{
		Use:     "images --config FILE",
		Short:   "List the container images that the cluster's machines run",
		Example: "  kiln images --config cluster.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(checkGiven("config", path, "cluster.yaml"), checkOutput(form))
			if err != nil {
				return err
			}
			c, err := render.Config(path)
			if err != nil {
				return err
			}
			p := plan.New(c)
			images := p.UsedImages()
			if form == "json" {
				return message.JSON(cmd.OutOrStdout(), images)
			}
			for _, name := range slices.Sorted(maps.Keys(images)) {
				message.Printf(cmd.OutOrStdout(), "%s\n", images[name])
			}
			return nil
		},
	}
	configFlag(cmd, &path)
	outputFlag(cmd, &form, "list")
	return cmd
}

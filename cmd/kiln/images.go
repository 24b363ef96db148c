package main

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
)

func imagesCommand() *cobra.Command {
	var path, form string
	cmd := &cobra.Command{
		Use:   "images --config FILE",
		Short: "List the container images that the cluster's machines pull",
		Long: `List the container images that the cluster's machines pull: those of Kubernetes and
of kiln's own pods, those of all containers in add-ons, and those that the entries
of addons name under images. kiln asks no registry whether it has them.`,
		Example: "  kiln images --config cluster.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(checkGiven("config", path, "cluster.yaml"), checkOutput(form))
			if err != nil {
				return err
			}
			r, err := trial(path)
			if err != nil {
				return err
			}
			images, err := r.Images()
			if err != nil {
				return err
			}
			if form == "json" {
				return message.JSON(cmd.OutOrStdout(), images)
			}
			for _, reference := range slices.Sorted(maps.Values(images)) {
				message.Printf(cmd.OutOrStdout(), "%s\n", reference)
			}
			return nil
		},
	}
	configFlag(cmd, &path)
	outputFlag(cmd, &form, "list")
	return cmd
}

package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
)

func imagesCommand() *cobra.Command {
	var source folder.Input
	var form string
	cmd := &cobra.Command{
		Use:         "images [FILE]",
		Annotations: term.Reads(),
		Short:       "List the container images that the cluster's machines pull",
		Long: `List the container images that the cluster's machines pull: those of Kubernetes and
of kiln's own pods, those of all containers in add-ons, and those that the entries
of addons name under images. Each has its digest if the lock has images. kiln asks
no registry whether it has them. With -o json each image stands under the first
container that has it; where one container has several images, because patches differ
between machines, the later ones are numbered: "static pod kube-scheduler: guard (2)".`,
		Example: "  kiln images cluster.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := trialCluster(&source)
			if err != nil {
				return err
			}
			images, err := r.Images()
			if err != nil {
				return err
			}
			users, references := map[string]string{}, []string{}
			for _, image := range images {
				users[image.User] = image.Reference
				references = append(references, image.Reference)
			}
			if form == "json" {
				return term.JSON(cmd.OutOrStdout(), users)
			}
			noteUnlisted(cmd.ErrOrStderr(), r)
			slices.Sort(references)
			term.Each(cmd.OutOrStdout(), "%s\n", references)
			return nil
		},
	}
	term.TakeConfig(cmd, &source)
	term.OutputFlag(cmd, &form, "list")
	return cmd
}

// noteUnlisted names the add-ons of which kiln does not know all images.
func noteUnlisted(messages io.Writer, r *render.Cluster) {
	for _, addon := range r.UnlistedImages() {
		term.Printf(messages, "kiln: a program defines kinds of %s, and may pull "+
			"more images than these; write them under %[1]s.images\n", addon)
	}
}

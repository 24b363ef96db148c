package main

import (
	"cmp"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/render"
	"kiln/render/config"
	"kiln/render/plan"
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

func validateCommand() *cobra.Command {
	var path, output string
	cmd := &cobra.Command{
		Use:     "validate --config FILE",
		Short:   "Report everything that is wrong in a configuration; write nothing",
		Example: "  kiln validate --config cluster.yaml",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(required("config", path, "cluster.yaml"), outputFlag(output)); err != nil {
				return err
			}
			return validate(cmd, path, output)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "the cluster's configuration")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "the report's form: text or json")
	return cmd
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of cluster.yaml, for editors",
		Example: "  kiln schema > cluster.schema.json",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema())
			return err
		},
	}
}

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

// version is set by the release build; a build from a checkout tells its revision.
var version = ""

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the program's version",
		Example: "  kiln version",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := version
			if info, ok := debug.ReadBuildInfo(); ok && text == "" {
				text = info.Main.Version
			}
			message.Printf(cmd.OutOrStdout(), "kiln %s\n", cmp.Or(text, "(devel)"))
			return nil
		},
	}
}

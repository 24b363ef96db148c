package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bundle"
	"kiln/cmd/kiln/message"
	"kiln/pki"
	"kiln/render"
	"kiln/render/config"
)

// validate parses the configuration and renders the whole cluster with secrets that are thrown away, so that what only
// shows in the rendering (a patch in vain, an add-on without names) is found as well.
func validate(cmd *cobra.Command, path, output string) error {
	err := validateCluster(path)
	if output == "text" {
		if err == nil {
			message.Printf(cmd.OutOrStdout(), "%s is valid\n", path)
		}
		return err
	}
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	if err := message.JSON(cmd.OutOrStdout(), struct {
		Valid    bool             `json:"valid"`
		Problems []config.Problem `json:"problems"`
	}{err == nil, append([]config.Problem{}, problems...)}); err != nil {
		return err
	}
	return err
}

func validateCluster(path string) error {
	c, err := render.Config(path)
	if err != nil {
		return err
	}
	b, err := bundle.Make(c, pki.P256)
	if err != nil {
		return err
	}
	r, err := render.New(c, b)
	if err != nil {
		return err
	}
	return r.Try()
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

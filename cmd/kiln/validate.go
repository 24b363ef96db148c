package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bundle"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/summary"
	"kiln/pki"
	"kiln/render"
	"kiln/render/config"
)

func validateCommand() *cobra.Command {
	var path, form string
	cmd := &cobra.Command{
		Use:   "validate --config FILE",
		Short: "Report every mistake in a configuration",
		Long: `Report every mistake in a configuration, with its line and the way to correct it.
Nothing is written.`,
		Example: "  kiln validate --config cluster.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(checkGiven("config", path, "cluster.yaml"), checkOutput(form))
			if err != nil {
				return err
			}
			return validate(cmd, path, form)
		},
	}
	configFlag(cmd, &path)
	outputFlag(cmd, &form, "report")
	return cmd
}

// validate reports the mistakes in a configuration.
func validate(cmd *cobra.Command, path, form string) error {
	warnings, err := validateCluster(path)
	if form == "text" {
		message.Notes(cmd.ErrOrStderr(), summary.Deprecated(warnings))
		if err == nil {
			message.Printf(cmd.OutOrStdout(), "%s is valid\n", path)
		}
		return err
	}
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	return cmp.Or(message.JSON(cmd.OutOrStdout(), struct {
		Valid    bool             `json:"valid"`
		Problems []config.Problem `json:"problems"`
		Warnings []config.Problem `json:"warnings,omitempty"`
	}{err == nil, append([]config.Problem{}, problems...), warnings}), err)
}

// validateCluster parses the configuration, and renders the whole cluster with secrets that it
// throws away. The rendering finds mistakes that parsing cannot find, such as a patch that changes
// nothing or an add-on object without a name. It returns what the rendering warns of.
func validateCluster(path string) (warnings config.Problems, err error) {
	c, err := render.Config(path)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Make(c, pki.P256)
	if err != nil {
		return nil, err
	}
	r, err := render.New(c, b)
	if err != nil {
		return nil, err
	}
	err = r.Try()
	return r.Warnings(), err
}

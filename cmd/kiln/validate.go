package main

import (
	"github.com/spf13/cobra"

	"kiln/cmd/kiln/configuration"
	"kiln/cmd/kiln/failure"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/summary"
	"kiln/cmd/kiln/trial"
	"kiln/cmd/kiln/usage"
	"kiln/render/config"
)

func validateCommand() *cobra.Command {
	var source configuration.Source
	var form string
	cmd := &cobra.Command{
		Use:         "validate [FILE]",
		Annotations: usage.Reads(),
		Short:       "Report every mistake in a configuration",
		Long: `Report every mistake in a configuration, with its line and the way to correct it.
Nothing is written.`,
		Example: `  kiln validate cluster.yaml
  cat cluster.yaml | kiln validate -`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return validate(cmd, &source, form)
		},
	}
	usage.TakeConfig(cmd, &source)
	usage.OutputFlag(cmd, &form, "report")
	return cmd
}

// validate reports the mistakes in a configuration.
func validate(cmd *cobra.Command, s *configuration.Source, form string) error {
	r, err := trial.Run(s, cmd.ErrOrStderr())
	err = failure.Files(err, usage.NamedPaths(cmd))
	var warnings config.Problems
	if r != nil {
		warnings = r.Warnings()
	}
	code := exitWrong
	if err == nil {
		code = exitDone
		message.Notes(cmd.ErrOrStderr(),
			append(r.NetworkWarnings(), trial.StoredEnds(r, s.Path)...))
	}
	if form == "text" {
		message.Notes(cmd.ErrOrStderr(), summary.Deprecated(warnings))
		if err == nil {
			message.Printf(cmd.OutOrStdout(), "%s is valid\n", s.Name())
		}
		return err
	}
	failed := message.JSON(cmd.OutOrStdout(), struct {
		Valid bool `json:"valid"`
		failure.Report
		Warnings []config.Problem `json:"warnings,omitempty"`
	}{err == nil, failure.New(code, err), warnings})
	if err != nil {
		return reportedError{err}
	}
	return failed
}

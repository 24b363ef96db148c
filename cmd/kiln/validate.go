package main

import (
	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/summary"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
)

func validateCommand() *cobra.Command {
	var source folder.Input
	var form string
	cmd := &cobra.Command{
		Use:         "validate [FILE]",
		Annotations: term.Reads(),
		Short:       "Report every mistake in a configuration",
		Long: `Report every mistake in a configuration, with its line and the way to correct it.
Nothing is written.`,
		Example: `  kiln validate cluster.yaml
  cat cluster.yaml | kiln validate -`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return validate(cmd, &source, form)
		},
	}
	term.TakeConfig(cmd, &source)
	term.OutputFlag(cmd, &form, "report")
	return cmd
}

// validate reports the mistakes in a configuration.
func validate(cmd *cobra.Command, s *folder.Input, form string) error {
	r, err := runTrial(s, cmd.ErrOrStderr())
	err = term.ExplainFiles(err, term.NamedPaths(cmd))
	var warnings config.Problems
	if r != nil {
		warnings = r.Warnings()
	}
	code := exitWrong
	if err == nil {
		code = exitDone
		term.Notes(cmd.ErrOrStderr(),
			append(r.NetworkWarnings(), storedEnds(r, s.Path)...))
	}
	if form == "text" {
		term.Notes(cmd.ErrOrStderr(), summary.Doubts(warnings))
		if err == nil {
			term.Printf(cmd.OutOrStdout(), "%s is valid\n", s.Name())
		}
		return err
	}
	failed := term.JSON(cmd.OutOrStdout(), struct {
		Valid bool `json:"valid"`
		term.Failure
		Warnings []config.Problem `json:"warnings,omitempty"`
	}{err == nil, term.NewFailure(code, err), warnings})
	if err != nil {
		return term.ReportedError{Err: err}
	}
	return failed
}

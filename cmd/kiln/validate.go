package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/summary"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

func validateCommand() *cobra.Command {
	var source folder.Input
	var form string
	var strict bool
	cmd := &cobra.Command{
		Use:         "validate [FILE]",
		Annotations: term.Reads(),
		Short:       "Report every mistake in a configuration",
		Long: `Report every mistake in a configuration, with its line and the way to correct it, and
warn of what is probably not meant. Nothing is written.`,
		Example: `  kiln validate cluster.yaml
  cat cluster.yaml | kiln validate -`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return validate(cmd, &source, form, strict)
		},
	}
	term.TakeConfig(cmd, &source)
	term.OutputFlag(cmd, &form, "report")
	cmd.Flags().BoolVar(&strict, "strict", false,
		"fail with a warning too; acceptWarnings in the configuration names those that may stay")
	return cmd
}

// validate reports the mistakes in a configuration.
func validate(cmd *cobra.Command, s *folder.Input, form string, strict bool) error {
	r, err := runTrial(s, cmd.ErrOrStderr())
	err = term.ExplainFiles(err, term.NamedPaths(cmd))
	var warnings config.Problems
	if r != nil {
		warnings = r.Warnings()
	}
	if form == "text" {
		term.Notes(cmd.ErrOrStderr(), summary.Doubts(warnings))
	}
	if err == nil && strict && len(warnings) > 0 {
		err = fmt.Errorf("%s: %s; correct them, or accept those that are meant with "+
			"acceptWarnings", s.Name(), wording.Count(len(warnings), "warning"))
	}
	code := exitWrong
	if err == nil {
		code = exitDone
		term.Notes(cmd.ErrOrStderr(), storedEnds(r, s.Path))
	}
	if form == "text" {
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

package main

import (
	"time"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bundle"
	"kiln/cmd/kiln/configuration"
	"kiln/cmd/kiln/failure"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/screen"
	"kiln/cmd/kiln/summary"
	"kiln/pki"
	"kiln/render"
	"kiln/render/config"
)

func validateCommand() *cobra.Command {
	var source configuration.Source
	var form string
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Report every mistake in a configuration",
		Long: `Report every mistake in a configuration, with its line and the way to correct it.
Nothing is written.`,
		Example: `  kiln validate cluster.yaml
  cat cluster.yaml | kiln validate -`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(form); err != nil {
				return err
			}
			return validate(cmd, &source, form)
		},
	}
	takeConfig(cmd, &source)
	outputFlag(cmd, &form, "report")
	return cmd
}

// validate reports the mistakes in a configuration.
func validate(cmd *cobra.Command, s *configuration.Source, form string) error {
	r, err := validateCluster(cmd, s)
	err = failure.Files(err, namedPaths(cmd))
	var warnings config.Problems
	if r != nil {
		warnings = r.Warnings()
	}
	code := exitWrong
	if err == nil {
		code = exitDone
		message.Notes(cmd.ErrOrStderr(),
			append(r.Plan.NetworkWarnings(), storedEnds(r.Plan.Config, s.Path)...))
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
		return printedError{err}
	}
	return failed
}

// validateCluster parses the configuration and renders the whole cluster. The rendering finds
// mistakes that parsing cannot find, such as a patch that changes nothing or an add-on object
// without a name. It returns the cluster, which has warnings, unless it cannot be prepared.
func validateCluster(
	cmd *cobra.Command, s *configuration.Source,
) (*render.Cluster, error) {
	r, err := trial(s)
	if err != nil {
		return nil, err
	}
	progress, finish := screen.Progress(cmd.ErrOrStderr(), r.Machines())
	defer finish()
	return r, r.Try(progress)
}

// storedEnds returns warnings about documents that have ended or end soon, if the bundle or its
// public half lies beside the configuration. Without a bundle that can be read, nothing is known of
// its dates.
func storedEnds(c *config.Cluster, path string) []string {
	var stored bundle.Source
	half, _, err := stored.Half(path, c.Metadata.Name)
	if err != nil {
		return nil
	}
	r, err := render.NewPublic(c, half)
	if err != nil {
		return nil
	}
	return summary.Ends(time.Now(), r.Ends())
}

// trial returns the cluster of a configuration with secrets that are thrown away.
func trial(s *configuration.Source) (*render.Cluster, error) {
	c, err := s.Config()
	if err != nil {
		return nil, err
	}
	b, err := bundle.Make(c, pki.P256)
	if err != nil {
		return nil, err
	}
	return render.New(c, b)
}

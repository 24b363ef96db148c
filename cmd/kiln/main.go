// Command kiln renders Kubernetes machines offline: one cluster.yaml and one bundle of secrets in, one finished boot
// document per machine out.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/isolate"
	"kiln/cmd/kiln/screen"
)

func main() {
	messages := os.Stderr // Process takes os.Stderr away
	isolate.Process()
	colour := os.Getenv("NO_COLOR") == "" // no-color.org
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, messages, colour))
}

// run is the whole program: it returns the exit code. With colour, reports on a terminal have colours.
func run(args []string, in io.Reader, out, messages io.Writer, colour bool) int {
	shown, told := screen.New(out, colour), screen.New(messages, colour)
	out, messages = shown, told
	defer func() { _ = errors.Join(shown.Close(), told.Close()) }()
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(messages)
	return exitCode(cmd.Execute(), messages)
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kiln",
		Short: "Render Kubernetes machines offline: one file in, one finished boot document per machine out",
		Example: `  kiln init --name prod > cluster.yaml
  kiln validate --config cluster.yaml
  kiln render --config cluster.yaml --out ./nodes`,
		SilenceErrors: true,
		SilenceUsage:  true,
		// Without a verb of its own the program shows its help; an unknown verb is a wrong command line.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown verb %q%s", args[0], suggestion(cmd, args[0]))}
			}
			return cmd.Help()
		},
	}
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return emptyFlags(cmd) }
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.AddCommand(initCommand(), renderCommand(), validateCommand(), diffCommand(), planCommand(), reportCommand(), unpackCommand(), isoCommand(), netbootCommand(), imagesCommand(), platformsCommand(), schemaCommand(), explainCommand(), secretsCommand(), serveCommand(), versionCommand())
	return cmd
}

func suggestion(cmd *cobra.Command, verb string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(verb); len(near) > 0 {
		return fmt.Sprintf("; did you mean %s?", near[0])
	}
	return ""
}

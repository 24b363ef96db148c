// Command kiln renders Kubernetes machines offline: one cluster.yaml and one bundle of secrets in, one finished boot
// document per machine out.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/isolate"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/screen"
	"kiln/render"
	"kiln/render/config"
)

// Exit codes; they are part of the command's contract.
const (
	exitDone      = 0
	exitWrong     = 1 // the input or the rendering is wrong
	exitUsage     = 2 // the command line is wrong
	exitDifferent = 3 // what lies there is not what would be rendered
)

// usageError is a wrong command line.
type usageError struct{ error }

// reportError is a failure to print what was done, after it was done.
type reportError struct{ error }

// errDifferent makes the command end with exitDifferent; its message has been printed.
var errDifferent = errors.New("different")

// errRefused makes the command end with exitWrong; why has been printed.
var errRefused = errors.New("this change is refused; --force NAME overrides a refusal")

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
	err := cmd.Execute()
	var problems config.Problems
	var usage usageError
	var report reportError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errDifferent):
		return exitDifferent
	case errors.Is(err, errRefused):
		message.Printf(messages, "kiln: %s\n", err)
		return exitWrong
	case errors.As(err, &problems):
		message.Printf(messages, "%s\n%s\n", problems, problems.Summary())
		return exitWrong
	case errors.As(err, &usage):
		sayLines(messages, usage)
		message.Printf(messages, "kiln: see: kiln help\n")
		return exitUsage
	case errors.As(err, &report):
		sayLines(messages, report)
		message.Printf(messages, "kiln: the files are written; only the report of it could not be\n")
		return exitWrong
	default:
		sayLines(messages, err)
		if !errors.Is(err, render.ErrPartial) {
			message.Printf(messages, "kiln: nothing was written\n")
		}
		return exitWrong
	}
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

// args wraps a check of positional arguments, so that a wrong number of them is a wrong command line.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		if err := check(cmd, list); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// required returns the usage error for a flag that has no value, or nil.
func required(flag, value, example string) error {
	if value != "" {
		return nil
	}
	return usageError{fmt.Errorf("--%s is missing; for example --%s %s", flag, flag, example)}
}

// emptyFlags returns a usage error for each flag of a file or folder that was given without a value:
// the flag's default would read or write something else than was meant.
func emptyFlags(cmd *cobra.Command) error {
	var errs []error
	for _, name := range []string{"config", "out", "review", "secrets", "public"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s is empty; is a variable unset?", name))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return usageError{errors.Join(errs...)}
}

// sayLines writes an error that may be several.
func sayLines(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		message.Printf(w, "kiln: %s\n", strings.TrimSuffix(line, "\n"))
	}
}

package main

import (
	"io"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/screen"
	"kiln/cmd/kiln/state"
	"kiln/render/change"
)

// compareFlags are the flags that diff and plan share.
type compareFlags struct {
	states state.Reader
	output string
}

func (f *compareFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.states.Bundle.Secrets, "secrets", "", "the bundle, for configurations; - reads it from standard input (default: the one beside each, or its public half)")
	flags.StringVar(&f.states.Bundle.Public, "public", "", "the public half of the bundle, for configurations (default: the bundle, or NAME.public.yaml, beside each)")
	flags.StringVarP(&f.output, "output", "o", "text", "the report's form: text, json or markdown")
}

// check returns an error if the flags contradict each other, and completes them. It is called before
// anything is read.
func (f *compareFlags) check(cmd *cobra.Command) error {
	if err := checkSource(&f.states.Bundle); err != nil {
		return err
	}
	f.states.Bundle.Stdin, f.states.Messages = cmd.InOrStdin(), cmd.ErrOrStderr()
	return nil
}

// print writes a report in the form that was asked for.
func (f *compareFlags) print(out io.Writer, report interface{ Text(change.Form) string }) error {
	if f.output == "json" {
		return message.JSON(out, report)
	}
	form := change.Form{
		Colour:   f.output == "text" && screen.Coloured(out),
		Markdown: f.output == "markdown",
	}
	message.Printf(screen.Raw(out, form.Colour), "%s", report.Text(form))
	return nil
}

// compare reads two states and returns how they differ.
func (f *compareFlags) compare(a, b string) (*change.Diff, error) {
	old, err := f.states.Read(a)
	if err != nil {
		return nil, err
	}
	now, err := f.states.Read(b)
	if err != nil {
		return nil, err
	}
	return change.Compare(old, now), nil
}

// maxUnavailable is how many workers may be away together unless the command line says otherwise.
const maxUnavailable = "10%"

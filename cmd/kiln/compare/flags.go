// Package compare has the verbs that compare two states of a cluster: diff and plan.
package compare

import (
	"io"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render/twin/change"
)

// sharedFlags are the flags that diff and plan share.
type sharedFlags struct {
	states      state.Reader
	form, color string
}

func (f *sharedFlags) add(cmd *cobra.Command) {
	flags, b := cmd.Flags(), &f.states.Bundle
	flags.StringVar(&b.Secrets, "secrets", "", "read the bundle of configurations from `FILE`, "+
		"or from standard input if it is - (default: the bundle beside each, or its public half)")
	vault.IdentityFlag(cmd, b)
	flags.StringVar(&b.Public, "public", "", "read the public half of the bundle of "+
		"configurations from `FILE` (default: the bundle, or NAME.public.yaml, beside each)")
	term.OutputFlag(cmd, &f.form, "report", "markdown")
	flags.StringVar(&f.color, "color", "auto", "show text in colours; `WHEN` is always, never, or "+
		"auto: on a terminal, unless NO_COLOR is set")
	term.Allow(cmd, "color", []string{"auto", "always", "never"})
}

// check returns an error if the flags are wrong or contradict each other, and completes them.
func (f *sharedFlags) check(cmd *cobra.Command) error {
	f.states.Messages = cmd.ErrOrStderr()
	return vault.CheckSource(&f.states.Bundle)
}

// hasColour reports whether a report on out has colours.
func (f *sharedFlags) hasColour(out io.Writer) bool {
	return f.form == "text" &&
		(f.color == "always" || f.color == "auto" && term.HasColour(out))
}

// read reads two states.
func (f *sharedFlags) read(a, b string) (old, now *change.Cluster, err error) {
	if old, err = f.states.Read(a); err != nil {
		return nil, nil, err
	}
	now, err = f.states.Read(b)
	return old, now, err
}

// print prints a report in the form that --output names, and says what it could not compare. A
// report for programs goes without that: it is a message.
func (f *sharedFlags) print(
	out io.Writer, report interface{ Text(change.Form) string }, unseen string,
) error {
	if f.form == "json" {
		if unseen != "" {
			term.Notes(f.states.Messages, []string{"not compared: " + unseen})
		}
		return term.JSON(out, report)
	}
	form := change.Form{
		Colour:   f.hasColour(out),
		Markdown: f.form == "markdown",
	}
	text := report.Text(form)
	if unseen != "" {
		w := change.NewWriter(form)
		w.Section("not compared")
		w.Line("  " + unseen)
		w.End()
		text += "\n" + w.String()
	}
	term.Printf(term.Raw(out, form.Colour), "%s", text)
	return nil
}

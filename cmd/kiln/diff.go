package main

import (
	"cmp"
	"io"
	"strings"

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

func diffCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what differs between two states of a cluster, machine by machine",
		Long: "Show what differs between two states of a cluster, machine by machine: YAML by its keys, command lines by their flags, certificates and units by\n" +
			"their parts. What is the same change on several machines is shown once. Exit 3 if anything differs.\n\n" + state.Forms,
		Example: `  kiln diff review cluster.yaml
  kiln diff main:review review
  kiln diff main:review review -o markdown`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := cmp.Or(outputFlag(f.output, "markdown"), f.check(cmd)); err != nil {
				return err
			}
			d, err := f.compare(list[0], list[1])
			if err != nil {
				return err
			}
			if err = f.print(cmd.OutOrStdout(), d); err == nil && d.Changed() {
				err = errDifferent
			}
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func planCommand() *cobra.Command {
	var f compareFlags
	var o change.Options
	cmd := &cobra.Command{
		Use:   "plan A B",
		Short: "Show which machines a change asks to replace, in which order, and why",
		Long: "Show which machines a change asks to replace, and why, and the steps in an order that keeps etcd's quorum, Kubernetes' version skew and as many\n" +
			"workers as you want. A change that would break the running cluster is refused (exit 1), unless it is forced by name.\n\n" + state.Forms,
		Example: `  kiln plan main:review review
  kiln plan review cluster.yaml --max-unavailable 2
  kiln plan review cluster.yaml --force single-member`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := cmp.Or(outputFlag(f.output, "markdown"), f.check(cmd)); err != nil {
				return err
			}
			d, err := f.compare(list[0], list[1])
			if err != nil {
				return err
			}
			p, err := change.New(d, o)
			if err != nil {
				return usageError{err}
			}
			if err = f.print(cmd.OutOrStdout(), p); err == nil && len(p.Refused) > 0 {
				err = errRefused
			}
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringSliceVar(&o.Force, "force", nil, "override these refusals, by name: "+strings.Join(change.Refusals(), ", "))
	cmd.Flags().StringVar(&o.MaxUnavailable, "max-unavailable", maxUnavailable, "how many workers may be away together: a number, or a share of them (at least one)")
	return cmd
}

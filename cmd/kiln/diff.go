package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/git"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/paths"
	"kiln/cmd/kiln/screen"
	"kiln/pki"
	"kiln/render"
	"kiln/render/change"
)

// What diff and plan compare.
const states = `A and B are each
  a review twin           review
  a revision of a twin    main:review, as git show understands it
  a configuration         cluster.yaml, with the bundle or its public half beside it or named by a flag
  a folder of documents   nodes`

// compareFlags are what diff and plan have in common.
type compareFlags struct {
	public, secrets, output string

	in       io.Reader // what --secrets - means
	messages io.Writer
	given    *pki.Bundle // of --secrets, which may be a pipe: it is read once
}

func (f *compareFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.secrets, "secrets", "", "the bundle, for configurations; - reads it from standard input (default: the one beside each, or its public half)")
	flags.StringVar(&f.public, "public", "", "the public half of the bundle, for configurations (default: the bundle, or NAME.public.yaml, beside each)")
	flags.StringVarP(&f.output, "output", "o", "text", "the report's form: text, json or markdown")
}

// wrong returns what is wrong with the flags. It is called before anything is read.
func (f *compareFlags) wrong(cmd *cobra.Command) error {
	if f.public != "" && f.secrets != "" {
		return usageError{errors.New("--public and --secrets: name one of them")}
	}
	f.in, f.messages = cmd.InOrStdin(), cmd.ErrOrStderr()
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

// compare reads two states and says how they differ.
func (f *compareFlags) compare(a, b string) (*change.Diff, error) {
	old, err := f.state(a)
	if err != nil {
		return nil, err
	}
	now, err := f.state(b)
	if err != nil {
		return nil, err
	}
	return change.Compare(old, now), nil
}

// state reads one of them.
func (f *compareFlags) state(arg string) (*change.Cluster, error) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir() && render.IsTwin(arg):
		return render.TwinState(arg)
	case err == nil && info.IsDir() && !paths.Absent(filepath.Join(arg, render.InventoryFile)):
		return render.DocumentsState(arg)
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s: neither a review twin (%s) nor a folder of documents (%s)", arg, render.IndexFile, render.InventoryFile)
	case err == nil:
		return f.configured(arg)
	case strings.Contains(arg, ":"):
		files, err := git.Revision(arg)
		if err != nil {
			return nil, err
		}
		c, err := render.FilesState(files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		return c, nil
	}
	return nil, err
}

// configured is what a configuration would be rendered to.
func (f *compareFlags) configured(path string) (*change.Cluster, error) {
	r, err := f.cluster(path)
	if err != nil {
		return nil, err
	}
	progress, finish := screen.Progress(f.messages, r.Machines())
	defer finish()
	return r.State(progress)
}

// cluster is a configuration's, with the bundle if it is beside it and its public half was not named, or without secrets.
func (f *compareFlags) cluster(path string) (*render.Cluster, error) {
	c, err := render.ConfigPublic(path)
	if err != nil {
		return nil, err
	}
	if f.secrets != "" {
		b, err := f.bundle()
		if err != nil {
			return nil, err
		}
		return render.NewPublic(c, &b.Public)
	}
	public, _, err := half(f.in, path, "", f.public, c.Metadata.Name)
	if err != nil {
		return nil, err
	}
	return render.NewPublic(c, public)
}

// bundle is the one that --secrets names.
func (f *compareFlags) bundle() (b *pki.Bundle, err error) {
	if f.given == nil {
		f.given, _, err = render.GivenBundle(f.secrets, f.in)
	}
	return f.given, err
}

// maxUnavailable is how many workers may be away together unless the command line says otherwise.
const maxUnavailable = "10%"

func diffCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what differs between two states of a cluster, machine by machine",
		Long: "Show what differs between two states of a cluster, machine by machine: YAML by its keys, command lines by their flags, certificates and units by\n" +
			"their parts. What is the same change on several machines is shown once. Exit 3 if anything differs.\n\n" + states,
		Example: `  kiln diff review cluster.yaml
  kiln diff main:review review
  kiln diff main:review review -o markdown`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := cmp.Or(outputFlag(f.output, "markdown"), f.wrong(cmd)); err != nil {
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
			"workers as you want. A change that would break the running cluster is refused (exit 1), unless it is forced by name.\n\n" + states,
		Example: `  kiln plan main:review review
  kiln plan review cluster.yaml --max-unavailable 2
  kiln plan review cluster.yaml --force single-member`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := cmp.Or(outputFlag(f.output, "markdown"), f.wrong(cmd)); err != nil {
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

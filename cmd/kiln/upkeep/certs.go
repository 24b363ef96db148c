package upkeep

import (
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/cmd/kiln/vault/foreign"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/twin/certs"
)

// certsFlags are the flags of kiln certs.
type certsFlags struct {
	states           state.Reader
	config           folder.Input
	form, body, kind string
	within           time.Duration
	all              bool
}

// CertsCommand returns the verb certs.
func CertsCommand() *cobra.Command {
	var f certsFlags
	cmd := &cobra.Command{
		Use:         "certs [STATE]",
		Annotations: term.Reads(),
		Short: "List what has an end: certificates, tokens and " +
			"kubeconfigs, and what renews each",
		Long: `List every certificate, bootstrap token and kubeconfig of the machines and of the
operator, with its end and with what renews it. What ends first comes first. What
several machines have in the same file is one line, with the first and the last day;
--all shows a line for each.

` + state.CertsForms + `

Without STATE it is cluster.yaml in the working folder. A review twin, and a
configuration without its bundle, do not show what lies in files that are secret:
kiln lists more from documents, or with the bundle. A document does not say when the
token of its pool ends. kiln prints no key and no token.

With --fail-within the exit code is 3 if somebody has to do something within that time:
what ends by then, or has ended, or cannot be read. kiln prints a line for each thing
to do. What renews itself, what only the first boot uses, and a token that a new one
has replaced do not count. The token of a pool is meant to end, too; it counts with
--kind token, for a pool that is to grow at any time.`,
		Example: `  kiln certs cluster.yaml
  kiln certs review --fail-within 60d
  kiln certs review --fail-within 2d --kind token
  kiln certs nodes/cp-1 --all
  kiln certs cluster.yaml -o json`,
		Args: term.TakeArgs(0, 1, "one STATE", "kiln certs review"),
		RunE: func(cmd *cobra.Command, list []string) error { return f.run(cmd, list) },
	}
	term.ConfigFlag(cmd, &f.config)
	flags, b := cmd.Flags(), &f.states.Bundle
	flags.StringVar(&b.Secrets, "secrets", "", "read the bundle of a configuration from `FILE`, "+
		"or from standard input if it is - (default: the bundle beside it, or its public half)")
	flags.StringVar(&b.Public, "public", "", "read the public half of the bundle of a "+
		"configuration from `FILE` (default: the bundle, or NAME.public.yaml, beside it)")
	vault.IdentityFlag(cmd, b)
	flags.StringVar(&f.body, "body", "", "read the body of a document, which the machine "+
		"fetches, from `FILE` (default: the body beside the document, if it is there)")
	flags.StringVar(&f.kind, "kind", "", "list one `KIND` alone: certificate, kubeconfig or token")
	term.Allow(cmd, "kind", certs.Kinds)
	flags.BoolVar(&f.all, "all", false, "print a line for each file of each machine")
	term.DurationFlag(cmd, &f.within, "fail-within", 0,
		"exit with 3 if somebody has to renew something within this `TIME`, such as 60d or 36h")
	term.OutputFlag(cmd, &f.form, "list")
	cmd.AddCommand(foreign.RequestCommand(), foreign.AddCommand())
	return cmd
}

// check returns an error if the command line is wrong.
func (f *certsFlags) check(cmd *cobra.Command, list []string) error {
	switch {
	case len(list) == 1 && list[0] == "":
		return term.UsageErrorf("STATE is empty; is a variable unset?")
	case len(list) == 1 && f.config.Path != "":
		return term.UsageErrorf("two states: %s (--config) and %s; name one", f.config.Path,
			list[0])
	case f.all && f.form == "json":
		return term.UsageErrorf("--all is for people; -o json lists everything in any case")
	case f.within < 0:
		return term.UsageErrorf("--fail-within %s: want a time that is not negative", f.within)
	}
	return vault.CheckSource(&f.states.Bundle)
}

func (f *certsFlags) run(cmd *cobra.Command, list []string) error {
	if err := f.check(cmd, list); err != nil {
		return err
	}
	found, err := f.read(cmd, list)
	if err != nil {
		return err
	}
	if b := found.Missing; b != nil {
		term.Printf(cmd.ErrOrStderr(), "kiln: this is not all of the machine: it fetches the "+
			"rest from %s, and the rest is not here; name its file with --body\n", b.URL)
	}
	entries := certs.Filter(found.Entries, f.kind)
	out, now := cmd.OutOrStdout(), time.Now()
	switch {
	case f.form == "json":
		err = term.JSON(out, struct {
			Cluster string        `json:"cluster,omitempty"`
			Entries []certs.Entry `json:"entries"`
		}{found.Cluster, entries})
		if err != nil {
			return err
		}
	case len(entries) == 0:
		term.Printf(out, "nothing in it has an end\n")
	case f.all:
		term.Printf(out, "%s", certs.Whole(now, entries))
	default:
		term.Printf(out, "%s", certs.Table(now, entries))
	}
	return f.gate(cmd, now, entries)
}

// read reads the state that the command line names.
func (f *certsFlags) read(cmd *cobra.Command, list []string) (*state.Certs, error) {
	f.states.Messages = cmd.ErrOrStderr()
	if len(list) == 1 {
		return f.states.Certs(list[0], f.body)
	}
	if err := term.FindConfig(cmd, &f.config); err != nil {
		return nil, err
	}
	return f.states.ConfigurationCerts(&f.config)
}

// gate names what somebody has to do within --fail-within, and returns term.ErrDifferent if that
// is something.
func (f *certsFlags) gate(cmd *cobra.Command, now time.Time, entries []certs.Entry) error {
	if !cmd.Flags().Changed("fail-within") {
		return nil
	}
	near := certs.Near(now, now.Add(f.within), f.kind, entries)
	term.Each(cmd.ErrOrStderr(), "kiln: %s\n", near)
	if len(near) > 0 {
		return term.ErrDifferent
	}
	return nil
}

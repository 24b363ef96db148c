package main

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/compare"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/report"
	"kiln.dev/kiln/render/fleet/rollout"
)

// reportFlags are the flags of kiln report.
type reportFlags struct {
	pageInput
	runs      compare.Runs
	out, form string
}

func reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [FILE] --out PAGE",
		Short: "Write one HTML page that shows the cluster, without a secret",
		Long: `Write one HTML page that shows the cluster: its machines by zone, what ends within
thirteen months, its networks, the sizes of the documents, who trusts whom, and the
files on each machine. With an older state (--since) the page is about the change:
what happens to which machine, the steps with check boxes, and the waves in their
order. With --nodes it also shows which machines run their new document. The page
needs no network and holds no secret. It shows sizes only if the bundle is there,
because documents hold secrets. docs/report.md explains it.`,
		Example: `  kiln report cluster.yaml --out report.html
  kiln report cluster.yaml --since main:review --out report.html
  kubectl get nodes -o json | kiln report --since main:review --nodes - --out report.html`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(
				term.CheckGiven("out", f.out, "report.html"),
				vault.CheckSource(&f.States.Bundle),
				f.runs.Check(&f.States.Bundle),
			)
			if err == nil && f.runs.Given() && f.Since == "" {
				err = term.UsageErrorf("--nodes and --kubeconfig say what runs of a change: name " +
					"the older state as well, with --since")
			}
			if err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	term.TakeConfig(cmd, &f.Config)
	flags, b := cmd.Flags(), &f.States.Bundle
	flags.StringVar(&f.out, "out", "", "write the page to the file `PAGE`; an older page "+
		"of kiln report is replaced")
	flags.StringVar(&f.Since, "since", "", "compare with this older `STATE`: a review twin, "+
		"a revision of a twin (main:review), a configuration, or a folder of documents")
	vault.BundleFlags(cmd, b)
	flags.StringVar(&b.Public, "public", "", "read the public half of the bundle from `FILE` "+
		"(default: the bundle, or NAME.public.yaml, beside the configuration)")
	f.runs.Flags(cmd)
	term.OutputFlag(cmd, &f.form, "path and size of the page")
	return cmd
}

func (f *reportFlags) run(cmd *cobra.Command) error {
	f.States.Messages = cmd.ErrOrStderr()
	f.Options.MaxUnavailable = rollout.MaxUnavailable
	var err error
	if f.Options.Running, err = f.runs.Read(cmd); err != nil {
		return err
	}
	content, err := f.Make()
	if err != nil {
		return err
	}
	if err := render.WritePage(f.out, content, report.Made); err != nil {
		return err
	}
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), struct {
			Page  string `json:"page"`
			Bytes int    `json:"bytes"`
		}{f.out, len(content)})
	}
	term.Printf(cmd.OutOrStdout(), "%s: %d bytes; open it in a browser\n",
		filepath.Clean(f.out), len(content))
	return nil
}

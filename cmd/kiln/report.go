package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/render"
	"kiln/render/change"
	"kiln/render/report"
)

func reportCommand() *cobra.Command {
	var f compareFlags
	var config, since, out string
	cmd := &cobra.Command{
		Use:   "report --config FILE --out FILE",
		Short: "Write one HTML page that shows the cluster, without a secret",
		Long: "Write one HTML page that shows the cluster: its machines, who trusts whom, what lies on each machine, how large the documents are and what ends when.\n" +
			"With an older state (--since) it also shows what differs and what has to be done. The page needs no network and holds no secret. Sizes are known\n" +
			"with the bundle alone: documents hold secrets.",
		Example: `  kiln report --config cluster.yaml --out report.html
  kiln report --config cluster.yaml --since main:review --out report.html`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, flag := range []struct{ name, value, example string }{{"config", config, "cluster.yaml"}, {"out", out, "report.html"}} {
				if err := required(flag.name, flag.value, flag.example); err != nil {
					return err
				}
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			page, err := f.page(config, since)
			if err != nil {
				return err
			}
			if err := render.WritePage(out, page, report.Made); err != nil {
				return err
			}
			message.Printf(cmd.OutOrStdout(), "%s: %d bytes; open it in a browser\n", filepath.Clean(out), len(page))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&config, "config", "c", "", "the cluster's configuration")
	flags.StringVar(&out, "out", "", "the page; an older page of kiln report is replaced")
	flags.StringVar(&since, "since", "", "an older state: a review twin, a revision of one (main:review), or a configuration")
	flags.StringVar(&f.states.Bundle.Secrets, "secrets", "", "the bundle; - reads it from standard input (default: NAME.secrets.yaml beside the configuration)")
	flags.StringVar(&f.states.Bundle.Public, "public", "", "the public half of the bundle (default: the bundle, or NAME.public.yaml, beside the configuration)")
	return cmd
}

// page returns the report on a configuration, against an older state if there is one.
func (f *compareFlags) page(config, since string) ([]byte, error) {
	r, err := f.states.Whole(config)
	if err != nil {
		return nil, err
	}
	in := report.Input{}
	if in.Cluster, err = f.states.Rendered(r); err != nil {
		return nil, err
	}
	sizes, err := r.Sizes(largestFiles)
	if err != nil {
		return nil, err
	}
	for _, s := range sizes {
		size := report.Size{Machine: s.Entry.Node, Platform: s.Entry.Platform, Bytes: s.Entry.Bytes, Limit: s.Entry.Limit}
		for _, file := range s.Largest {
			size.Largest = append(size.Largest, report.File(file))
		}
		in.Sizes = append(in.Sizes, size)
	}
	if since != "" {
		old, err := f.states.Read(since)
		if err != nil {
			return nil, err
		}
		in.Diff = change.Compare(old, in.Cluster)
		if in.Plan, err = change.New(in.Diff, change.Options{MaxUnavailable: maxUnavailable}); err != nil {
			return nil, err
		}
	}
	return report.Page(in)
}

// largestFiles is how many files of a document the page names.
const largestFiles = 3

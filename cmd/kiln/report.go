package main

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/configuration"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/screen"
	"kiln/cmd/kiln/state"
	"kiln/cmd/kiln/summary"
	"kiln/render"
	"kiln/render/change"
	"kiln/render/report"
)

// reportFlags are the flags of kiln report.
type reportFlags struct {
	states     state.Reader
	config     configuration.Source
	since, out string
	form       string
}

func reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [FILE] --out PAGE",
		Short: "Write one HTML page that shows the cluster, without a secret",
		Long: `Write one HTML page that shows the cluster: its machines, who trusts whom, the files
on each machine, the sizes of the documents, and the dates on which something ends.
With an older state (--since) the page also shows the differences and the steps of
the change. The page needs no network and holds no secret. It shows sizes only if
the bundle is there, because documents hold secrets.`,
		Example: `  kiln report cluster.yaml --out report.html
  kiln report cluster.yaml --since main:review --out report.html`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(
				checkGiven("out", f.out, "report.html"),
				checkSource(&f.states.Bundle),
				checkOutput(f.form),
			)
			if err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	takeConfig(cmd, &f.config)
	flags, b := cmd.Flags(), &f.states.Bundle
	flags.StringVar(&f.out, "out", "", "write the page to the file `PAGE`; an older page of kiln report "+
		"is replaced")
	flags.StringVar(&f.since, "since", "", "compare with this older `STATE`: a review twin, "+
		"a revision of a twin (main:review), a configuration, or a folder of documents")
	flags.StringVar(&b.Secrets, "secrets", "", "read the bundle from `FILE`, or from standard "+
		"input if it is - (default: NAME.secrets.yaml beside the configuration)")
	flags.StringVar(&b.Public, "public", "", "read the public half of the bundle from `FILE` "+
		"(default: the bundle, or NAME.public.yaml, beside the configuration)")
	outputFlag(cmd, &f.form, "path and size of the page")
	return cmd
}

func (f *reportFlags) run(cmd *cobra.Command) error {
	f.states.Bundle.Stdin, f.states.Messages = cmd.InOrStdin(), cmd.ErrOrStderr()
	page, err := f.page()
	if err != nil {
		return err
	}
	if err := render.WritePage(f.out, page, report.Made); err != nil {
		return err
	}
	if f.form == "json" {
		return printReport(cmd.OutOrStdout(), struct {
			Page  string `json:"page"`
			Bytes int    `json:"bytes"`
		}{f.out, len(page)})
	}
	message.Printf(cmd.OutOrStdout(), "%s: %d bytes; open it in a browser\n",
		filepath.Clean(f.out), len(page))
	return nil
}

// largestFiles is the number of files that the page names of each document.
const largestFiles = 3

// page returns the page about the configuration, and about the differences from the older state if
// there is one.
func (f *reportFlags) page() ([]byte, error) {
	r, err := f.states.Whole(&f.config)
	if err != nil {
		return nil, err
	}
	message.Notes(f.states.Messages, summary.Ends(time.Now(), r.Ends()))
	in := report.Input{}
	if in.Cluster, err = f.states.Render(r); err != nil {
		return nil, err
	}
	if in.Sizes, err = f.sizes(r); err != nil {
		return nil, err
	}
	if f.since != "" {
		old, err := f.states.Read(f.since)
		if err != nil {
			return nil, err
		}
		in.Diff = change.Compare(old, in.Cluster)
		in.Steps, err = change.New(in.Diff, change.Options{MaxUnavailable: maxUnavailable})
		if err != nil {
			return nil, err
		}
	}
	return report.Page(in)
}

// sizes returns the size of each document, with its largest files.
func (f *reportFlags) sizes(r *render.Cluster) (list []report.Size, err error) {
	progress, finish := screen.Progress(f.states.Messages, r.Machines())
	defer finish()
	documents, err := r.Sizes(largestFiles, progress)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		size := report.Size{
			Machine: d.Entry.Node, Platform: d.Entry.Platform,
			Bytes: d.Entry.Bytes, Limit: d.Entry.Limit,
		}
		for _, file := range d.Largest {
			size.Largest = append(size.Largest, report.File(file))
		}
		list = append(list, size)
	}
	return list, nil
}

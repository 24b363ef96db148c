// This file collects what the page of kiln report shows.

package main

import (
	"time"

	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/summary"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/report"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// pageInput is what the page is made from.
type pageInput struct {
	States  state.Reader
	Config  folder.Input
	Since   string          // an older state to compare with; empty for none
	Options rollout.Options // of the steps from the older state
}

// Make returns the page about the configuration, and about the differences from the older state if
// there is one.
func (i *pageInput) Make() ([]byte, error) {
	r, err := i.States.Whole(&i.Config)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	term.Notes(i.States.Messages, summary.Ends(now, r.Ends()))
	in := report.Input{Exposed: listExposures(r), Now: now}
	if in.Cluster, err = i.States.Render(r); err != nil {
		return nil, err
	}
	in.Ends = render.TwinCerts(in.Cluster)
	if in.Sizes, err = i.sizes(r); err != nil {
		return nil, err
	}
	if i.Since != "" {
		old, err := i.States.Read(i.Since)
		if err != nil {
			return nil, err
		}
		in.Running = render.TwinCerts(old)
		in.Diff = change.Compare(old, in.Cluster)
		i.Options.Since = []string{wording.ShellWord(i.Since)}
		if in.Steps, err = rollout.New(in.Diff, i.Options); err != nil {
			return nil, err
		}
	}
	return report.Page(in)
}

// sizes returns the size of each document, with what the user brought.
func (i *pageInput) sizes(r *render.Cluster) (list []report.Size, err error) {
	progress, finish := term.Progress(i.States.Messages, r.Machines())
	defer finish()
	documents, err := r.Sizes(progress)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		e := &d.Entry
		size := report.Size{
			Machine: e.Node, Pool: e.Pool, Role: e.Role, OS: e.OS, Platform: e.Platform,
			Bytes: e.Bytes, Limit: e.Limit, Own: d.Own,
		}
		for _, field := range d.Fields {
			size.Fields = append(size.Fields, report.Field{Path: field.Field, Bytes: field.Bytes})
		}
		list = append(list, size)
	}
	return list, nil
}

// listExposures returns what documents and bodies are worth, and who can read them.
func listExposures(r *render.Cluster) (list []report.Exposed) {
	for _, g := range r.Exposures() {
		e := report.Exposed{
			Machines: g.Machines, Pools: g.Pools, Platform: g.Platform,
			Copy: "document", Holds: g.Document.Holds, Readers: g.Document.Readers,
		}
		list = append(list, e)
		if g.Body != nil {
			e.Copy, e.Holds, e.Readers = "body", g.Body.Holds, g.Body.Readers
			list = append(list, e)
		}
	}
	return list
}

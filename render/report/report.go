// Package report turns a state of a cluster into one HTML page for people. The page shows the
// machines and how they find each other, the CAs and their certificates, the contents of each
// machine, the sizes of the documents, and when certificates end. Compared with an older state it
// shows what differs and what has to be done. The page needs no network and holds no secret: it is
// made from what the review twin shows.
package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"kiln/render/change"
	"kiln/render/plural"
	"kiln/render/rollout"
)

// Input holds what a page is made from.
type Input struct {
	Cluster *change.Cluster
	// Sizes are the sizes of the documents, by machine; none if they are not known.
	Sizes []Size
	// Exposed says what of each machine is worth stealing, and who can read it.
	Exposed []Exposed
	// Diff and Steps compare with an older state; nil if there is none.
	Diff  *change.Diff
	Steps *rollout.Steps
}

// Size is the size of a document and of its files.
type Size struct {
	Machine  string
	Platform string
	Bytes    int
	Limit    int // the platform's; 0 if there is none or it is not known
	Largest  []File
}

// Exposed is a document or a body, of several machines that have the same one.
type Exposed struct {
	Machines []string
	Pools    []string
	Platform string
	Copy     string // "document" or "body"
	Holds    string // the worth of its secrets
	Readers  []string
}

// Who returns the names of the machines.
func (e Exposed) Who() string { return change.Names(e.Machines, e.Pools) }

// Kinds returns who can read it.
func (e Exposed) Kinds() string { return strings.Join(e.Readers, ", ") }

// File is a file with its size before compression.
type File struct {
	Path  string
	Bytes int
}

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

//go:embed page.js
var scriptText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": percent, "lines": markLines, "date": date, "count": plural.Count,
}).Parse(pageText))

// mark is near the beginning of every page.
const mark = `<meta name="generator" content="kiln report">`

// Made reports whether a file is a page that this package made, for any cluster.
func Made(file []byte) bool {
	return bytes.HasPrefix(file, []byte("<!DOCTYPE html>")) &&
		bytes.Contains(file[:min(len(file), 1024)], []byte(mark))
}

// Page writes the page. It fails only if the templates do not fit the data.
func Page(in Input) ([]byte, error) {
	var out bytes.Buffer
	paths, machines := contentsOf(in.Cluster)
	err := page.Execute(&out, view{
		Input: in,
		Style: template.CSS(styleText), Script: template.JS(scriptText), // #nosec G203 -- our own
		Map: mapOf(in.Cluster), Trust: trustOf(in.Cluster), Ends: endsOf(in.Cluster), Paths: paths,
		Machines: machines,
	})
	return out.Bytes(), err
}

// view is the data of the template.
type view struct {
	Input
	Style  template.CSS
	Script template.JS
	Map    clusterMap
	Trust  []authority
	Ends   timeline
	Paths  []pathView
	// Machines are the cluster's machines with their contents.
	Machines []machineView
}

// Allowed is the source of the page's own script in its Content-Security-Policy: a browser runs no
// other script.
func (v view) Allowed() string {
	sum := sha256.Sum256([]byte(v.Script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Form returns the form of the reports in the page: plain, because the page adds the colours.
func (v view) Form() change.Form { return change.Form{} }

// machineView is a machine, with the place on the page of each of its items.
type machineView struct {
	*change.Machine
	Entries []entry
}

type entry struct {
	*change.Entry
	Anchor string
}

// pathView is a path on machines, with each of its contents once for all machines that have it.
type pathView struct {
	Kind, Name string
	Variants   []variant
}

type variant struct {
	*change.Entry
	Anchor   string
	Machines []string
	Pools    []string
}

// Who returns the names of the machines that have it.
func (v variant) Who() string { return change.Names(v.Machines, v.Pools) }

// Text returns what the page shows of it.
func (v variant) Text() string {
	if v.Content == nil {
		return strings.Join(v.Shown, "\n")
	}
	return strings.ToValidUTF8(string(v.Content), "\ufffd")
}

// contentsOf returns the contents of all machines by path, and for each machine where they are
// shown.
func contentsOf(c *change.Cluster) (paths []pathView, machines []machineView) {
	places := map[string]int{}
	variants := map[string]int{}
	for _, m := range c.Machines {
		view := machineView{Machine: m}
		for _, item := range m.Entries {
			place := item.Kind + " " + item.ID
			i, ok := places[place]
			if !ok {
				i = len(paths)
				places[place] = i
				paths = append(paths, pathView{Kind: item.Kind, Name: item.ID})
			}
			p := &paths[i]
			key := place + "\x00" + keyOf(item)
			j, ok := variants[key]
			if !ok {
				j = len(p.Variants)
				variants[key] = j
				p.Variants = append(p.Variants, variant{Entry: item,
					Anchor: fmt.Sprintf("f%d-%d", i, j)})
			}
			v := &p.Variants[j]
			m.AddTo(&v.Machines, &v.Pools)
			view.Entries = append(view.Entries, entry{item, v.Anchor})
		}
		machines = append(machines, view)
	}
	slices.SortStableFunc(paths, func(a, b pathView) int { return strings.Compare(a.Name, b.Name) })
	return paths, machines
}

func keyOf(item *change.Entry) string {
	return item.TraitList() + "\x00" + item.Secret + "\x00" + strings.Join(item.Shown, "\n") +
		"\x00" + string(item.Content)
}

// line is a line of a report with its class, which follows from the line's sign.
type line struct{ Class, Text string }

// markLines returns the lines of a report with their classes.
func markLines(text string) (out []line) {
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		class := ""
		switch rest := strings.TrimSpace(l); {
		case strings.HasPrefix(rest, "+ ") || strings.Contains(l, ": + "):
			class = "new"
		case strings.HasPrefix(rest, "- ") || strings.Contains(l, ": - "):
			class = "gone"
		case l != "" && l[0] != ' ':
			class = "head"
		}
		out = append(out, line{class, l})
	}
	return out
}

func percent(n, of int) int {
	if of == 0 {
		return 0
	}
	return min(100, 100*n/of)
}

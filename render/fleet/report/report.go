// Package report turns a state of a cluster into one HTML page for people. On top stands what a
// meeting about a change asks: what happens to which machine, in which order, and when something
// ends. Below are the networks, the sizes of the documents, who can read them, the CAs, and the
// contents of each machine. The page needs no network and holds no secret: it is made from what the
// review twin shows. All figures are computed here; the templates only write them down.
package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"time"

	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/certs"
	"kiln.dev/kiln/render/twin/change"
)

// Input holds what a page is made from.
type Input struct {
	Cluster *change.Cluster
	// Now is the day from which the picture of the ends begins.
	Now time.Time
	// Ends are what ends in the cluster. Running are what ends in the older state, if there is one:
	// its machines run with that until they are replaced.
	Ends, Running []certs.Entry
	// Sizes are the sizes of the documents, by machine; none if they are not known.
	Sizes []Size
	// Exposed says what of each machine is worth stealing, and who can read it.
	Exposed []Exposed
	// Diff and Steps compare with an older state; nil if there is none.
	Diff  *change.Diff
	Steps *rollout.Steps
}

//go:embed parts/*.html
var parts embed.FS

//go:embed page.css
var styleText string

//go:embed page.js
var scriptText string

var page = template.Must(template.New("").Funcs(template.FuncMap{
	"lines": markLines, "date": date, "count": wording.Count, "bytes": thousands,
}).ParseFS(parts, "parts/*.html"))

// generator is near the beginning of every page.
const generator = `<meta name="generator" content="kiln report">`

// Made reports whether a file is a page that this package made, for any cluster.
func Made(file []byte) bool {
	return bytes.HasPrefix(file, []byte("<!DOCTYPE html>")) &&
		bytes.Contains(file[:min(len(file), 1024)], []byte(generator))
}

// Page writes the page. Invisible characters are escaped, as in a terminal. It fails only if the
// templates do not fit the data.
func Page(in Input) ([]byte, error) {
	var out bytes.Buffer
	v := view{
		Input: in,
		Style: template.CSS(styleText), Script: template.JS(scriptText), // #nosec G203 -- our own
		Map: topologyOf(&in), Lanes: lanesOf(in.Steps), Ends: endsOf(&in),
		Networks: networksOf(in.Cluster), Fill: fillsOf(in.Sizes), Trust: trustOf(in.Cluster),
	}
	if in.Steps != nil {
		v.List = stepsOf(in.Steps)
	}
	v.Summary = summaryOf(&v)
	v.Paths, v.Machines = contentsOf(in.Cluster)
	err := page.ExecuteTemplate(&out, "page.html", v)
	// Files of a machine may come from somebody else, and show something else than they hold.
	return []byte(wording.Visible(out.String(), "\n\t")), err
}

// view is the data of the template.
type view struct {
	Input
	Style    template.CSS
	Script   template.JS
	Summary  summary
	Map      topology
	List     []stepView
	Lanes    []lane
	Ends     calendar
	Networks []network
	Fill     []fill
	Trust    []authority
	Paths    []pathView
	// Machines are the cluster's machines with their contents.
	Machines []machineView
}

// Allowed is the source of the page's own script in its Content-Security-Policy: a browser runs no
// other script.
func (v view) Allowed() string {
	sum := sha256.Sum256([]byte(v.Script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Plan returns a hash of the steps and of the day. The browser keeps check marks under it: the same
// steps on a later day are to be done again.
func (v view) Plan() string {
	sum := sha256.Sum256([]byte(v.Cluster.UUID + date(v.Now) + v.Steps.Text(v.Form())))
	return hex.EncodeToString(sum[:16])
}

// Form returns the form of the reports in the page: plain, because the page adds the colours.
func (v view) Form() change.Form { return change.Form{} }

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

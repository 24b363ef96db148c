// Package summary reports what a run of kiln render did, or would do.
package summary

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/wording"
)

// Run is a run of kiln render.
type Run struct {
	Out    string // the folder of the documents; empty if there is none
	Review string // the folder of the review twin; empty if there is none
	Bundle string // the bundle's file
	Config string // the configuration's file
	Images int    // how many images the machines pull
	Dry    bool   // nothing was written (--check)
	Again  bool   // there were documents before
}

// Text reports the written files for people, and names the next step. It fails if out does.
func (r *Run) Text(out io.Writer, result *render.Result) error {
	if r.Out != "" {
		if err := r.documents(out, result); err != nil {
			return err
		}
	}
	if r.Review != "" {
		r.twin(out, &result.Review)
	}
	if r.Out == "" {
		return nil
	}
	documents := result.Inventory.Documents
	hasBody := func(e render.Entry) bool { return e.Body != nil }
	if i := slices.IndexFunc(documents, hasBody); i >= 0 {
		r.bodies(out, documents[i].Body.URL)
	}
	term.Printf(out, "the machines pull %s; to list them: kiln images --config %s\n",
		wording.Count(r.Images, "image"), wording.ShellWord(r.Config))
	next := "give each machine its document, then\n  kubectl --kubeconfig " +
		wording.ShellWord(filepath.Join(r.Out, render.AdminFile)) + " get nodes"
	if r.Again {
		next = "kiln plan says how machines that run get there"
	}
	term.Printf(out, "%s, %s written, %d unchanged; next: %s\n",
		wording.Count(len(documents), "document"), wording.Count(len(result.Written), "file"),
		result.Unchanged, next)
	return nil
}

// documents lists the documents, at most term.MaxListed, and the files that were removed.
func (r *Run) documents(out io.Writer, result *render.Result) error {
	if docs := result.Inventory.Documents; len(docs) <= term.MaxListed {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, e := range docs {
			term.Printf(table, "%s\t%d bytes\t%s\tvalid until %s\n",
				term.OneLine(out, filepath.Join(r.Out, e.Document)), e.Bytes, share(&e),
				e.ValidUntil.Format(time.DateOnly))
			if e.Body != nil {
				term.Printf(table, "%s\t%d bytes\tfetched\t\n",
					term.OneLine(out, filepath.Join(r.Out, e.Body.Document)), e.Body.Bytes)
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	for _, name := range result.Removed {
		why := "the configuration has no such machine"
		for _, e := range result.Inventory.Documents {
			if path.Dir(e.Document) == path.Dir(name) { // another system, another form
				why = "its document is " + path.Base(e.Document) + " now"
			}
		}
		term.Printf(out, "removed %s: %s\n", filepath.Join(r.Out, name), why)
	}
	return nil
}

// share returns the share of its platform's limit that a document uses.
func share(e *render.Entry) string {
	if e.Limit > 0 {
		return fmt.Sprintf("of %d, %d %%", e.Limit, 100*e.Bytes/e.Limit)
	}
	unknown := func(p target.Platform) bool { return p.Name == e.Platform && p.Unknown }
	if slices.ContainsFunc(target.Platforms, unknown) {
		return "limit unknown"
	}
	return "no limit"
}

// twin reports what changed in the review twin.
func (r *Run) twin(out io.Writer, c *render.Changes) {
	removed := ""
	if len(c.Removed) > 0 {
		removed = fmt.Sprintf(", %d removed", len(c.Removed))
	}
	term.Printf(out, "%s: %s written%s, %d unchanged; "+
		"it holds no secret: commit it with the configuration\n",
		filepath.Clean(r.Review), wording.Count(len(c.Written), "file"), removed, c.Unchanged)
}

// storage are the domains of object storage that clouds serve themselves.
var storage = []string{
	".amazonaws.com", ".amazonaws.com.cn", ".blob.core.windows.net", ".digitaloceanspaces.com",
	".linodeobjects.com", ".oraclecloud.com", ".r2.cloudflarestorage.com", ".r2.dev", ".scw.cloud",
	".vultrobjects.com", ".your-objectstorage.com", "storage.googleapis.com",
}

// bodies reports where machines fetch their bodies, with one address as an example, and the command
// with which kiln serve serves them there, unless the server is one of a cloud's storage.
func (r *Run) bodies(out io.Writer, address string) {
	term.Printf(out, "bodies are fetched by their machines, such as %s", address)
	if u, err := url.Parse(address); err == nil {
		port, how := "80", "--plain-http"
		if u.Scheme == "https" {
			port = "443"
			how = "--secrets " + wording.ShellWord(r.Bundle) +
				" --tls-name " + wording.ShellWord(u.Hostname())
		}
		term.Printf(out, ": put each there")
		if !slices.ContainsFunc(storage, func(domain string) bool {
			return strings.HasSuffix(u.Hostname(), domain)
		}) {
			term.Printf(out, ", or run: kiln serve %s --listen ADDRESS:%s %s",
				wording.ShellWord(r.Out), cmp.Or(u.Port(), port), how)
		}
	}
	term.Printf(out, "\n")
}

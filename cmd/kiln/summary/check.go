package summary

import (
	"io"
	"path/filepath"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/text/wording"
)

// Check reports what a run without --check would change: the names of documents, and the
// differences in the files of the twin, and what else is in it.
func (r *Run) Check(out io.Writer, result *render.Result) {
	for _, folder := range []struct {
		dir, prefix string
		changes     *render.Changes
	}{{r.Out, "", &result.Changes}, {r.Review, r.Review, &result.Review}} {
		switch {
		case folder.dir == "":
		case !folder.changes.Changed() && len(folder.changes.Unlisted) == 0:
			term.Printf(out, "%s is what would be rendered\n", folder.dir)
		default:
			list(out, "would change ", folder.prefix, folder.changes.Written)
			list(out, "would remove ", folder.prefix, folder.changes.Removed)
			list(out, "not rendered ", folder.prefix, folder.changes.Unlisted)
		}
	}
	for _, d := range result.Review.Diffs {
		name := filepath.Join(r.Review, d.Name)
		term.Printf(out, "\n--- %s\n+++ %s as it would be rendered\n", name, name)
		term.Each(out, "%s\n", d.Lines)
	}
	if more := len(result.Review.Written) - len(result.Review.Diffs); more > 0 {
		term.Printf(out, "\n… and %s more\n", wording.Count(more, "file"))
	}
}

// list prints paths, each after the words for its change. After term.MaxListed paths it prints
// the number of the others.
func list(out io.Writer, change, dir string, names []string) {
	for i, name := range names {
		if i == term.MaxListed {
			term.Printf(out, "%s and %d more\n", change, len(names)-i)
			return
		}
		term.Printf(out, "%s %s\n", change, filepath.Join(dir, name))
	}
}

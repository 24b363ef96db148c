package summary

import (
	"io"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
)

// changes are the changes in one folder. A run that writes nothing says what it would write.
type changes struct {
	Written     *[]string     `json:"written,omitempty"`
	Removed     *[]string     `json:"removed,omitempty"`
	WouldWrite  *[]string     `json:"wouldWrite,omitempty"`
	WouldRemove *[]string     `json:"wouldRemove,omitempty"`
	Unchanged   int           `json:"unchanged"`
	Diffs       []render.Diff `json:"diffs,omitempty"`
	Unlisted    []string      `json:"unlisted,omitempty"`
}

// newChanges returns the changes in one folder. dry says that nothing was written.
func newChanges(c *render.Changes, dry bool) *changes {
	written, removed := term.NonNil(c.Written), term.NonNil(c.Removed)
	if dry {
		return &changes{
			WouldWrite: &written, WouldRemove: &removed, Unchanged: c.Unchanged, Diffs: c.Diffs,
			Unlisted: c.Unlisted,
		}
	}
	return &changes{Written: &written, Removed: &removed, Unchanged: c.Unchanged}
}

// JSON writes the report for programs: the changes in the documents and their inventory, and the
// changes in the twin. It leaves out a folder that the run did not write.
func (r *Run) JSON(out io.Writer, result *render.Result) error {
	report := struct {
		*changes
		Inventory *render.Inventory `json:"inventory,omitempty"`
		Review    *changes          `json:"review,omitempty"`
	}{}
	if r.Out != "" {
		report.changes, report.Inventory = newChanges(&result.Changes, r.Dry), &result.Inventory
	}
	if r.Review != "" {
		report.Review = newChanges(&result.Review, r.Dry)
	}
	return term.JSON(out, report)
}

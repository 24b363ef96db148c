package summary

import (
	"io"

	"kiln/cmd/kiln/message"
	"kiln/render"
)

// changes are the changes in one folder.
type changes struct {
	Written   []string      `json:"written"`
	Removed   []string      `json:"removed"`
	Unchanged int           `json:"unchanged"`
	Diffs     []render.Diff `json:"diffs,omitempty"`
}

func newChanges(c *render.Changes) *changes {
	return &changes{message.NonNil(c.Written), message.NonNil(c.Removed), c.Unchanged, c.Diffs}
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
		report.changes, report.Inventory = newChanges(&result.Changes), &result.Inventory
	}
	if r.Review != "" {
		report.Review = newChanges(&result.Review)
	}
	return message.JSON(out, report)
}

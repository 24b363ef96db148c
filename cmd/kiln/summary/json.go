package summary

import (
	"io"

	"kiln/cmd/kiln/message"
	"kiln/render"
)

// changes is what the report says of one folder.
type changes struct {
	Written   []string      `json:"written"`
	Removed   []string      `json:"removed"`
	Unchanged int           `json:"unchanged"`
	Diffs     []render.Diff `json:"diffs,omitempty"`
}

func newChanges(c *render.Changes) *changes {
	return &changes{message.NonNil(c.Written), message.NonNil(c.Removed), c.Unchanged, c.Diffs}
}

// JSON writes the report for programs: the changes and the inventory of the documents, if they were
// asked for, and the changes of the twin.
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

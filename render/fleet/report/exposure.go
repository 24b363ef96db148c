package report

import (
	"slices"

	"kiln.dev/kiln/render/twin/change"
)

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
func (e Exposed) Who() string {
	return change.Names(slices.SortedFunc(slices.Values(e.Machines), natural), e.Pools)
}

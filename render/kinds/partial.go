package kinds

import "kiln/render/yamlpath"

// Misfit is a value that no field of a kind takes.
type Misfit struct {
	At      *yamlpath.Location
	Message string // what was found there, and what is wanted
}

// Fields returns what is wrong with some of the fields of a kind, which stand at a location: names
// and types. It does not check values, because other fields may join these before a program reads
// the whole.
func (c *Checker) Fields(
	apiVersion, name string, values map[string]any, at *yamlpath.Location,
) (out []Misfit) {
	w := &walk{table: fields(), minor: c.minor, types: true}
	w.structure(values, w.table.typeOf(kind{apiVersion, name}, c.minor), at)
	for _, m := range w.found {
		out = append(out, Misfit{m.at, m.message})
	}
	return out
}

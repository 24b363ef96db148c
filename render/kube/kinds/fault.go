package kinds

import (
	"fmt"

	"kiln.dev/kiln/render/text/yamltext"
)

// Fault reports what is wrong in a document. Key and Index return the fault of a value below.
type Fault struct {
	Minor int // of Kubernetes

	at  *yamltext.Location
	add func(at *yamltext.Location, message string)
}

// Key returns the fault of the value under keys, one below the other.
func (f *Fault) Key(keys ...string) *Fault {
	at := f.at
	for _, k := range keys {
		at = at.Key(k)
	}
	return &Fault{f.Minor, at, f.add}
}

// Index returns the fault of the i-th element of a list.
func (f *Fault) Index(i int) *Fault { return &Fault{f.Minor, f.at.Index(i), f.add} }

// Report reports what is wrong with the value.
func (f *Fault) Report(format string, args ...any) { f.add(f.at, fmt.Sprintf(format, args...)) }

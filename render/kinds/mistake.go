package kinds

import (
	"fmt"

	"kiln/render/yamlpath"
)

// mistake is a finding whose path is not yet written.
type mistake struct {
	at      *yamlpath.Location
	inner   string // the path in the text at that place
	message string
}

// mistakes collects what is wrong in one document.
type mistakes struct{ found []mistake }

func (m *mistakes) add(at *yamlpath.Location, format string, args ...any) {
	m.found = append(m.found, mistake{at: at, message: fmt.Sprintf(format, args...)})
}

// fault reports what is wrong in a document. Its methods return the fault of a value below.
type fault struct {
	all   *mistakes
	at    *yamlpath.Location
	minor int
}

func (f *fault) key(keys ...string) *fault {
	at := f.at
	for _, k := range keys {
		at = at.Key(k)
	}
	return &fault{f.all, at, f.minor}
}

func (f *fault) index(i int) *fault { return &fault{f.all, f.at.Index(i), f.minor} }

func (f *fault) report(format string, args ...any) { f.all.add(f.at, format, args...) }

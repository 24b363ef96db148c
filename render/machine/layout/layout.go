// Package layout is the table of the files that kiln puts on a machine: the form of each file, who
// may see it, where it counts in the size of a document, and what a change of it asks of a running
// machine. Package assembly makes the files; checks, reviews and plans look up here what a file is.
package layout

import (
	"slices"
	"strings"
)

// File is one row of the table.
type File struct {
	// Path is the file's path. One that ends in a slash, a dash or a dot stands for all paths that
	// begin with it.
	Path string
	// Form is what the content is written in.
	Form Form
	// Open reports whether a reviewer may see the content though others on the machine may not read
	// the file. Such a file is made from cluster.yaml, which holds no secret.
	Open bool
	// Part is where the file counts in the size of a document; empty for the rest, keys and
	// certificates.
	Part string
	// Authority is the secret whose CA certificate the file holds; empty for other files.
	Authority string
	// Change is what a change of the file asks of a running machine, and Why the reason for it. Why
	// is empty for Replace.
	Change Effect
	Why    string
	// Then is the command on the machine that follows a Live or Restart change. It is empty if what
	// reads the file reads it each time. A pattern stands for a unit that may not be there.
	Then string
	// Restarts is what a Restart change starts anew: units, and static pods by their names.
	Restarts string
	// Theirs reports whether the system may have had a file of its own there. Nothing brings that
	// back if the newer document has none.
	Theirs bool
}

// Form is what a file is written in, and so how two contents of it are compared.
type Form string

// The forms of files.
const (
	YAML     Form = "yaml"     // one document, or JSON
	Object   Form = "object"   // JSON on one line, which reviewers see as YAML
	Unit     Form = "unit"     // sections with settings, as systemd reads them
	Settings Form = "settings" // NAME=VALUE on each line
	Checks   Form = "checks"   // the hook's checks
	Programs Form = "programs" // the list of what the machine fetches
	Program  Form = "program"  // a shell program of kiln's
	Lines    Form = "lines"    // any other text
	// Hidden: nobody compares it. It is a key, or a certificate, which has a line of its own.
	Hidden Form = "hidden"
)

// Effect is what a change of a machine's document asks for while the machine runs. A machine reads
// its document once; afterwards only an empty disk makes it read the new one. A larger effect asks
// for more.
type Effect int

const (
	// Later: a running machine has no use for it. It counts when the machine is replaced, whenever
	// that is.
	Later Effect = iota - 5
	// Node: it is the Node's, which the API server keeps. A kubelet reports it only when it creates
	// its Node (tryRegisterWithAPIServer in kubelet_node_status.go of Kubernetes 1.36), so even a
	// replaced machine keeps what its Node had before. Zone, region and instance type it reports at
	// each start (updateDefaultLabels).
	Node
	// Apply: the API server holds what the file says since the cluster was formed, and the file
	// changes nothing any more.
	Apply
	// Live: kiln apply writes the file on the running machine, and what reads it takes the new one.
	Live
	// Restart: kiln apply writes the file on the running machine, and starts what reads it anew.
	Restart
	// Replace: the running machine goes on as before until it is replaced. It is what a change asks
	// for unless a row says otherwise.
	Replace
)

// FileAt returns the row of a path, or nil for a file that kiln does not make.
func FileAt(path string) *File {
	if f := byPath[path]; f != nil {
		return f
	}
	for _, f := range prefixes {
		if strings.HasPrefix(path, f.Path) {
			return f
		}
	}
	return nil
}

// IsPrefix reports whether the row stands for all paths that begin with its own.
func (f *File) IsPrefix() bool {
	return strings.ContainsAny(f.Path[len(f.Path)-1:], "/-.")
}

var byPath, prefixes = divide(Files)

// divide returns the rows for one path by the path, and the others, longest path first.
func divide(rows []File) (exact map[string]*File, prefixes []*File) {
	exact = map[string]*File{}
	for i := range rows {
		if f := &rows[i]; f.IsPrefix() {
			prefixes = append(prefixes, f)
		} else {
			exact[f.Path] = f
		}
	}
	slices.SortFunc(prefixes, func(a, b *File) int { return len(b.Path) - len(a.Path) })
	return exact, prefixes
}

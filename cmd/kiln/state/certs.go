package state

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/twin/certs"
)

// Certs is what has an end in a state.
type Certs struct {
	Cluster string // its name; empty if the state does not say it
	Entries []certs.Entry
	// Missing is the body that a document lacks; nil if it lacks none.
	Missing *render.UnpackedBody
}

// CertsForms lists the forms in which Certs reads a state, for the help of a verb.
const CertsForms = `STATE is one of these:
  a configuration         cluster.yaml; its bundle or the public half lies beside it,
                          or a flag names it
  a review twin           review
  a revision of a twin    main:review, as git show understands it
  a folder of documents   nodes
  a machine's folder      nodes/cp-1
  a document              nodes/cp-1/config.ign, or what a cloud gives back
  -                       a document from standard input`

// Certs lists what has an end in a state, in one of the CertsForms. The body of a document is read
// from the file body, or from beside the document if body is empty.
func (r *Reader) Certs(arg, body string) (*Certs, error) {
	info, err := os.Stat(arg)
	isDir := err == nil && info.IsDir()
	switch {
	case arg == folder.Stdin:
		return r.document(arg, body)
	case isDir && render.IsTwin(arg), err != nil && strings.Contains(arg, ":"):
		c, err := r.Read(arg)
		if err != nil {
			return nil, err
		}
		return &Certs{Cluster: c.Name, Entries: render.TwinCerts(c)}, nil
	case isDir && !term.AbsentPath(filepath.Join(arg, render.InventoryFile)):
		name, list, err := render.DocumentsCerts(arg)
		if err != nil {
			return nil, withRemedy(err)
		}
		return &Certs{Cluster: name, Entries: list}, nil
	case isDir:
		return r.document(arg, body)
	case errors.Is(err, fs.ErrNotExist):
		_, err := r.Read(arg) // which names all forms
		return nil, err
	case err != nil:
		return nil, err
	case isConfiguration(arg):
		return r.ConfigurationCerts(&folder.Input{Path: arg})
	}
	return r.document(arg, body)
}

// ConfigurationCerts lists what has an end in a configuration.
func (r *Reader) ConfigurationCerts(s *folder.Input) (*Certs, error) {
	c, err := r.Whole(s)
	if err != nil {
		return nil, err
	}
	progress, finish := term.Progress(r.Messages, c.Machines())
	defer finish()
	list, err := c.Certs(progress)
	if err != nil {
		return nil, err
	}
	return &Certs{Cluster: c.Plan.Name, Entries: list}, nil
}

// document lists what has an end in one document.
func (r *Reader) document(path, body string) (*Certs, error) {
	list, missing, err := render.DocumentCerts(path, body, r.Bundle.Stdin)
	if err != nil {
		return nil, err
	}
	return &Certs{Entries: list, Missing: missing}, nil
}

// kindLine is the line by which a configuration is known. No document has it at the left edge.
var kindLine = regexp.MustCompile(`(?m)^(apiVersion: *"?kiln\.dev/|kind: *"?Cluster\b)`)

// isConfiguration reports whether a file is a configuration rather than a document.
func isConfiguration(path string) bool {
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		return true
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	const head = 64 << 10
	data, err := io.ReadAll(io.LimitReader(file, head))
	return err == nil && kindLine.Match(data)
}

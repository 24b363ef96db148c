// Package media puts finished boot documents on what carries them to machines: images that are mounted, and what a network boot needs. What stands
// in a document is decided before, and not read here; files come in and go out as bytes.
package media

import "slices"

// Machine is a rendered machine, or all those of a pool.
type Machine struct {
	Name string
	// Dir is where its files lie below the output folder, and below the address that they are served from.
	Dir  string
	Pool bool
	OS   string
	// Platform is where it runs, as cluster.yaml names it.
	Platform string
	// Ignition says that the document is Ignition's; otherwise it is cloud-init's.
	Ignition bool
	// MAC is in lower case, with colons; empty if it is not known.
	MAC string
	// Files are the document, which is the first, and what is delivered beside it.
	Files []File
}

// File is a file of a machine, or one that is made for it.
type File struct {
	Path string
	Data []byte
}

// Kind is what messages call it.
func (m *Machine) Kind() string {
	if m.Pool {
		return "pool"
	}
	return "node"
}

// document is the machine's document.
func (m *Machine) document() []byte { return m.Files[0].Data }

// file is what is delivered under a name; nothing if it is not.
func (m *Machine) file(name string) []byte {
	i := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == name })
	if i < 0 {
		return nil
	}
	return m.Files[i].Data
}

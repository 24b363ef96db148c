// Package media puts finished boot documents on what carries them to machines: images that are mounted, and what a network boot needs. What stands
// in a document is decided before, and not read here; files come in and go out as bytes.
package media

import (
	"regexp"
	"slices"
)

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

// instance is cloud-init's instance-id of the machine; empty if its meta-data names none. With the
// same one on the kernel's command line cloud-init knows at a later boot that it is configured, and
// asks for nothing (DataSourceNoCloud.check_instance_id in cloud-init 24.1; the key i is in NoCloud's
// documentation since 17.2). Without it every boot reads the seed again.
func (m *Machine) instance() string {
	id := instanceID.FindSubmatch(m.file("meta-data"))
	if id == nil {
		return ""
	}
	return string(id[1])
}

// instanceID finds an identity that may stand on a command line between semicolons.
var instanceID = regexp.MustCompile(`(?m)^instance-id: "?([A-Za-z0-9._-]+)"?$`)

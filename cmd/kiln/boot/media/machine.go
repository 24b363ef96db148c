// Package media puts finished boot documents on what carries them to machines: images that machines
// mount, and the files of a network boot. The documents are finished before, and the package does
// not read them; files come in and go out as bytes.
package media

import (
	"regexp"
	"slices"
)

// Machine is a rendered machine, or all machines of a pool.
type Machine struct {
	Name string
	// Dir is the folder of its files, below the output folder and below the address that serves
	// them.
	Dir  string
	Pool bool
	OS   string
	// Platform is where it runs, as cluster.yaml names it.
	Platform string
	// Ignition reports whether the document is Ignition's; otherwise it is cloud-init's.
	Ignition bool
	// MAC is in lower case, with colons; empty if it is not known.
	MAC string
	// Files are the document, which comes first, and the files that are delivered beside it.
	Files []File
}

// File is a file of a machine, or a file that is made for it.
type File struct {
	Path string
	Data []byte
}

// Kind returns what messages call the machine: node or pool.
func (m *Machine) Kind() string {
	if m.Pool {
		return "pool"
	}
	return "node"
}

// document returns the machine's document.
func (m *Machine) document() []byte { return m.Files[0].Data }

// file returns the file that is delivered under a name; nil if there is none.
func (m *Machine) file(name string) []byte {
	i := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == name })
	if i < 0 {
		return nil
	}
	return m.Files[i].Data
}

// instance returns cloud-init's instance-id of the machine; empty if its meta-data names none. If
// the kernel's command line names the same one, cloud-init knows at a later boot that the machine
// is configured, and fetches nothing (DataSourceNoCloud.check_instance_id in cloud-init 24.1; the
// key i is in NoCloud's documentation since 17.2). Without it every boot reads the seed again.
func (m *Machine) instance() string {
	id := instanceID.FindSubmatch(m.file("meta-data"))
	if id == nil {
		return ""
	}
	return string(id[1])
}

// instanceID matches an instance-id that may stand on a command line between semicolons.
var instanceID = regexp.MustCompile(`(?m)^instance-id: "?([A-Za-z0-9._-]+)"?$`)

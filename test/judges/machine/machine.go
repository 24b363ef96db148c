// Package machine holds what judges read of a machine. There are two sources: the machine's
// document, as test/trees writes it, and the machine itself once it has booted, as test/boot/facts
// writes it. The package needs no source of Kubernetes, so that a program which compares the two is
// built in a second.
package machine

import (
	"path"
	"slices"
)

// Machine is one machine, as its document leaves it or as it is after its boot.
type Machine struct {
	Case       string // the golden cluster that it belongs to
	Format     string // ignition or cloud-init
	OS         string // whose image it is
	Role       string // control-plane, worker or etcd
	Kubernetes string // version of the control plane, such as v1.36.3
	Kubelet    string // version of the kubelet
	Pool       bool   // machines not known by name share the document
	Name       string // of the machine or pool

	Users []User
	Dirs  []File // without content
	Files []File
	Links []Link
	Units []Unit

	// Booted says what only a machine that runs can say. It is nil for a document.
	Booted *Booted
}

// Booted is what a machine that runs has beside its files. These have a content only where
// test/boot/facts takes it along, and Units is empty.
type Booted struct {
	Processes []Process
	// Kubelet is the configuration that the kubelet has: its answer to /configz.
	Kubelet []byte `json:"-"`
	// Objects is a list of the cluster's pods, ClusterRoles and ClusterRoleBindings, as JSON. Only
	// control planes have it.
	Objects []byte `json:"-"`
}

// Process is a process of a machine.
type Process struct {
	ID      int
	Command []string // program first
}

// File is a file or a directory.
type File struct {
	Path        string
	Mode        uint32
	User, Group string
	Content     []byte
}

// Link is a symbolic link.
type Link struct{ Path, Target string }

// Unit is what the document says of a systemd unit.
type Unit struct {
	Name                     string
	Enabled, Started, Masked bool
}

// User is a system user.
type User struct {
	Name string
	ID   int
	Home string
}

// Enabled reports whether a unit starts with the machine.
func (m *Machine) Enabled(unit string) bool {
	return slices.ContainsFunc(m.Units,
		func(u Unit) bool { return u.Name == unit && u.Enabled && !u.Masked })
}

// ControlPlane says that the machine runs the control plane.
func (m *Machine) ControlPlane() bool { return m.Role == "control-plane" }

// Joins says that the machine is a Node; one with role etcd is none.
func (m *Machine) Joins() bool { return m.Role != "etcd" }

// File returns the file at that path, or nil.
func (m *Machine) File(path string) *File {
	for i := range m.Files {
		if m.Files[i].Path == path {
			return &m.Files[i]
		}
	}
	return nil
}

// Dir returns the directory at that path, or nil if the document says nothing of it.
func (m *Machine) Dir(path string) *File {
	for i := range m.Dirs {
		if m.Dirs[i].Path == path {
			return &m.Dirs[i]
		}
	}
	return nil
}

// Under returns the files directly in a directory, in the order of their paths.
func (m *Machine) Under(dir string) (out []*File) {
	for i := range m.Files {
		if path.Dir(m.Files[i].Path) == dir {
			out = append(out, &m.Files[i])
		}
	}
	return out
}

// In reports whether the machine is in one of these golden clusters.
func (m *Machine) In(cases ...string) bool { return slices.Contains(cases, m.Case) }

// WithToken reports whether the machine joins with a bootstrap token.
func (m *Machine) WithToken() bool { return m.File(BootstrapKubeconfig) != nil }

// Paths of files that several judges look at.
const (
	ManifestsDir        = "/etc/kubernetes/manifests" // a control plane's static pods
	ObjectsDir          = "/etc/kiln/objects"         // what the hook applies
	KubeletConfig       = "/var/lib/kubelet/config.yaml"
	KubeletDropIn       = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"
	BootstrapKubeconfig = "/etc/kubernetes/bootstrap-kubelet.conf"
)

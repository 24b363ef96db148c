// Package judges holds rendered machines against the authorities: Kubernetes' own decoders,
// validators and flag sets, kubeadm, and the CIS benchmark. It reads machines as their documents
// leave them and knows nothing of how kiln made them. It is a module of its own, so that kiln does
// not depend on Kubernetes' source; -modfile chooses another minor.
package judges

import (
	"path"
	"slices"
	"strings"
)

// Machine is one machine as its document leaves it; test/trees writes it.
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

// Command returns the command of a static pod's container, program first, or nil if the machine has
// no such pod.
func (m *Machine) Command(component string) []string {
	pod := read[struct {
		Spec struct {
			Containers []struct{ Command, Args []string }
		}
	}](m.File("/etc/kubernetes/manifests/" + component + ".yaml"))
	if len(pod.Spec.Containers) == 0 {
		return nil
	}
	return slices.Concat(pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Args)
}

// KubeletCommand returns the kubelet's command line, program first, from its drop-in.
func (m *Machine) KubeletCommand() []string {
	f := m.File("/etc/systemd/system/kubelet.service.d/10-kubeadm.conf")
	if f == nil {
		return nil
	}
	var command []string
	for line := range strings.Lines(strings.ReplaceAll(string(f.Content), "\\\n", " ")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line),
			"ExecStart="); ok && value != "" {
			command = words(value)
		}
	}
	return command
}

// words splits a systemd command line at its spaces; a word may stand in double or single quotes.
func words(line string) (out []string) {
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && r == ' ':
			if open || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
		}
	}
	if open || word.Len() > 0 {
		out = append(out, word.String())
	}
	return out
}

package cis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/test/judges/machine"
)

// place finds values on a machine.
type place func(m *machine.Machine) []value

// files finds files and directories on a machine. A directory that the document creates only
// because a file lies in it belongs to root.
type files func(m *machine.Machine) []*machine.File

func mode(of files) place {
	return func(m *machine.Machine) (out []value) {
		for _, f := range of(m) {
			out = append(out, value{f.Path, strconv.FormatUint(uint64(f.Mode), 8), true})
		}
		return out
	}
}

func owner(of files) place {
	return func(m *machine.Machine) (out []value) {
		for _, f := range of(m) {
			user, group := m.Owners(f)
			out = append(out, value{f.Path, user + ":" + group, true})
		}
		return out
	}
}

// present finds those of the paths that are files.
func present(paths ...string) files {
	return func(m *machine.Machine) (out []*machine.File) {
		for _, p := range paths {
			if f := m.File(p); f != nil {
				out = append(out, f)
			}
		}
		return out
	}
}

// first finds the first of the paths that is a file; the tool looks no further.
func first(paths ...string) files {
	return func(m *machine.Machine) []*machine.File {
		found := present(paths...)(m)
		return found[:min(1, len(found))]
	}
}

// below finds all files in a directory, at any depth, that have the extension. Without an extension
// it also finds the directory itself.
func below(dir, extension string) files {
	return func(m *machine.Machine) (out []*machine.File) {
		for _, list := range [][]machine.File{m.Dirs, m.Files} {
			for i, f := range list {
				if (f.Path+"/" == dir || strings.HasPrefix(f.Path, dir)) &&
					strings.HasSuffix(f.Path, extension) {
					out = append(out, &list[i])
				}
			}
		}
		return out
	}
}

// etcdData finds the directory that etcd's command line names.
func etcdData(m *machine.Machine) []*machine.File {
	dir, _ := machine.Flag(m.Command("etcd"), "data-dir")
	if f := m.Dir(dir); f != nil {
		return []*machine.File{f}
	}
	return nil
}

// leases finds the files in which the plugin host-local keeps the addresses of pods. The plugin
// writes them when a pod gets an address. A document has the one file that the plugin would give a
// mode that is too wide; newer plugins close the others. Nothing is known here about the files of a
// network of pods that comes as an add-on.
func leases(m *machine.Machine) []*machine.File {
	return slices.DeleteFunc(below(leasesDir, "")(m),
		func(f *machine.File) bool { return m.Dir(f.Path) != nil })
}

const leasesDir = "/var/lib/cni/networks/"

// argument finds flags on the command lines of a component. Without the component they are not set.
func argument(component string, names ...string) place {
	return func(m *machine.Machine) (out []value) {
		commands := m.Commands(component)
		if len(commands) == 0 {
			commands = [][]string{nil}
		}
		for _, command := range commands {
			for _, name := range names {
				text, set := machine.Flag(command, name)
				out = append(out, value{component + " --" + name, text, set})
			}
		}
		return out
	}
}

// setting finds a setting of the kubelet: the value of its flag if that is given, otherwise a field
// of its configuration. A kubelet that runs says what that is; of a document it is the file.
func setting(name, field string) place {
	return func(m *machine.Machine) []value {
		if text, set := machine.Flag(m.Command("kubelet"), name); set {
			return []value{{"kubelet --" + name, text, true}}
		}
		if m.Booted != nil {
			text, set := machine.Field(m.Booted.Kubelet, "kubeletconfig."+field)
			return []value{{"kubelet /configz: " + field, text, set}}
		}
		text, set := "", false
		if f := m.File(machine.KubeletConfig); f != nil {
			text, set = machine.Field(f.Content, field)
		}
		return []value{{machine.KubeletConfig + ": " + field, text, set}}
	}
}

// both joins the values of two places.
func both(a, b place) place {
	return func(m *machine.Machine) []value { return append(a(m), b(m)...) }
}

// firstProviders finds what encrypts new objects of each kind in etcd.
func firstProviders(m *machine.Machine) (out []value) {
	file, _ := machine.Flag(m.Command("kube-apiserver"), "encryption-provider-config")
	f := m.File(file)
	if f == nil {
		return nil
	}
	var config struct {
		Resources []struct{ Providers []map[string]any }
	}
	if yaml.Unmarshal(f.Content, &config) != nil {
		return nil
	}
	for i, r := range config.Resources {
		v := value{of: fmt.Sprintf("%s: resources[%d].providers[0]", file, i)}
		if len(r.Providers) > 0 {
			v.text, v.set = strings.Join(slices.Sorted(maps.Keys(r.Providers[0])), ","), true
		}
		out = append(out, v)
	}
	return out
}

package judges

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// place finds values on a machine.
type place func(m *Machine) []value

// files finds files and directories on a machine. A directory that the document creates only
// because a file lies in it belongs to root.
type files func(m *Machine) []*File

func mode(of files) place {
	return func(m *Machine) (out []value) {
		for _, f := range of(m) {
			out = append(out, value{f.Path, strconv.FormatUint(uint64(f.Mode), 8), true})
		}
		return out
	}
}

func owner(of files) place {
	return func(m *Machine) (out []value) {
		for _, f := range of(m) {
			user, group := m.owners(f)
			out = append(out, value{f.Path, user + ":" + group, true})
		}
		return out
	}
}

// present finds those of the paths that are files.
func present(paths ...string) files {
	return func(m *Machine) (out []*File) {
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
	return func(m *Machine) []*File {
		found := present(paths...)(m)
		return found[:min(1, len(found))]
	}
}

// below finds all files in a directory, at any depth, that have the extension. Without an extension
// it also finds the directory itself.
func below(dir, extension string) files {
	return func(m *Machine) (out []*File) {
		for _, list := range [][]File{m.Dirs, m.Files} {
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
func etcdData(m *Machine) []*File {
	dir, _ := flagOf(m.Command("etcd"), "data-dir")
	if f := m.Dir(dir); f != nil {
		return []*File{f}
	}
	return nil
}

// leases stands for the files in which the plugin host-local keeps the addresses of pods. The
// document does not carry these files: the plugin writes them when a pod gets an address, and gives
// its lock the mode 0750. kiln-routes.service then sets their modes, so the result is what its
// script says. Nothing is known here about the files of a pod network that comes as an add-on.
func leases(m *Machine) []*File {
	conf, script := m.Under("/etc/cni/net.d"), m.File("/etc/kiln/keep-routes")
	if len(conf) == 0 || script == nil || !m.enabled("kiln-routes.service") {
		return nil
	}
	var network struct{ Name string }
	if yaml.Unmarshal(conf[0].Content, &network) != nil {
		return nil
	}
	dir, mode := "/var/lib/cni/networks/"+network.Name, uint32(0o750)
	if strings.Contains(string(script.Content), "chmod 600 \"$root"+dir+"\"/*") {
		mode = 0o600
	}
	return []*File{{Path: dir + "/lock", Mode: mode, User: "root", Group: "root"}}
}

// enabled reports whether a unit starts with the machine.
func (m *Machine) enabled(unit string) bool {
	return slices.ContainsFunc(m.Units,
		func(u Unit) bool { return u.Name == unit && u.Enabled && !u.Masked })
}

// argument finds flags on the command line of a component: a static pod, the kubelet, or the
// DaemonSet kube-proxy.
func argument(component string, names ...string) place {
	return func(m *Machine) (out []value) {
		command := m.commandOf(component)
		for _, name := range names {
			text, set := flagOf(command, name)
			out = append(out, value{component + " --" + name, text, set})
		}
		return out
	}
}

// flagOf returns the value of a flag where it first stands; one without a value is true.
func flagOf(command []string, name string) (string, bool) {
	for _, word := range command {
		if found, text, ok := strings.Cut(word, "="); found == "--"+name {
			if !ok {
				text = "true"
			}
			return text, true
		}
	}
	return "", false
}

func (m *Machine) commandOf(component string) []string {
	switch component {
	case "kubelet":
		return m.KubeletCommand()
	case "kube-proxy":
		for _, w := range m.workloads() {
			if w.name == component {
				return append(w.spec.Containers[0].Command, w.spec.Containers[0].Args...)
			}
		}
		return nil
	default:
		return m.Command(component)
	}
}

// setting finds a setting of the kubelet: the value of its flag if that is given, otherwise a field
// of the configuration file.
func setting(name, field string) place {
	return func(m *Machine) []value {
		if text, set := flagOf(m.KubeletCommand(), name); set {
			return []value{{"kubelet --" + name, text, true}}
		}
		text, set := "", false
		if f := m.File(kubeletConfig); f != nil {
			text, set = fieldOf(f.Content, field)
		}
		return []value{{kubeletConfig + ": " + field, text, set}}
	}
}

// both joins the values of two places.
func both(a, b place) place {
	return func(m *Machine) []value { return append(a(m), b(m)...) }
}

const kubeletConfig = "/var/lib/kubelet/config.yaml"

// fieldOf returns the field of a YAML document at a path such as authentication.anonymous.enabled.
// The elements of a list are joined with commas. An empty value counts as absent.
func fieldOf(document []byte, at string) (string, bool) {
	var node any
	if yaml.Unmarshal(document, &node) != nil {
		return "", false
	}
	for name := range strings.SplitSeq(at, ".") {
		fields, _ := node.(map[string]any)
		node = fields[name]
	}
	switch node := node.(type) {
	case nil:
		return "", false
	case string:
		return node, node != ""
	case []any:
		var words []string
		for _, word := range node {
			words = append(words, fmt.Sprint(word))
		}
		return strings.Join(words, ","), true
	default:
		return fmt.Sprint(node), true
	}
}

// firstProviders finds what encrypts new objects of each kind in etcd.
func firstProviders(m *Machine) (out []value) {
	file, _ := flagOf(m.Command("kube-apiserver"), "encryption-provider-config")
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

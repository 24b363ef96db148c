package judges

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// cisJudge evaluates the CIS Kubernetes Benchmark on every machine. Nothing may be below PASS but what cisExceptions
// names, and that must be below.
func cisJudge(cluster []*Machine) (findings []string) {
	for _, m := range cluster {
		why := map[string]string{}
		for _, e := range cisExceptions {
			if e.of(m) {
				for id := range strings.FieldsSeq(e.ids) {
					why[id] = e.why
				}
			}
		}
		for _, r := range m.cis() {
			switch reason, excepted := why[r.id]; {
			case r.state != pass && !excepted:
				findings = append(findings, fmt.Sprintf("%s: CIS %s %s: %s", m.Name, r.id, r.state, r.found))
			case r.state == pass && excepted:
				findings = append(findings, fmt.Sprintf("%s: CIS %s passes; the exception is not needed: %s", m.Name, r.id, reason))
			}
		}
	}
	return findings
}

// check is one recommendation of the benchmark, as kube-bench, which people run, evaluates it.
type check struct {
	id   string
	kind kind
	at   place     // where it looks
	want condition // what all that it finds there must meet; where nothing is found, nothing is met
}

// kind is how a recommendation is assessed.
type kind int

const (
	automated kind = iota // FAIL where it is not met
	manual                // evaluated too; WARN where it is not met
	personal              // for a person to judge: always WARN
)

// States of a check.
const (
	pass = "PASS"
	fail = "FAIL"
	warn = "WARN"
)

// result is what came of a check on one machine.
type result struct {
	id, state, found string
}

// cis evaluates every check that applies to the machine, as it is once it has booted.
func (m *Machine) cis() (out []result) {
	for _, c := range cisChecks {
		if c.appliesTo(m) {
			out = append(out, c.evaluate(m))
		}
	}
	return out
}

// appliesTo says whether the tool is run for the check's section on the machine: sections 1 and 3 are for control
// planes, but for the files of etcd, which are looked at where it runs, 2 is for machines with etcd, 4 for all Nodes: a machine with role etcd is none, and its kubelet serves nobody (standalone
// in trustJudge).
func (c *check) appliesTo(m *Machine) bool {
	switch c.id[0] {
	case '1', '3':
		if !m.Joins() {
			return slices.Contains([]string{"1.1.7", "1.1.8", "1.1.11", "1.1.12"}, c.id)
		}
		return m.ControlPlane()
	case '2':
		return m.Command("etcd") != nil
	default:
		return m.Joins()
	}
}

func (c *check) evaluate(m *Machine) result {
	if c.kind == personal {
		return result{c.id, warn, "a person has to judge it"}
	}
	below := map[kind]string{automated: fail, manual: warn}[c.kind]
	values := c.at(m)
	if len(values) == 0 {
		return result{c.id, below, "there is nothing to look at, want " + c.want.text}
	}
	for _, v := range values {
		if !c.want.met(v) {
			return result{c.id, below, v.String() + ", want " + c.want.text}
		}
	}
	found := values[0].String()
	if others := len(values) - 1; others > 0 {
		found += fmt.Sprintf("; and %d more", others)
	}
	return result{c.id, pass, found}
}

// value is what a check finds at one place.
type value struct {
	of   string // file, flag or field
	text string
	set  bool
}

func (v value) String() string {
	if !v.set {
		return v.of + " is not set"
	}
	return v.of + " is " + v.text
}

// place finds values on a machine.
type place func(m *Machine) []value

// files finds files and directories on a machine. What the document brings without saying so, such as the directories
// above its files, belongs to root.
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

// below finds what lies at any depth in a directory and has the extension, and the directory itself if any will do.
func below(dir, extension string) files {
	return func(m *Machine) (out []*File) {
		for _, list := range [][]File{m.Dirs, m.Files} {
			for i, f := range list {
				if (f.Path+"/" == dir || strings.HasPrefix(f.Path, dir)) && strings.HasSuffix(f.Path, extension) {
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

// leases stands for the files that the plugin host-local keeps of pods' addresses. The document does not carry them: they
// are there as soon as a pod has an address, and the plugin's lock is 0750. kiln-routes.service closes them, so they are as
// its script leaves them. A pod network that comes as an add-on keeps files that nobody knows here.
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

// enabled says whether a unit starts with the machine.
func (m *Machine) enabled(unit string) bool {
	return slices.ContainsFunc(m.Units, func(u Unit) bool { return u.Name == unit && u.Enabled && !u.Masked })
}

// argument finds flags on the command line of a component: a static pod, the kubelet, or kube-proxy as its DaemonSet has it.
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

// setting finds a setting of the kubelet: its flag if it is given, otherwise a field of its configuration file.
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

// fieldOf returns the field of a YAML document at a path such as authentication.anonymous.enabled; the elements of a
// list are joined with commas. An empty value is none.
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

// condition is what a value has to meet.
type condition struct {
	text string
	met  func(value) bool
}

// whenSet is a condition that a value which is not set does not meet.
func whenSet(text string, met func(string) bool) condition {
	return condition{text, func(v value) bool { return v.set && met(v.text) }}
}

var (
	set   = whenSet("any value", func(string) bool { return true })
	unset = condition{"none", func(v value) bool { return !v.set }}
)

func orUnset(c condition) condition {
	return condition{c.text + " or none", func(v value) bool { return !v.set || c.met(v) }}
}

func is(want string) condition {
	return whenSet(want, func(text string) bool { return text == want })
}

func isNot(want string) condition {
	return whenSet("anything but "+want, func(text string) bool { return text != want })
}

func has(part string) condition {
	return whenSet(part+" in it", func(text string) bool { return strings.Contains(text, part) })
}

func lacks(part string) condition {
	return whenSet("no "+part+" in it", func(text string) bool { return !strings.Contains(text, part) })
}

func atLeast(least int) condition {
	return whenSet(fmt.Sprintf("at least %d", least), func(text string) bool {
		n, err := strconv.Atoi(text)
		return err == nil && n >= least
	})
}

// among is met by a list of which everything is allowed.
func among(what string, allowed ...string) condition {
	return whenSet(what+" alone", func(text string) bool {
		return !slices.ContainsFunc(strings.Split(text, ","), func(word string) bool { return !slices.Contains(allowed, word) })
	})
}

// within is met by a mode that allows nothing which the given one does not.
func within(most uint64) condition {
	return whenSet(fmt.Sprintf("%o or less", most), func(text string) bool {
		mode, err := strconv.ParseUint(text, 8, 32)
		return err == nil && mode&^most == 0
	})
}

// exception says on which machines checks are below PASS, and why that is right.
type exception struct {
	ids string // separated by spaces
	of  func(*Machine) bool
	why string
}

// inCase finds the machines of golden clusters.
func inCase(names ...string) func(*Machine) bool {
	return func(m *Machine) bool { return slices.Contains(names, m.Case) }
}

// controlPlaneOf finds the control planes among them.
func controlPlaneOf(names ...string) func(*Machine) bool {
	return func(m *Machine) bool { return m.ControlPlane() && inCase(names...)(m) }
}

// withToken finds machines that join with a bootstrap token.
func withToken(m *Machine) bool { return m.File(bootstrapKubeconfig) != nil }

const bootstrapKubeconfig = "/etc/kubernetes/bootstrap-kubelet.conf"

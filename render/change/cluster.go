// Package change compares two states of a cluster: what differs on which machine, and what has to be done so that running machines are
// what the newer state says. Both are read from review twins, so nothing here ever sees a secret. It knows what lies on a machine and what
// reads it; how it was rendered it does not know.
package change

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Names in a twin.
const (
	Index  = "INDEX"
	Shared = "shared"
)

// Cluster is one state of a cluster.
type Cluster struct {
	Name    string
	UUID    string
	Version string // of Kubernetes
	// Facts are what the machines' files follow from, such as "service subnets".
	Facts map[string]string
	// Machines are nodes by name, then pools by name.
	Machines []*Machine

	things map[key]*thing // what is there once for the whole cluster: the operator's kubeconfig
}

// Machine is one named machine or one pool.
type Machine struct {
	Name, Role, OS, Platform, Format string
	Pool                             bool
	// Facts are what is known of the machine beside its files: kubelet, addresses, until.
	Facts map[string]string

	things map[key]*thing
}

// title is how people are told of a machine.
func (m *Machine) title() string {
	if m.Pool {
		return "pool " + m.Name
	}
	return m.Name
}

// AddTo puts the machine's name where it belongs: to the machines, or to the pools.
func (m *Machine) AddTo(machines, pools *[]string) {
	if m.Pool {
		machines = pools
	}
	*machines = append(*machines, m.Name)
}

// key is what no two things of a machine have in common.
type key struct{ kind, id string }

// compare puts keys into the order of an INDEX.
func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(slices.Index(kinds, k.kind), slices.Index(kinds, other.kind)), cmp.Compare(k.id, other.id))
}

// kinds are the kinds of things that a machine has, in the order of an INDEX.
var kinds = []string{"user", "dir", "file", "link", "unit", "key", "network-config", "ignition", "cloud-config"}

// thing is a file, a unit, … of a machine. Machines that share it in the twin have the same pointer.
type thing struct {
	traits  map[string]string // mode, owner, state, …
	secret  string            // name and generation; empty if it is none
	shown   []string          // what is known of it: certificates, what is said in place of the content
	content []byte            // nil if it is not shown
}

// Read reads the twin whose files open returns by their paths below its folder. An error names the file that is not a twin's, or
// is missing.
func Read(open func(name string) ([]byte, error)) (*Cluster, error) {
	r := &reader{open: open, folders: map[string]map[key]*thing{}}
	text, err := open(Index)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Facts: map[string]string{}}
	var admin []string
	for i, line := range lines(text) {
		words := strings.Fields(line)
		switch {
		case i == 0:
			if _, err := fmt.Sscanf(line, Mark, &c.Name, &c.UUID, &c.Version); err != nil {
				return nil, fmt.Errorf("%s: not the %s of a review twin", Index, Index)
			}
		case strings.HasPrefix(line, "cluster "):
			name, value, _ := strings.Cut(strings.TrimPrefix(line, "cluster "), ": ")
			c.Facts[name] = value
		case len(words) > 6 && (words[0] == "node" || words[0] == "pool"):
			// Names stand in commands that people paste.
			if !machineName.MatchString(words[1]) {
				return nil, fmt.Errorf("%s: line %d: %q is no name of a machine: this is no review twin", Index, i+1, words[1])
			}
			m := &Machine{Pool: words[0] == "pool", Name: words[1], Role: words[2], OS: words[3], Platform: words[4], Format: words[5], Facts: map[string]string{}}
			for j := 6; j+1 < len(words); j += 2 {
				m.Facts[words[j]] = words[j+1]
			}
			c.Machines = append(c.Machines, m)
		default:
			admin = append(admin, line)
		}
	}
	if c.things, err = r.entries("", admin); err != nil {
		return nil, err
	}
	for _, m := range c.Machines {
		dir := m.Name
		if m.Pool {
			dir = path.Join("pools", m.Name)
		}
		if m.things, err = r.folder(dir); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// machineName is what a Node and a pool can be called.
var machineName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// Mark is the first line of a twin's INDEX, for fmt: the cluster's name and UUID, and Kubernetes' version.
const Mark = "kiln review twin of cluster %s %s Kubernetes %s\n"

// reader reads the folders of a twin, each once.
type reader struct {
	open    func(string) ([]byte, error)
	folders map[string]map[key]*thing
}

// folder returns what is in a folder, and in those that its INDEX takes in.
func (r *reader) folder(dir string) (map[key]*thing, error) {
	if there := r.folders[dir]; there != nil {
		return there, nil
	}
	name := path.Join(dir, Index)
	text, err := r.open(name)
	if err != nil {
		return nil, err
	}
	all := map[key]*thing{}
	rest := lines(text)
	// A shared folder takes nothing in.
	for len(rest) > 0 && !strings.HasPrefix(dir, Shared+"/") {
		line := rest[0]
		base, with := strings.CutPrefix(line, "with "+Shared+"/")
		with = with && base != "." && fs.ValidPath(base) && !strings.Contains(base, "/")
		words := strings.SplitN(line, " ", 3)
		without := words[0] == "without" && len(words) == 3
		if !with && !without {
			break
		}
		rest = rest[1:]
		if without {
			delete(all, key{words[1], words[2]})
			continue
		}
		shared, err := r.folder(path.Join(Shared, base))
		if err != nil {
			return nil, err
		}
		for k, t := range shared {
			all[k] = t
		}
	}
	own, err := r.entries(dir, rest)
	if err != nil {
		return nil, err
	}
	for k, t := range own {
		all[k] = t
	}
	r.folders[dir] = all
	return all, nil
}

var (
	fileLine = regexp.MustCompile(`^(file|dir) +(\S+) (\S+) (/.*?)(?: <secret ([^<>]*)>)?$`)
	// The operator's kubeconfig, which is on no machine.
	adminLine = regexp.MustCompile(`^file (\S+) (\S+) <secret ([^<>]*)>$`)
)

// entries reads the lines of an INDEX that stand for things, with those indented below them.
func (r *reader) entries(dir string, list []string) (map[key]*thing, error) {
	out := map[key]*thing{}
	for len(list) > 0 {
		head := list[0]
		n := 1
		for n < len(list) && strings.HasPrefix(list[n], indent) {
			n++
		}
		below := make([]string, 0, n-1)
		for _, line := range list[1:n] {
			below = append(below, strings.TrimPrefix(line, indent))
		}
		list = list[n:]
		k, t, ok := entry(head, below)
		if !ok {
			return nil, fmt.Errorf("%s: %q is no line of a review twin", path.Join(dir, Index), head)
		}
		if k.kind == "file" && t.secret == "" && dir != "" {
			content, err := r.open(dir + k.id)
			if err != nil && len(t.shown) == 0 {
				return nil, fmt.Errorf("%s names %s: %w", path.Join(dir, Index), k.id, err)
			}
			if err == nil {
				t.content = content
				// They only say what the content says.
				t.shown = nil
			}
		}
		out[k] = t
	}
	return out, nil
}

// indent is before what stands below an entry's line.
const indent = "     "

// entry reads one entry of an INDEX.
func entry(head string, below []string) (key, *thing, bool) {
	t := &thing{traits: map[string]string{}, shown: below}
	words := strings.Fields(head)
	if len(words) == 0 {
		return key{}, nil, false
	}
	switch kind := words[0]; {
	case fileLine.MatchString(head):
		m := fileLine.FindStringSubmatch(head)
		t.traits["mode"], t.traits["owner"], t.secret = m[2], m[3], m[5]
		return key{m[1], m[4]}, t, true
	case adminLine.MatchString(head):
		m := adminLine.FindStringSubmatch(head)
		t.traits["server"], t.secret = m[2], m[3]
		return key{"file", m[1]}, t, true
	case kind == "user" && len(words) == 4:
		t.traits["number"], t.traits["home"] = words[2], words[3]
		return key{kind, words[1]}, t, true
	case kind == "link":
		name, target, ok := strings.Cut(strings.TrimPrefix(head, "link "), " -> ")
		t.traits["target"] = target
		return key{kind, name}, t, ok
	case kind == "unit" && len(words) > 1:
		t.traits["state"] = strings.Join(words[2:], " ")
		return key{kind, words[1]}, t, true
	case kind == "key":
		return key{kind, strings.TrimSpace(strings.TrimPrefix(head, "key"))}, t, true
	case kind == "network-config" || kind == "ignition" || kind == "cloud-config":
		t.content, t.shown = []byte(strings.Join(below, "\n")+"\n"), nil
		return key{kind, ""}, t, true
	}
	return key{}, nil, false
}

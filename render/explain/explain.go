// Package explain says where a value on a machine comes from. It runs the pipelines of assembly once
// more, looks at the document between their stages, and compares.
package explain

import (
	"fmt"
	"path"
	"strings"

	"kiln/render/assembly"
	"kiln/render/config"
	"kiln/render/credential"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/suggest"
)

// Explanation says what a file of a machine is, or where a value in it comes from.
type Explanation struct {
	Node   string         `json:"node"`
	Path   string         `json:"path"`
	Mode   string         `json:"mode"`
	Owner  string         `json:"owner"`
	Why    string         `json:"why"`
	Secret string         `json:"secret,omitempty"` // name and generation
	From   []config.Place `json:"from"`             // what the file is made from, in the order in which it counts

	// Value is the value that was asked for; nil if that was the file.
	Value *config.Setting `json:"value,omitempty"`
}

// String returns the explanation for people.
func (e *Explanation) String() string {
	if e.Value != nil {
		return e.Value.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n  mode %s, owner %s\n", e.Path, e.Why, e.Mode, e.Owner)
	if e.Secret != "" {
		fmt.Fprintf(&b, "  holds the secret %s\n", e.Secret)
	}
	for _, p := range e.From {
		fmt.Fprintf(&b, "  made from %s\n", p)
	}
	return b.String()
}

// Explain says what the file at a path is on a machine or, with a colon and a key behind the path, which stage of the rendering gave the
// value there. The document goes through its stages once more, and the value is compared between them. Of a secret nothing is told but name and
// generation. A *suggest.Unknown says that there is no such machine, file or key.
func Explain(c *assembly.Cluster, machine, asked string) (*Explanation, error) {
	r := explainer{c}
	m, err := r.byName(machine)
	if err != nil {
		return nil, err
	}
	n, err := r.Machine(m)
	if err != nil {
		return nil, err
	}
	f, key, err := fileAt(n, asked)
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Node: m.Name, Path: f.Path, Mode: fmt.Sprintf("%04o", f.Mode), Owner: node.Owner(f.User) + ":" + node.Owner(f.Group), Why: f.Why, Secret: f.Secret,
		From: []config.Place{},
	}
	stages, err := r.history(m, f)
	switch {
	case err != nil:
		return nil, err
	case key == "":
		e.From = r.madeFrom(f, stages)
		return e, nil
	case f.Secret != "":
		return nil, &suggest.Unknown{Message: fmt.Sprintf("%s holds the secret %s: no value of it is shown; leave the key out, and the file is explained", f.Path, f.Secret)}
	case credential.Holds(f.Content):
		return nil, &suggest.Unknown{Message: fmt.Sprintf("%s holds a credential: no value of it is shown; kiln validate says where it comes from", f.Path)}
	case len(stages) == 0 || len(f.Shown) > 0:
		return nil, &suggest.Unknown{Message: f.Path + " is not one document of YAML or JSON; leave the key out, and the file is explained"}
	}
	e.Value, err = valueAt(f, key, stages)
	return e, err
}

// explainer runs the pipelines of a cluster once more.
type explainer struct{ *assembly.Cluster }

func (r explainer) byName(name string) (*plan.Machine, error) {
	var all []string
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; m.Name == name {
			return m, nil
		}
		all = append(all, r.Plan.Machines[i].Name)
	}
	return nil, suggest.NoSuch(name, all, "there is no node or pool %q", name)
}

// fileAt returns the file that PATH or PATH:KEY names, and the key. Either may hold colons itself.
func fileAt(n *node.Node, asked string) (f *node.File, key string, err error) {
	for end := len(asked); end > 0; end = strings.LastIndexByte(asked[:end], ':') {
		if f := n.File(asked[:end]); f != nil {
			return f, strings.TrimPrefix(asked[end:], ":"), nil
		}
	}
	name, _, _ := strings.Cut(asked, ":")
	var all, same []string
	for i := range n.Files {
		file := n.Files[i].Path
		all = append(all, file)
		if base := path.Base(name); path.Base(file) == base || strings.HasSuffix(file, "-"+base) {
			same = append(same, file)
		}
	}
	if len(same) > 0 {
		all = same
	}
	return nil, "", suggest.NoSuch(name, all, "there is no file %s on %s", name, n.Name)
}

// Origin returns the places in the configuration that a file of a machine comes from, in the order in
// which they count; none if that cannot be found out.
func Origin(c *assembly.Cluster, m *plan.Machine, f *node.File) []config.Place {
	r := explainer{c}
	stages, err := r.history(m, f)
	if err != nil {
		return nil
	}
	return r.madeFrom(f, stages)
}

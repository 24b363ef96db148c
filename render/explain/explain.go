// Package explain finds where a value in a file of a machine comes from: the base manifest, a part
// of kiln, a field of the configuration, an add-on or a patch. It makes the document of the file
// once more, with a watch on each stage of package assembly, and compares the value before and
// after each stage. Explain shows no value of a secret or of a file with a credential.
//
// explain.go answers the question, and finds the stage that brought a mistake; stages.go finds the
// document after each stage, keep.go keeps what the stages changed, value.go compares them, and
// place.go finds the line that is responsible for a stage.
package explain

import (
	"fmt"
	"path"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Explainer answers questions about one cluster. It makes each document once more only once, for
// all questions. Its methods may be called from several goroutines.
type Explainer struct {
	*assembly.Cluster
	runs runs
}

// New returns an explainer for a cluster.
func New(c *assembly.Cluster) *Explainer {
	return &Explainer{Cluster: c, runs: runs{made: map[[2]string][]version{}}}
}

// Explanation says what a file of a machine is, or where a value in it comes from.
type Explanation struct {
	Node   string         `json:"node"` // the name of the node or pool
	Path   string         `json:"path"`
	Mode   string         `json:"mode"`
	Owner  string         `json:"owner"`
	Why    string         `json:"why"`
	Secret string         `json:"secret,omitempty"` // name and generation
	From   []config.Place `json:"from"`             // its sources, in the order in which they apply

	// Value is the value at the key and its sources; nil if the question has no key.
	Value *config.Setting `json:"value,omitempty"`
}

// String returns the explanation as lines for people.
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

// Explain explains a file of a machine or, if target is PATH:KEY, one value in the file. For a
// secret the explanation holds only its name and generation. It fails with a *wording.Unknown if
// there is no such machine, file or key, and if the value may not be shown or the file has no keys.
func (r *Explainer) Explain(machine, target string) (*Explanation, error) {
	m, err := r.machine(machine)
	if err != nil {
		return nil, err
	}
	n, err := r.Machine(m)
	if err != nil {
		return nil, err
	}
	f, key, err := findFile(n, target)
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Node: m.Name, Path: f.Path, Mode: fmt.Sprintf("%04o", f.Mode),
		Owner: node.Owner(f.User) + ":" + node.Owner(f.Group),
		Why:   f.Why, Secret: f.Secret, From: []config.Place{},
	}
	stages, err := r.history(m, f)
	switch {
	case err != nil:
		return nil, err
	case key == "":
		e.From = r.madeFrom(f, stages)
		return e, nil
	case f.Secret != "":
		return nil, &wording.Unknown{Message: fmt.Sprintf("%s holds the secret %s: no value of it "+
			"is shown; leave the key out, and the file is explained", f.Path, f.Secret)}
	case credential.Holds(f.Content):
		return nil, &wording.Unknown{Message: f.Path + " holds a credential: no value of it " +
			"is shown; kiln validate says where it comes from"}
	case len(stages) == 0 || len(f.Shown) > 0:
		return nil, &wording.Unknown{Message: f.Path + " is not one document of YAML or JSON; " +
			"leave the key out, and the file is explained"}
	}
	e.Value, err = valueAt(f, key, stages)
	return e, err
}

// Origin returns the sources of a file of a machine in the order in which they apply. It returns
// none if the document of the file cannot be made once more.
func (r *Explainer) Origin(m *plan.Machine, f *node.File) []config.Place {
	stages, err := r.history(m, f)
	if err != nil {
		return nil
	}
	return r.madeFrom(f, stages)
}

// Source returns the place that decides about the value at a key of a file of m. The place is empty
// if it is in no file that a person wrote, and if the document of the file cannot be made once
// more.
func (r *Explainer) Source(m *plan.Machine, f *node.File, key string) config.Place {
	stages, err := r.history(m, f)
	if err != nil || len(stages) == 0 {
		return config.Place{}
	}
	s, err := valueAt(f, key, stages)
	if err != nil || len(s.Given) == 0 || s.Given[0].Place.Field == "" {
		return config.Place{}
	}
	return s.Given[0].Place
}

// machine returns the machine of that name, or a *wording.Unknown with a similar one.
func (r *Explainer) machine(name string) (*plan.Machine, error) {
	var all []string
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; m.Name == name {
			return m, nil
		}
		all = append(all, r.Plan.Machines[i].Name)
	}
	return nil, wording.NoSuch(name, all, "there is no node or pool %q", name)
}

// findFile returns file and key of PATH or PATH:KEY: the longest path that the machine has wins. It
// fails with a *wording.Unknown.
func findFile(n *node.Node, target string) (f *node.File, key string, err error) {
	for end := len(target); end > 0; end = strings.LastIndexByte(target[:end], ':') {
		if f := n.File(target[:end]); f != nil {
			return f, strings.TrimPrefix(target[end:], ":"), nil
		}
	}
	name, _, _ := strings.Cut(target, ":")
	base := path.Base(name)
	var all, similar []string
	for i := range n.Files {
		file := n.Files[i].Path
		all = append(all, file)
		if path.Base(file) == base || strings.HasSuffix(file, "-"+base) {
			similar = append(similar, file)
		}
	}
	if len(similar) > 0 {
		all = similar
	}
	return nil, "", wording.NoSuch(name, all, "there is no file %s on %s", name, n.Name)
}

// Cause returns the place of a mistake in a file of m: the value, in the stage that brought the
// mistake there. For example, /etc/kubernetes/manifests/etcd.yaml has an unknown flag at the path
// spec.containers[0].command. Its stages are kiln's manifest, then each patch of the user in turn.
// If the second patch is the first stage with the flag, the place is the line of that patch which
// sets the command, or what is around it if the patch does not set it.
//
// wrong reports whether the text of a stage has the mistake. inner is "" for a value of the file
// itself. If the value is itself a document, such as a configuration in a ConfigMap, inner leads to
// the value in that document. The place is empty if the file's document cannot be made once more,
// and if no stage brought the mistake.
func (r *Explainer) Cause(
	m *plan.Machine, f *node.File, path, inner string, wrong func(text []byte) bool,
) config.Place {
	stages, err := r.history(m, f)
	if err != nil || len(stages) == 0 {
		return config.Place{}
	}
	at := len(stages) - 1
	if !stages[at].exists || !wrong(stages[at].text()) {
		return config.Place{}
	}
	for at > 0 && stages[at-1].exists && wrong(stages[at-1].text()) {
		at--
	}
	p := stages[at].doc().Nearest(path)
	place := stages[at].source(p)
	if inner != "" {
		r.lead(&place, stages[at].doc(), p, inner)
	}
	return place
}

// lead leads a place in a patch on to what the patch sets in the document at path p.
func (r *Explainer) lead(
	place *config.Place, d yamltext.Document, p yamltext.Path, inner string,
) {
	patch, ok := r.PatchText(place.Field)
	value, _ := d.Value(p)
	text, _ := value.(string)
	docs := yamltext.Documents([]byte(text))
	if !ok || len(docs) == 0 {
		return
	}
	at := docs[0].Nearest(inner)
	set, _ := docs[0].Value(at)
	if line, column := positionInPatch(patch, at, set); line > 0 {
		*place = r.Plan.Config.TextPlace(place.Field, "patch", "patchFrom", line, column)
	}
}

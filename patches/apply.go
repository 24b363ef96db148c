// Package patches applies the user's kustomize patches to streams of Kubernetes objects. It is the
// only package that imports kustomize.
package patches

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// Patch is one patch: a strategic merge, or a list of JSON6902 operations with a target.
type Patch struct {
	Name string // in messages: the user's file, or the patch's place in cluster.yaml
	Text string

	selector *types.Selector // nil without a target
	regex    *types.SelectorRegex
	labels   labels.Selector
	list     bool     // it is a list of operations
	named    []object // the objects that a strategic merge without a target names
	merge    string   // a strategic merge as kustomize reads it

	// Of a strategic merge, see parse. Guarded by engine.
	parsed  []*resource.Resource
	longest int    // maps in its longest list
	unclear bool   // it may say what kind of object a value is
	fields  Fields // that it names; nil if it may change any
}

// Target selects objects as kustomize does: names are anchored regular expressions, an empty field
// matches all.
type Target struct {
	Group, Version, Kind, Name, Namespace string
	LabelSelector                         string
}

// object is the part of an object that a patch selects it by.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
}

// id returns the identity that kustomize gives to o. The caller holds engine: the identity says
// whether objects of this kind have a namespace, and that is in kustomize's schema.
func (o *object) id() resid.ResId {
	group, version := resid.ParseGroupVersion(o.APIVersion)
	gvk := resid.NewGvk(group, version, o.Kind)
	return resid.NewResIdWithNamespace(gvk, o.Metadata.Name, o.Metadata.Namespace)
}

// New returns the patch, and fails if its form is wrong: operations need a target, a merge patch
// without a target must name its object, one with a target must be a single document, and regular
// expressions and label selectors must be valid.
func New(name, text string, target *Target) (*Patch, error) {
	p := &Patch{Name: name, Text: text, merge: text}
	var whole any
	if err := yamltext.Patch.Check([]byte(text)); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	docs := yamltext.Split([]byte(text))
	for _, doc := range docs {
		whole = nil
		if err := yaml.UnmarshalStrict(doc, &whole); err != nil {
			_, mistake, ok := strings.Cut(yamltext.Message(err), "unmarshal errors:\n")
			if !ok {
				return nil, fmt.Errorf("%s: not YAML: %s", name, yamltext.Message(err))
			}
			mistake, _, _ = strings.Cut(strings.TrimSpace(mistake), "\n")
			return nil, fmt.Errorf("%s: %s", name, mistake)
		}
		if text, err := json.Marshal(whole); err != nil || bytes.Contains(text, []byte(internals)) {
			return nil, fmt.Errorf("%s: %s", name, internalsMessage)
		}
		switch whole.(type) {
		case nil:
			continue
		case []any:
			p.list = true
			if target == nil {
				return nil, fmt.Errorf("%s: JSON6902 operations need a target; "+
					"name the kind and name of what they change", name)
			}
			if len(docs) > 1 {
				return nil, fmt.Errorf("%s: JSON6902 operations must be the only document", name)
			}
		case map[string]any:
			var d object
			if err := yaml.Unmarshal(doc, &d); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if group, _, _ := strings.Cut(d.APIVersion, "/"); group == "kubeadm.k8s.io" {
				return nil, fmt.Errorf("%s: kubeadm's %s is no object of a cluster; write the "+
					"fields of cluster.yaml that docs/kubeadm.md names", name, d.Kind)
			}
			if target == nil && d.Kind != "" && d.Metadata.Name == "" {
				return nil, fmt.Errorf("%s: a strategic merge patch without target needs "+
					"metadata.name of the object that it changes; write the name, or "+
					"target: {kind: %s} beside the patch", name, d.Kind)
			}
			if target == nil && (d.APIVersion == "" || d.Kind == "" || d.Metadata.Name == "") {
				return nil, fmt.Errorf("%s: a strategic merge patch without target needs "+
					"apiVersion, kind and metadata.name of the object that it changes; "+
					"write them, or target: {kind: …} beside the patch", name)
			}
			if target != nil && len(p.named) > 0 {
				return nil, fmt.Errorf("%s: a strategic merge patch with a target must be the "+
					"only document; write a patch of its own for each document", name)
			}
			if target != nil {
				var err error
				if p.merge, err = withHead(string(doc)); err != nil {
					return nil, fmt.Errorf("%s: not YAML: %s", name, yamltext.Message(err))
				}
			}
			p.named = append(p.named, d)
		default:
			return nil, fmt.Errorf("%s: neither a strategic merge patch "+
				"nor a list of JSON6902 operations", name)
		}
	}
	if target != nil {
		gvk := resid.Gvk{Group: target.Group, Version: target.Version, Kind: target.Kind}
		p.selector = &types.Selector{
			ResId:         resid.NewResIdWithNamespace(gvk, target.Name, target.Namespace),
			LabelSelector: target.LabelSelector,
		}
		var err error
		if p.regex, err = types.NewSelectorRegex(p.selector); err != nil {
			return nil, fmt.Errorf("%s: target: %w", name, err)
		}
		if p.labels, err = labels.Parse(target.LabelSelector); err != nil {
			return nil, fmt.Errorf("%s: target: labelSelector: %w", name, err)
		}
		return p, nil
	}
	if len(p.named) == 0 {
		return nil, fmt.Errorf("%s: the patch is empty", name)
	}
	return p, nil
}

// count returns how many objects of a stream p selects, by kustomize's own rules.
func (p *Patch) count(stream []byte) (n int) {
	for _, doc := range yamltext.Split(stream) {
		var o object
		if yaml.Unmarshal(doc, &o) == nil && o.Kind != "" && p.matchesOne(o) {
			n++
		}
	}
	return n
}

// Names reports whether p says that it is for objects of that kind, by a target or a name.
func (p *Patch) Names(kind string) bool {
	if p.selector == nil {
		return slices.ContainsFunc(p.named, func(n object) bool { return n.Kind == kind })
	}
	return p.selector.Kind != "" && p.regex.MatchGvk(resid.Gvk{
		Group: p.selector.Group, Version: p.selector.Version, Kind: kind,
	})
}

// matches does what kustomize does before it applies a patch: Select of api/resmap/reswrangler.go
// with a target, GetById without one (api v0.21.2). The caller holds engine.
func (p *Patch) matches(o object) bool {
	id := o.id()
	if p.selector == nil {
		return slices.ContainsFunc(p.named, func(n object) bool { return n.id().Equals(id) })
	}
	return p.regex.MatchNamespace(id.EffectiveNamespace()) && p.regex.MatchName(id.Name) &&
		p.regex.MatchGvk(id.Gvk) && p.labels.Matches(labels.Set(o.Metadata.Labels))
}

// kustomize keeps its schema in process-wide state, so one run at a time.
var engine sync.Mutex

// Apply returns the stream with the patches applied in their order; a list of operations must be
// alone. Objects keep their order, and keys are sorted. kustomize runs without plugins on a file
// system in memory, and can read nothing outside it. An error names the patch; if an operation does
// not fit, or would show a value of a Secret, it is a *Failure, which names the operation.
func Apply(stream []byte, patches ...*Patch) (out []byte, err error) {
	for _, p := range patches {
		if err := p.checkSize(stream); err != nil {
			return nil, err
		}
		switch {
		case !p.list:
			continue
		case len(patches) > 1: // a Stream compares each with what those before it leave
			return nil, fmt.Errorf("apply patch %s: a list of operations must be alone", p.Name)
		}
		if f := p.failure(stream); f != nil {
			return nil, f
		}
	}
	k := types.Kustomization{}
	fs := filesys.MakeFsInMemory()
	for i, p := range patches {
		kp := types.Patch{Path: fmt.Sprintf("patch-%d.yaml", i), Target: p.selector}
		text := []byte(p.merge)
		if p.list { // kustomize takes what begins with [ for JSON, and it may be YAML
			text, _ = yaml.YAMLToJSON([]byte(p.Text)) // New has read it
		}
		if err := fs.WriteFile(kp.Path, text); err != nil {
			return nil, err
		}
		k.Patches = append(k.Patches, kp)
	}
	if out, err = run(fs, &k, stream); err != nil {
		why := reason(err)
		if len(patches) == 1 {
			return nil, fmt.Errorf("apply patch %s: %s", patches[0].Name, why)
		}
		return nil, fmt.Errorf("apply patches: %s", why)
	}
	return out, nil
}

// Build returns the objects that kustomize builds from the folder root. files are the folder's
// files, by their paths. A kustomization may name these files alone: no addresses, no plugins, no
// helm. If there is a problem nothing is built, and the error has all problems. withhold reports
// whether a value is a credential, which the error must not quote.
func Build(root string, files map[string][]byte, withhold func(value string) bool) ([]byte, error) {
	r := read(root, files, withhold)
	if err := r.err(); err != nil {
		return nil, err
	}
	fs := filesys.MakeFsInMemory()
	for name, data := range r.reached {
		if err := fs.WriteFile(name, data); err != nil {
			return nil, fmt.Errorf("%s: kustomize takes no file of this name; "+
				"rename it: %w", name, err)
		}
	}
	// After a dot no folder's name can be taken for an address (github.com/x/y).
	resources, err := kustomize(fs, "./"+root)
	if err != nil {
		return nil, r.blame(err)
	}
	if err := r.checkNames(resources); err != nil {
		return nil, err
	}
	return marshal(resources)
}

// run returns the objects that kustomize builds from a stream by a kustomization in the root of fs.
func run(fs filesys.FileSystem, k *types.Kustomization, stream []byte) ([]byte, error) {
	k.APIVersion, k.Kind = types.KustomizationVersion, types.KustomizationKind
	k.Resources = []string{"resources.yaml"}
	text, err := yaml.Marshal(k)
	err = errors.Join(err, fs.WriteFile("kustomization.yaml", text),
		fs.WriteFile(k.Resources[0], stream))
	if err != nil {
		return nil, err
	}
	resources, err := kustomize(fs, ".")
	if err != nil {
		return nil, err
	}
	return marshal(resources)
}

func kustomize(fs filesys.FileSystem, root string) (resources resmap.ResMap, err error) {
	err = locked(func() error {
		resources, err = krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, root)
		return err
	})
	return resources, err
}

// locked calls a function that uses kustomize.
func locked(use func() error) (err error) {
	engine.Lock()
	defer engine.Unlock()
	// A schema that an add-on brings (openapi) would stay for all later runs, and kustomize panics
	// at a broken one.
	schema := openapi.GetSchemaVersion()
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("kustomize: %v", broken)
		}
		if openapi.GetSchemaVersion() != schema {
			openapi.ResetOpenAPI()
		}
	}()
	return use()
}

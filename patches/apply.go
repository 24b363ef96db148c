// Package patches applies kustomize patches to streams of Kubernetes objects: our own values and then the user's, through
// one engine and in that order. It is the only package that imports kustomize.
package patches

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// Patch is one patch: a strategic merge, or a list of JSON6902 operations with a target.
type Patch struct {
	Name   string // how messages call it: the user's file, or its place in cluster.yaml
	Text   string
	Target *Target

	own []id // what a strategic merge without target names itself
}

// Target selects objects as kustomize does: names are anchored regular expressions, an empty field matches all.
type Target struct {
	Group, Version, Kind, Name, Namespace string
	LabelSelector                         string
}

// id is what a target is matched against.
type id struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
}

// New checks a patch's form: operations need a target, a merge patch without one must say which object it is for, and
// regular expressions and label selectors must be such.
func New(name, text string, target *Target) (*Patch, error) {
	p := &Patch{Name: name, Text: text, Target: target}
	var whole any
	docs := strings.Split("\n"+text, "\n---")
	for _, doc := range docs {
		if err := yaml.Unmarshal([]byte(doc), &whole); err != nil {
			return nil, fmt.Errorf("%s: not YAML: %w", name, err)
		}
		switch whole.(type) {
		case nil:
			continue
		case []any:
			if target == nil {
				return nil, fmt.Errorf("%s: JSON6902 operations need a target; name the kind and name of what they change", name)
			}
			if len(docs) > 1 {
				return nil, fmt.Errorf("%s: JSON6902 operations must be the only document", name)
			}
		case map[string]any:
			var d id
			if err := yaml.Unmarshal([]byte(doc), &d); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if target == nil && (d.APIVersion == "" || d.Kind == "" || d.Metadata.Name == "") {
				return nil, fmt.Errorf("%s: a strategic merge patch without target needs apiVersion, kind and metadata.name of the object that it changes", name)
			}
			p.own = append(p.own, d)
		default:
			return nil, fmt.Errorf("%s: neither a strategic merge patch nor a list of JSON6902 operations", name)
		}
	}
	if target != nil {
		for _, expr := range []string{target.Group, target.Version, target.Kind, target.Name, target.Namespace} {
			if _, err := regexp.Compile(anchored(expr)); err != nil {
				return nil, fmt.Errorf("%s: target: %w", name, err)
			}
		}
		if _, err := labels.Parse(target.LabelSelector); err != nil {
			return nil, fmt.Errorf("%s: target: labelSelector: %w", name, err)
		}
		return p, nil
	}
	if len(p.own) == 0 {
		return nil, fmt.Errorf("%s: the patch is empty", name)
	}
	return p, nil
}

// Matches says whether p is for any object of a stream.
func (p *Patch) Matches(stream []byte) bool {
	for _, doc := range strings.Split("\n"+string(stream), "\n---") {
		var d id
		if yaml.Unmarshal([]byte(doc), &d) == nil && d.Kind != "" && p.matches(d) {
			return true
		}
	}
	return false
}

func (p *Patch) matches(d id) bool {
	if p.Target == nil {
		for _, own := range p.own {
			if own.APIVersion == d.APIVersion && own.Kind == d.Kind && own.Metadata.Name == d.Metadata.Name &&
				defaulted(own.Metadata.Namespace) == defaulted(d.Metadata.Namespace) {
				return true
			}
		}
		return false
	}
	group, version, found := strings.Cut(d.APIVersion, "/")
	if !found {
		group, version = "", group
	}
	for _, part := range [][2]string{
		{p.Target.Group, group}, {p.Target.Version, version}, {p.Target.Kind, d.Kind},
		{p.Target.Name, d.Metadata.Name}, {p.Target.Namespace, d.Metadata.Namespace},
	} {
		if part[0] != "" && !regexp.MustCompile(anchored(part[0])).MatchString(part[1]) {
			return false
		}
	}
	selector, err := labels.Parse(p.Target.LabelSelector)
	return err == nil && selector.Matches(labels.Set(d.Metadata.Labels))
}

func defaulted(namespace string) string {
	if namespace == "" {
		return "default"
	}
	return namespace
}

func anchored(expr string) string { return "^(?:" + expr + ")$" }

// kustomize keeps its schema in process-wide state, so one run at a time.
var engine sync.Mutex

// Apply returns the stream with the patches applied in order, objects in their order and keys sorted. Patches are
// applied on an in-memory file system, without plugins, and nothing outside it can be read. An error names the patch.
func Apply(stream []byte, patches ...*Patch) ([]byte, error) {
	k := types.Kustomization{Resources: []string{"resources.yaml"}}
	fs := filesys.MakeFsInMemory()
	for i, p := range patches {
		kp := types.Patch{Path: fmt.Sprintf("patch-%d.yaml", i)}
		if t := p.Target; t != nil {
			kp.Target = &types.Selector{
				ResId:         resid.NewResIdWithNamespace(resid.Gvk{Group: t.Group, Version: t.Version, Kind: t.Kind}, t.Name, t.Namespace),
				LabelSelector: t.LabelSelector,
			}
		}
		if err := fs.WriteFile(kp.Path, []byte(p.Text)); err != nil {
			return nil, err
		}
		k.Patches = append(k.Patches, kp)
	}
	if err := fs.WriteFile("resources.yaml", stream); err != nil {
		return nil, err
	}
	out, err := run(fs, &k, ".")
	if err != nil {
		if len(patches) == 1 {
			return nil, fmt.Errorf("apply patch %s: %w", patches[0].Name, err)
		}
		return nil, fmt.Errorf("apply patches: %w", err)
	}
	return out, nil
}

// Build returns what the kustomization in the folder root yields. files are the folder's, by their
// paths. Everything that it names must be among them: no addresses, no plugins, no helm. Every
// problem is in the error, and then nothing is built. withhold reports whether a value is a
// credential, which the error must not quote.
func Build(root string, files map[string][]byte, withhold func(value string) bool) ([]byte, error) {
	files, err := reachable(root, files, withhold)
	if err != nil {
		return nil, err
	}
	fs := filesys.MakeFsInMemory()
	for name, data := range files {
		if err := fs.WriteFile(name, data); err != nil {
			return nil, fmt.Errorf("%s: kustomize takes no file of this name; rename it: %w", name, err)
		}
	}
	// With a dot in front, no name of a folder is an address (github.com/x/y).
	out, err := run(fs, nil, "./"+root)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", root, err)
	}
	return out, nil
}

func run(fs filesys.FileSystem, k *types.Kustomization, root string) (out []byte, err error) {
	if k != nil {
		k.TypeMeta = types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}
		text, err := yaml.Marshal(k)
		if err != nil {
			return nil, err
		}
		if err := fs.WriteFile("kustomization.yaml", text); err != nil {
			return nil, err
		}
	}
	engine.Lock()
	defer engine.Unlock()
	// A schema that an add-on brings (openapi) would stay for all later runs, and one that is broken is a panic.
	schema := openapi.GetSchemaVersion()
	defer func() {
		if broken := recover(); broken != nil {
			out, err = nil, fmt.Errorf("kustomize: %v", broken)
		}
		if openapi.GetSchemaVersion() != schema {
			openapi.ResetOpenAPI()
		}
	}()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, root)
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}

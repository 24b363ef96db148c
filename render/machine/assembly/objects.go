package assembly

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/addons"
	"kiln.dev/kiln/render/plan"
)

// readObjects fills Objects and Joining. It returns a problem for each add-on that cannot be read,
// for each object whose namespace is missing, whose pods would be refused, or with which the pods'
// network cannot work.
func (r *Cluster) readObjects() (problems config.Problems) {
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; m.Pool {
			for _, j := range r.Public.Joining(m) {
				r.Joining[tokenSecret+r.Bundle.Joined(j).ID] = &j
			}
		}
	}
	r.addon = map[string]int{}
	stream, problems := r.ObjectStream(r.addon, nil)
	if len(problems) > 0 {
		return problems
	}
	var err error
	if r.Objects, err = manifests.Read(stream); err != nil {
		return config.Problems{r.Plan.Config.Problemf("addons", "%s", err)}
	}
	manifests.Sort(r.Objects)
	return r.checkObjects()
}

// ObjectStream returns the objects that the API server receives: kiln's own, then those of the
// add-ons, patched, then the marker. Machines apply them in the order of manifests.Sort. It fills
// from with the index of the add-on that an object comes from, by the object's path in the API.
func (r *Cluster) ObjectStream(
	from map[string]int, watch Watch,
) (stream []byte, problems config.Problems) {
	c := r.Plan.Config
	stream, err := r.patches.Apply(manifests.Objects(r.Plan, r.tokens()), nil, watch)
	if err != nil {
		return nil, config.Problems{c.Problemf("", "objects: %s", err)}
	}
	own, err := manifests.Read(stream)
	if err != nil {
		return nil, config.Problems{c.Problemf("", "objects: %s", err)}
	}
	var all []*addons.Addon
	for i, entry := range c.Spec.Addons {
		field := addons.Field(i)
		a, wrong := addons.Read(c, field, entry.Path)
		if problems = append(problems, wrong...); len(wrong) > 0 {
			continue
		}
		all = append(all, a)
		for _, o := range a.Objects {
			from[o.Path] = i
		}
		stream = manifests.Join(stream, a.Stream)
		watch.Report(plan.Origin{Field: field}, stream)
	}
	if problems = append(problems, addons.Check(c, own, all)...); len(problems) > 0 {
		return nil, problems
	}
	src := manifests.Source{Base: stream, From: plan.Origin{Field: "addons"}}
	stream, err = r.patches.Apply(src, r.patches.ForObjects(), watch)
	if err == nil {
		stream, err = r.patchProxy(stream, watch)
	}
	if err != nil {
		if _, tooMuch := errors.AsType[*patches.TooMuch](err); !tooMuch {
			if wrong := addons.Unusable(c, r.Plan.Release.Minor, all); len(wrong) > 0 {
				return nil, wrong
			}
		}
		return nil, problemsOf(err, c.Problemf("patches", "%s", err))
	}
	if stream, err = r.pin(stream, watch); err != nil {
		return nil, config.Problems{c.Problemf("addons", "%s", err)}
	}
	applied, err := manifests.Read(stream)
	if err != nil {
		return nil, config.Problems{c.Problemf("addons", "%s", err)}
	}
	// Bootstrap tokens come and go.
	applied = slices.DeleteFunc(applied, func(o manifests.Object) bool {
		return r.joining(o) != nil
	})
	marker := manifests.Marker(r.Plan, r.Public.Cluster, manifests.Digest(applied))
	stream = manifests.Join(stream, marker)
	watch.Report(plan.Kiln, stream)
	return stream, nil
}

// tokens returns the bootstrap tokens that the API server accepts.
func (r *Cluster) tokens() (tokens []manifests.BootstrapToken) {
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; m.Pool {
			for _, j := range r.Public.Joining(m) {
				t := r.Bundle.Joined(j)
				tokens = append(tokens, manifests.BootstrapToken{
					Pool: m.Name, ID: t.ID, Secret: t.Secret, Expires: j.Ends,
				})
			}
		}
	}
	return tokens
}

// TokenSecret returns the Secret of the pool's bootstrap token that is in force, as the API server
// is to have it. It returns nil if a patch takes the Secret away.
func (r *Cluster) TokenSecret(pool string) []byte {
	for _, o := range r.Objects {
		j := r.joining(o)
		if j != nil && j.Pool == pool && !j.Previous {
			return o.YAML
		}
	}
	return nil
}

// addObjects adds the API objects that the hook applies, their index, and the labels of the
// machine's own Node.
func (t *tree) addObjects() {
	t.addDir(path.Clean(plan.ObjectsDir), 0o700, "")
	var index strings.Builder
	var shown []string
	for i, o := range t.Objects {
		_, inAPI, secret := t.publicNames(o)
		name := t.ObjectFile(i)
		fmt.Fprintf(&index, "%s\t%s\n", o.Path, name)
		shown = append(shown, name+" is "+inAPI)
		t.n.Files = append(t.n.Files, node.File{
			Path: plan.ObjectsDir + name, Mode: 0o600,
			Content: o.JSON(), Secret: secret, Why: "API object",
		})
	}
	t.n.Files = append(t.n.Files, node.File{
		Path: plan.ObjectsDir + "index", Mode: 0o600, Content: []byte(index.String()), Shown: shown,
		Why: "the objects in the order in which they are applied: path in the API, file",
	})
	t.addFile(plan.KilnDir+"/node.yaml", 0o600,
		string(manifests.JSON(manifests.NodeLabels(t.m.Name))),
		"labels of this machine's Node that only an administrator may set")
}

// tokenSecret is how the name of the Secret of a bootstrap token begins, before the token's ID.
const tokenSecret = "bootstrap-token-"

// ObjectFile returns the name of the file that holds the i-th object. The number makes it unique.
// Unless the object is in kube-system, or in no namespace, its namespace stands before its name,
// and a character between them that no name has.
func (r *Cluster) ObjectFile(i int) string {
	o := r.Objects[i]
	name, _, _ := r.publicNames(o)
	name = fileName(name)
	_, rest, _ := strings.Cut(o.Path, "/namespaces/")
	if namespace, _, ok := strings.Cut(rest, "/"); ok && namespace != "kube-system" {
		name = fileName(namespace) + "_" + name
	}
	return fmt.Sprintf("%03d-%s-%s.yaml", i, strings.ToLower(o.Kind), name)
}

// joining returns the bootstrap token of which an object is the Secret; nil if it is none.
func (r *Cluster) joining(o manifests.Object) *pki.Joining {
	if !o.Secret || o.Namespace != "kube-system" {
		return nil
	}
	return r.Joining[o.Name]
}

// publicNames returns what everybody may read about an object: a name, its path in the API and, if
// its content is a secret, the name of that secret. The Secret of a bootstrap token is named for
// the pool, because the Secret's own name holds half of the token.
func (r *Cluster) publicNames(o manifests.Object) (name, path, secret string) {
	j := r.joining(o)
	switch {
	case !o.Secret:
		return o.Name, o.Path, ""
	case j == nil:
		return o.Name, o.Path, "object " + o.Path
	case j.Previous:
		name = plan.PreviousTokenFile
	default:
		name = plan.TokenFile
	}
	secret = j.Mark()
	return name + j.Pool, manifests.TokenPath(o.Path, secret), secret
}

// fileName returns an object's name as a part of a file's name: the names of RBAC objects hold
// colons, and a file's name has at most 255 bytes.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.':
			return r
		}
		return '-'
	}, name[:min(len(name), 100)])
}

package assembly

import (
	"fmt"
	"path"
	"strings"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/node"
	"kiln/render/plan"
)

// ObjectFile is the name of the i-th object's file.
func (r *Cluster) ObjectFile(i int) string {
	name, _, _ := r.publicNames(r.Objects[i])
	return fmt.Sprintf("%03d-%s-%s.yaml", i, strings.ToLower(r.Objects[i].Kind), fileName(name))
}

// addObjects adds what the API server is to hold, and the labels of the machine's own Node.
func (t *tree) addObjects() {
	t.addDir(path.Clean(plan.ObjectsDir), 0o700, "")
	var index strings.Builder
	var shown []string
	for i, o := range t.Objects {
		_, inAPI, secret := t.publicNames(o)
		name := t.ObjectFile(i)
		fmt.Fprintf(&index, "%s\t%s\n", o.Path, name)
		shown = append(shown, name+" is "+inAPI)
		t.n.Files = append(t.n.Files, node.File{Path: plan.ObjectsDir + name, Mode: 0o600, Content: o.YAML, Secret: secret, Why: "API object"})
	}
	t.n.Files = append(t.n.Files, node.File{
		Path: plan.ObjectsDir + "index", Mode: 0o600, Content: []byte(index.String()), Shown: shown,
		Why: "the objects in the order in which they are applied: path in the API, file",
	})
	t.addFile(plan.KilnDir+"/node.yaml", 0o600, string(manifests.NodeLabels(t.m.Name)), "labels of this machine's Node that only an administrator may set")
}

// publicNames returns what everybody may know of an object: a name, its path in the API and, if its content is a secret, what that
// is called. The name of a bootstrap token's Secret holds half of the token; it is called by the machine that joins with it.
func (r *Cluster) publicNames(o manifests.Object) (name, path, secret string) {
	m := r.Joining[o.Name]
	switch {
	case !o.Secret:
		return o.Name, o.Path, ""
	case m == nil || o.Namespace != "kube-system":
		return o.Name, o.Path, "object " + o.Path
	}
	secret = r.Public.Mark(pki.TokenName(m))
	name = NodeTokenFile + m.Name
	if m.Pool {
		name = PoolTokenFile + m.Name
	}
	return name, strings.TrimSuffix(o.Path, o.Name) + "bootstrap-token-<id of " + secret + ">", secret
}

// The Secret of a bootstrap token is in a file of this name, in front of the name of the pool or machine.
const (
	PoolTokenFile = "bootstrap-token-"
	NodeTokenFile = "node-bootstrap-token-" // #nosec G101 -- the beginning of a file's name
)

// fileName makes an object's name fit for a file: RBAC names hold colons, and a file's name ends at 255 bytes. The number
// before it makes it unique.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, name[:min(len(name), 100)])
}

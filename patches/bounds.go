package patches

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/types"

	"kiln/render/quantity"
	"kiln/render/yamlfault"
)

// maxCopied is how many bytes all "copy" operations of one JSON6902 patch may add. Each of them may
// double the object.
const maxCopied = 4 << 20

// maxAdded is how many bytes several patches may add. Each is applied to what the ones before have
// made.
const maxAdded = 1 << 20

// MaxObjects is how many objects all add-ons may have together. kustomize compares each object with
// each, and the first boot applies them one by one. A document with more of them would be too large
// for nearly every platform.
const MaxObjects = 1000

// parts are what a kustomization puts together.
type parts struct {
	own     int      // objects in files and of generators
	folders []string // with kustomizations, each as often as it is named
}

// noteSize notes the parts of a kustomization.
func (p place) noteSize(k *types.Kustomization) {
	is := parts{own: len(k.ConfigMapGenerator) + len(k.SecretGenerator)}
	//lint:ignore SA1019 kustomize still does what the field says
	for _, value := range slices.Concat(k.Resources, k.Bases, k.Components) {
		name := p.inside(value)
		if text, ok := p.files[name]; ok {
			p.addResource(name)
			is.own += 1 + bytes.Count(text, []byte("\n---"))
		} else {
			is.folders = append(is.folders, name)
		}
	}
	p.parts[p.dir] = is
}

// size returns about how many objects kustomize makes of a folder, and MaxObjects+1 if they are
// more. Folders that name each other twice double their objects with every level.
func (r *reader) size(dir string) int {
	is := r.parts[dir]
	n := max(is.own, 1)
	r.parts[dir] = parts{} // a circle ends here; kustomize refuses it
	for _, below := range is.folders {
		n = min(n+r.size(below), MaxObjects+1)
	}
	r.parts[dir] = parts{own: n}
	return n
}

// maxDepth is how deep the values of a document may lie in each other. The most deeply nested
// definitions of custom resources in use have some 60 levels. YAML is written with an indentation,
// so that its size grows with the square of the depth: 3,000 levels of 50 bytes are 50 MB, and etcd
// takes 1.5 MiB.
const maxDepth = 200

// CheckBounds fails at the first value of a stream that takes too long to read, with its line and
// column: values that lie too deep in each other, and a tiny number. It finds nothing in what is
// not YAML.
func CheckBounds(stream []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(stream))
	for {
		var root yaml.Node
		if decoder.Decode(&root) != nil {
			return nil
		}
		deep := &depths{of: map[*yaml.Node]int{}}
		levels := deep.measure(&root)
		if n := deep.endless; n != nil {
			return fmt.Errorf("%d:%d: a number with so many digits, or so small an exponent, is "+
				"none that Kubernetes can read; write a quantity like 500m", n.Line, n.Column)
		}
		if levels > maxDepth {
			return fmt.Errorf("%d:%d: more than %d levels lie in each other here; "+
				"no object of Kubernetes needs that many", deep.at.Line, deep.at.Column, maxDepth)
		}
	}
}

// depths measures how deep the values of a document lie in each other.
type depths struct {
	of      map[*yaml.Node]int // of the nodes that were measured
	at      *yaml.Node         // the first that has too many levels below it
	endless *yaml.Node         // the last number that takes too long to read
}

// measure returns how many levels a node has. An alias counts as what it names, once: a circle is
// another mistake, and ends here.
func (d *depths) measure(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if known, ok := d.of[n]; ok {
		return known
	}
	d.of[n] = 0
	if n.Kind == yaml.ScalarNode && quantity.IsEndless(n.Value) {
		d.endless = n
	}
	most := 0
	for _, below := range n.Content {
		most = max(most, d.measure(below))
	}
	d.of[n] = most + 1
	if most+1 > maxDepth && d.at == nil {
		d.at = n
	}
	return most + 1
}

func init() { jsonpatch.AccumulatedCopySizeLimit = maxCopied }

// checkAliases fails if the aliases in a YAML file lead in a circle, or expand to far more than the
// file: kustomize follows them without a limit. It fails on YAML that cannot be parsed too.
func checkAliases(text []byte) error {
	if !bytes.ContainsRune(text, '*') {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var whole any
		err := decoder.Decode(&whole)
		var mistyped *yaml.TypeError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &mistyped):
		case err != nil:
			return fmt.Errorf("not YAML: %s", yamlfault.Message(err))
		}
	}
}

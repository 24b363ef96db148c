package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

type source struct {
	path    string                       // as the user named it
	root    *yaml.Node                   // the map of the document
	texts   map[string][]byte            // by clean slash path
	folders map[string]map[string][]byte // by clean slash path of the folder
	marked  []string                     // clean slash paths of files that a field calls secret
}

// name returns the base name of the file. It is the same wherever kiln runs.
func (s *source) name() string { return path.Base(s.path) }

// Text returns the content of a file that cluster.yaml names (contentFrom, patchFrom, the path of
// an add-on, …), nil if it names no such file. The path is as in cluster.yaml. The bytes must not
// be changed.
func (c *Cluster) Text(path string) []byte {
	if c.source == nil {
		return nil
	}
	return c.source.texts[cleanPath(path)]
}

// SecretFiles returns the paths of the files that were read and that a field of cluster.yaml calls
// secret: secret: true, or the key for an external etcd. They are relative to the folder of
// cluster.yaml, in the order in which they were read.
func (c *Cluster) SecretFiles() []string {
	if c.source == nil {
		return nil
	}
	return c.source.marked
}

// Folder returns the files of an add-on's folder by slash paths, nil for another. Change nothing.
func (c *Cluster) Folder(path string) map[string][]byte {
	if c.source == nil {
		return nil
	}
	return c.source.folders[cleanPath(path)]
}

// Mentions returns how many values of cluster.yaml, and files beside it, have a text in them.
func (c *Cluster) Mentions(text string) (n int) {
	if c.source == nil {
		return 0
	}
	count := func(content string) {
		if strings.Contains(content, text) {
			n++
		}
	}
	var walk func(*yaml.Node)
	walk = func(node *yaml.Node) {
		if node.Kind == yaml.ScalarNode {
			count(node.Value)
		}
		for _, child := range node.Content {
			walk(child)
		}
	}
	walk(c.source.root)
	for _, content := range c.source.texts {
		count(string(content))
	}
	for _, folder := range c.source.folders {
		for _, content := range folder {
			count(string(content))
		}
	}
	return n
}

func cleanPath(name string) string { return path.Clean(name) }

// Problemf returns a problem of a field, for the stages after Parse. The path is as messages have
// it: nodes[2].addresses[0], without "spec.". A field that the file does not have, because it is
// missing or a default, gets the line of the nearest field around it.
func (c *Cluster) Problemf(path, format string, args ...any) Problem {
	p := Problem{Path: path, Message: fmt.Sprintf(format, args...)}
	if c.source != nil {
		p.File = c.source.path
		p.Line, p.Column = yamltext.Position(c.source.root, locate(c.source.root, path))
	}
	return p
}

// layer is the settings of machines in one place of the file, with the patches there.
type layer struct {
	*Machine
	role          string // of the machines, or layerAll
	patches       []Patch
	at, patchesAt *yamltext.Location
}

// written returns the layers that the file may have, the narrowest last.
func (c *Cluster) written() []layer {
	_, at := locations()
	s, cp, workers := &c.Spec, at.Key("controlPlane"), at.Key("workers")
	layers := []layer{
		{&s.Machines, layerAll, s.Patches, at.Key("machines"), at.Key("patches")},
		{&s.ControlPlane.Machines, roleControlPlane, s.ControlPlane.Patches, cp.Key("machines"),
			cp.Key("patches")},
		{&s.ControlPlane.Etcd.Machines, roleEtcd, nil, cp.Key("etcd").Key("machines"), nil},
		{&s.Workers.Machines, roleWorker, s.Workers.Patches, workers.Key("machines"),
			workers.Key("patches")},
	}
	for i := range s.Nodes {
		n, here := &s.Nodes[i], at.Key("nodes").Index(i)
		layers = append(layers, layer{&n.Machine, n.Role, n.Patches, here, here.Key("patches")})
	}
	for i := range s.Pools {
		p, here := &s.Pools[i], at.Key("pools").Index(i)
		layers = append(layers, layer{&p.Machine, roleWorker, p.Patches, here, here.Key("patches")})
	}
	return layers
}

var outsideSpec = []string{"apiVersion", "kind", "metadata"}

// locations returns the location of the whole file and that of its spec. No path has the key spec
// in front of the fields below it.
func locations() (root, spec *yamltext.Location) {
	root = &yamltext.Location{}
	return root, root.Key("spec").Omit()
}

func inSpec(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return !slices.Contains(outsideSpec, first)
}

func locate(document *yaml.Node, path string) *yamltext.Location {
	root, spec := locations()
	if inSpec(path) {
		return yamltext.Locate(document, spec, path)
	}
	return yamltext.Locate(document, root, path)
}

package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/kube/kinds"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Given is a value that one source gave.
type Given struct {
	Value  any   `json:"value"`
	Absent bool  `json:"absent,omitempty"` // the source took the value away
	Place  Place `json:"place"`
}

// Setting is a value and its sources.
type Setting struct {
	Path string `json:"path"`
	// Given lists the sources of the value, winner first, then those it overrode, newest first.
	// It is empty if the value is not set.
	Given []Given `json:"given"`
}

// String returns the setting for people: the value, and a line for each source.
func (s Setting) String() string {
	var b strings.Builder
	if len(s.Given) == 0 {
		b.WriteString(s.Path + ": not set\n")
		for _, field := range []string{s.Path, "machines." + s.Path} {
			if _, ok := Field(field); ok {
				fmt.Fprintf(&b, "  no layer sets it; kiln explain %s says what that means\n",
					withoutIndices(field))
			}
		}
		if field, ok := strings.CutPrefix(s.Path, kubeletKey); ok {
			fmt.Fprintf(&b, "  no layer sets it; the machine has what "+
				"/var/lib/kubelet/config.yaml says of %s, and else the kubelet's own default\n",
				field)
		}
		return b.String()
	}
	for i, g := range s.Given {
		verb, value := "set", onOneLine(g.Value)
		if g.Absent {
			verb, value = "removed", "not set"
		}
		if i == 0 {
			fmt.Fprintf(&b, "%s: %s\n  %s by %s\n", s.Path, value, verb, g.Place)
		} else {
			fmt.Fprintf(&b, "  before: %s by %s\n", value, g.Place)
		}
	}
	return b.String()
}

func onOneLine(value any) string {
	if s, ok := value.(string); ok && !strings.Contains(s, "\n") {
		if out, err := yaml.Marshal(s); err == nil {
			return strings.TrimSuffix(string(out), "\n")
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Sprint(value) // it has a key that is not a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Explain returns the value of a machine's setting, or of a field of the whole cluster, with its
// sources: the layer that won, then the wider ones that it overrode. Layers merge maps key by key,
// so a map yields a setting for each value in it. machine is the name of a node or pool. path is
// written as below machines, or as in messages, which name a layer before it. The error is a
// *wording.Unknown if there is no such machine or field.
func (c *Cluster) Explain(machine, path string) ([]Setting, error) {
	e, entry, err := c.entry(machine)
	if err != nil {
		return nil, err
	}
	path = strings.TrimPrefix(path, "spec.")
	below := strings.TrimPrefix(path, layerPath.FindString(path))
	own := strings.HasPrefix(path, "nodes.") || strings.HasPrefix(path, "pools.")
	if key := firstKey(below); structs[machineType].byName[key] != nil ||
		own && structs[entryType(entry)].byName[key] != nil {
		path = below
	}
	first := firstKey(path)
	has := func(t reflect.Type) bool { return structs[t].byName[first] != nil }
	switch {
	case has(machineType):
		return c.machineSetting(e, first, path)
	case has(reflect.TypeFor[Spec]()), has(reflect.TypeFor[Cluster]()):
		return c.clusterField(path)
	case has(entryType(entry)):
		return c.clusterField(entry + "." + path)
	}
	known := append(asDocument(c).Names(), keysOf(reflect.TypeFor[Spec]())...)
	known = append(append(known, keysOf(machineType)...), keysOf(entryType(entry))...)
	return nil, wording.NoSuch(first, known,
		"%q is neither a setting of a machine nor a field of cluster.yaml", path)
}

// layerPath matches the path of a layer before that of a setting, as messages show both.
var layerPath = regexp.MustCompile(
	`^((controlPlane\.|controlPlane\.etcd\.|workers\.)?machines|(nodes|pools)(\[\d+\])?)\.`)

func firstKey(path string) string {
	if i := strings.IndexAny(path, ".["); i > 0 {
		return path[:i]
	}
	return path
}

func (c *Cluster) entry(machine string) (*Effective, string, error) {
	var names []string
	for i := range c.Spec.Nodes {
		if c.Spec.Nodes[i].Name == machine {
			return c.EffectiveNode(i), fmt.Sprintf("nodes[%d]", i), nil
		}
		names = append(names, c.Spec.Nodes[i].Name)
	}
	for i := range c.Spec.Pools {
		if c.Spec.Pools[i].Name == machine {
			return c.EffectivePool(i), fmt.Sprintf("pools[%d]", i), nil
		}
		names = append(names, c.Spec.Pools[i].Name)
	}
	return nil, "", wording.NoSuch(machine, names, "there is no node or pool %q", machine)
}

func entryType(entry string) reflect.Type {
	if strings.HasPrefix(entry, "pools") {
		return reflect.TypeFor[Pool]()
	}
	return reflect.TypeFor[Node]()
}

func asDocument(v any) yamltext.Document {
	text, err := json.Marshal(v)
	if err != nil {
		panic("config: a configuration cannot be written: " + err.Error())
	}
	return yamltext.Documents(text)[0]
}

// clusterField explains a field that no layer overrides, each value of a map by itself.
func (c *Cluster) clusterField(path string) ([]Setting, error) {
	root := c.source.root
	written, effective := yamltext.NewDocument(root), asDocument(c)
	if inSpec(path) {
		written, _ = written.Member("spec")
		effective, _ = effective.Member("spec")
	}
	p, err := effective.Path(path)
	if p == nil {
		// The file may set a zero value, which the effective document leaves out.
		effective = written
		p, _ = effective.Path(path)
	}
	if p == nil {
		if _, known := Field(path); known {
			return []Setting{{Path: path}}, nil
		}
		return nil, err
	}
	var out []Setting
	for _, leaf := range effective.Leaves(p) {
		value, ok := written.Value(leaf)
		if !ok {
			value, _ = effective.Value(leaf)
		}
		if m, isMap := value.(map[string]any); !ok && isMap && len(m) == 0 {
			continue // nothing is set below it
		}
		field := path + strings.TrimPrefix(leaf.String(), p.String())
		given := Given{Value: value, Place: c.Place(field, "", nil)}
		out = append(out, Setting{field, []Given{given}})
	}
	if len(out) == 0 {
		out = []Setting{{Path: path}}
	}
	return out, nil
}

// machineSetting explains a setting that the layers make together.
func (c *Cluster) machineSetting(e *Effective, name, path string) ([]Setting, error) {
	t := machineType.FieldByIndex(structs[machineType].byName[name].index).Type
	merges := t == freeMapType || t == stringsType
	effective := asDocument(e.Machine)
	layers := e.Layers()
	docs := make([]yamltext.Document, len(layers))
	for i, layer := range layers {
		docs[i] = c.layerDocument(layer)
	}
	p, err := effective.Path(path)
	// A value that the machine does not have may be in a layer that a narrower one overrode.
	for i := len(docs) - 1; i >= 0 && p == nil; i-- {
		p, _ = docs[i].Path(path)
	}
	if p == nil {
		if unknown := c.unknownKubeletField(e, path); unknown != nil {
			return nil, unknown
		}
		if _, known := Field("machines." + path); known || merges && err.Nearest == "" {
			return []Setting{{Path: path}}, nil
		}
		return nil, err
	}
	paths := []yamltext.Path{p}
	if merges {
		if leaves := effective.Leaves(p); len(leaves) > 0 {
			paths = leaves
		}
	}
	var out []Setting
	for _, p := range paths {
		s := Setting{Path: p.String()}
		for i, layer := range slices.Backward(layers) {
			if !layer.Sets(name) {
				continue
			}
			value, ok := docs[i].Value(p)
			if merges && !ok && !docs[i].Blocks(p) {
				continue // the layer neither sets this key nor takes it away
			}
			place := c.layerPlace(layer, name, p)
			s.Given = append(s.Given, Given{Value: value, Absent: !ok, Place: place})
		}
		out = append(out, s)
	}
	return out, nil
}

func (c *Cluster) layerDocument(layer *Effective) yamltext.Document {
	if layer.Layer != layerDefault && c.source != nil {
		at := locate(c.source.root, layer.Layer)
		if n, _ := yamltext.Find(c.source.root, at); n != nil {
			return yamltext.NewDocument(n)
		}
	}
	return asDocument(layer.own)
}

// layerPlace returns the place of a value in one layer. p begins with the name of its field.
func (c *Cluster) layerPlace(layer *Effective, name string, p yamltext.Path) Place {
	place := c.Place(layer.At(name), "", p[1:])
	place.Field = layer.At(p.String())
	return place
}

// kubeletKey begins the paths of settings that are fields of KubeletConfiguration.
const kubeletKey = "kubelet."

// unknownKubeletField returns the error about a path below kubelet that the KubeletConfiguration of
// a machine does not have, or nil. Elements of lists and keys of its free maps are not looked at.
func (c *Cluster) unknownKubeletField(e *Effective, path string) *wording.Unknown {
	rest, ok := strings.CutPrefix(path, kubeletKey)
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "[")
	unknown := kinds.New(c.KubeletMinor(e)).
		Unknown(kubeletAPI, kubeletKind, strings.Split(rest, "."))
	if unknown != nil {
		unknown.Message = path + ": " + unknown.Message
	}
	return unknown
}

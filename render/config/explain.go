package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln/render/suggest"
	"kiln/render/yamlpath"
)

// Place is who decides about a value, and where that is written.
type Place struct {
	File   string `json:"file,omitempty"` // of the user's, or of kiln's source; empty if it is written nowhere
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Field  string `json:"field,omitempty"` // of the configuration
	By     string `json:"by,omitempty"`    // the part of kiln; empty if the field alone decides
}

// String returns the place on one line: cluster.yaml:31:9 nodes[3].kubelet.
func (p Place) String() string {
	if p.File == "" {
		if p.Field == "" {
			return p.By
		}
		return fmt.Sprintf("%s (%s)", p.By, p.Field)
	}
	at := p.File
	for _, n := range []int{p.Line, p.Column} {
		if n == 0 {
			break
		}
		at += fmt.Sprintf(":%d", n)
	}
	if p.Field != "" {
		at += " " + p.Field
	}
	if p.By != "" {
		at += " (" + p.By + ")"
	}
	return at
}

// Said says that the place is more than the default of a field.
func (p Place) Said() bool { return p.File != "" || p.By != byDefault }

// byDefault is the part of kiln that stands in for what the configuration does not say.
const byDefault = "default of kiln"

// Place returns where a field stands and, as far as a path leads on from there, where the value at that path does. A field that the
// configuration does not have has its default. by is the part of kiln behind the field, if there is one.
func (c *Cluster) Place(field, by string, below yamlpath.Path) Place {
	p := Place{Field: field, By: by}
	if c.source == nil {
		return p
	}
	at := parseWhere(c.source.root, field)
	n, _ := find(c.source.root, at)
	if n == nil {
		p.By = byDefault
		if by != "" {
			p.By = by + ", " + byDefault
		}
		return p
	}
	p.File = c.source.name
	p.Line, p.Column = position(c.source.root, at)
	if line, column, steps := yamlpath.NewDocument(n).Position(below); steps > 0 {
		p.Line, p.Column = line, column
	}
	return p
}

// Has says whether the configuration has a field.
func (c *Cluster) Has(field string) bool {
	return c.source != nil && c.Place(field, "", nil).File != ""
}

// TextPlace returns where a line of a text stands that an entry of the configuration holds under the key inline, or names under the
// key from. Line 0 is the text as a whole. Only of a block that is written line by line (|) is the line known.
func (c *Cluster) TextPlace(entry, inline, from string, line, column int) Place {
	if c.source == nil {
		return Place{Field: entry}
	}
	if n, _ := find(c.source.root, parseWhere(c.source.root, entry+"."+from)); n != nil {
		return Place{File: n.Value, Line: line, Column: column, Field: entry}
	}
	p := c.Place(entry+"."+inline, "", nil)
	p.Field = entry
	if n, _ := find(c.source.root, parseWhere(c.source.root, entry+"."+inline)); n != nil && line > 0 && n.Style&yaml.LiteralStyle != 0 {
		p.Line, p.Column = n.Line+line, 0
	}
	return p
}

// Given is a value that somebody gave.
type Given struct {
	Value  any   `json:"value"`
	Absent bool  `json:"absent,omitempty"` // it was taken away, or left out of what replaced it
	Place  Place `json:"place"`
}

// Setting is a value and who gave it.
type Setting struct {
	Path string `json:"path"`
	// Given is who gave the value and, after it, whose values it replaced, the last one first. Nobody gave a value that is not set.
	Given []Given `json:"given"`
}

// String returns the setting for people: the value, and a line for each who gave one.
func (s Setting) String() string {
	var b strings.Builder
	if len(s.Given) == 0 {
		b.WriteString(s.Path + ": not set\n")
		for _, field := range []string{s.Path, "machines." + s.Path} {
			if _, ok := Field(field); ok {
				fmt.Fprintf(&b, "  nobody sets it; what that means: kiln explain %s\n", withoutIndices(field))
			}
		}
		return b.String()
	}
	for i, g := range s.Given {
		verb, value := "set", Text(g.Value)
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

// Text writes a value as YAML on one line.
func Text(value any) string {
	if text, ok := value.(string); ok && !strings.Contains(text, "\n") {
		if out, err := yaml.Marshal(text); err == nil {
			return strings.TrimSuffix(string(out), "\n")
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Sprint(value) // a key that is no text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Explain returns what a setting of a machine, or a field of the whole cluster, is and who gave it: the layer that won, then the wider ones
// whose values it replaced. Of a mapping, whose keys the layers merge, each value is told by itself. machine is the name of a node or pool,
// path is written as below machines or as in messages. A *suggest.Unknown says that there is no such machine or field.
func (c *Cluster) Explain(machine, path string) ([]Setting, error) {
	e, entry, err := c.entry(machine)
	if err != nil {
		return nil, err
	}
	path = strings.TrimPrefix(path, "spec.")
	first := path
	if i := strings.IndexAny(path, ".["); i > 0 {
		first = path[:i]
	}
	switch {
	case structs[machineType].byName[first] != nil:
		return c.machineSetting(&e, first, path)
	case structs[reflect.TypeFor[Spec]()].byName[first] != nil, structs[reflect.TypeFor[Cluster]()].byName[first] != nil:
		return c.clusterField(path)
	case structs[c.entryType(entry)].byName[first] != nil:
		return c.clusterField(entry + "." + path)
	}
	known := append(asDocument(c).Names(), keysOf(reflect.TypeFor[Spec]())...)
	known = append(append(known, keysOf(machineType)...), keysOf(c.entryType(entry))...)
	return nil, suggest.NoSuch(first, known, "%q is neither a setting of a machine nor a field of cluster.yaml", path)
}

// entry returns the settings of a machine and the path of its entry.
func (c *Cluster) entry(machine string) (Effective, string, error) {
	var all []string
	for i := range c.Spec.Nodes {
		if c.Spec.Nodes[i].Name == machine {
			return c.EffectiveNode(i), fmt.Sprintf("nodes[%d]", i), nil
		}
		all = append(all, c.Spec.Nodes[i].Name)
	}
	for i := range c.Spec.Pools {
		if c.Spec.Pools[i].Name == machine {
			return c.EffectivePool(i), fmt.Sprintf("pools[%d]", i), nil
		}
		all = append(all, c.Spec.Pools[i].Name)
	}
	return Effective{}, "", suggest.NoSuch(machine, all, "there is no node or pool %q", machine)
}

func (c *Cluster) entryType(entry string) reflect.Type {
	if strings.HasPrefix(entry, "pools") {
		return reflect.TypeFor[Pool]()
	}
	return reflect.TypeFor[Node]()
}

// asDocument is a value of ours as a document.
func asDocument(v any) yamlpath.Document {
	text, err := json.Marshal(v)
	if err != nil {
		panic("config: a configuration cannot be written: " + err.Error())
	}
	return yamlpath.Documents(text)[0]
}

// clusterField explains a field that no layer overrides; of a mapping, each value in it.
func (c *Cluster) clusterField(path string) ([]Setting, error) {
	root := c.source.root
	written, effective := yamlpath.NewDocument(root), asDocument(c)
	if parseWhere(root, path).inSpec() {
		written, _ = written.Member("spec")
		effective, _ = effective.Member("spec")
	}
	p, err := effective.Path(path)
	if p == nil {
		// A zero may stand in the file.
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
	for _, each := range effective.Leaves(p) {
		value, ok := written.Value(each)
		if !ok {
			value, _ = effective.Value(each)
		}
		if object, isObject := value.(map[string]any); !ok && isObject && len(object) == 0 {
			continue // nothing is set below it
		}
		field := path + strings.TrimPrefix(each.String(), p.String())
		out = append(out, Setting{field, []Given{{Value: value, Place: c.Place(field, "", nil)}}})
	}
	if len(out) == 0 {
		out = []Setting{{Path: path}}
	}
	return out, nil
}

// inSpec says that a place is below spec.
func (w *where) inSpec() bool {
	for ; w != nil; w = w.up {
		if w.hidden {
			return true
		}
	}
	return false
}

// machineSetting explains a setting that the layers make together. Of a mapping the layers merge the keys, everything else they replace.
func (c *Cluster) machineSetting(e *Effective, name, path string) ([]Setting, error) {
	t := machineType.FieldByIndex(structs[machineType].byName[name].index).Type
	merges := t == freeMapType || t == stringsType
	doc := asDocument(e.Machine)
	layers := e.Layers()
	docs := make([]yamlpath.Document, len(layers))
	for i, layer := range layers {
		docs[i] = c.layerDocument(layer)
	}
	p, err := doc.Path(path)
	// What the machine does not have may stand in a layer that a narrower one replaced.
	for i := len(docs) - 1; i >= 0 && p == nil; i-- {
		p, _ = docs[i].Path(path)
	}
	if p == nil {
		if _, known := Field("machines." + path); known || merges && err.Nearest == "" {
			return []Setting{{Path: path}}, nil
		}
		return nil, err
	}
	paths := []yamlpath.Path{p}
	if merges {
		if each := doc.Leaves(p); len(each) > 0 {
			paths = each
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
				continue // it says nothing of this key
			}
			s.Given = append(s.Given, Given{Value: value, Absent: !ok, Place: c.layerPlace(layer, name, p)})
		}
		out = append(out, s)
	}
	return out, nil
}

// layerDocument is what a layer says, as the configuration has it.
func (c *Cluster) layerDocument(layer *Effective) yamlpath.Document {
	if layer.Layer != layerDefault && c.source != nil {
		if n, _ := find(c.source.root, parseWhere(c.source.root, layer.Layer)); n != nil {
			return yamlpath.NewDocument(n)
		}
	}
	return asDocument(layer.own)
}

// layerPlace is where a layer says something of the value at a path, which begins with a field's name.
func (c *Cluster) layerPlace(layer *Effective, name string, p yamlpath.Path) Place {
	place := c.Place(layer.At(name), "", p[1:])
	place.Field = layer.At(p.String())
	return place
}

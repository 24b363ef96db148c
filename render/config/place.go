package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// Place is the source of a value: a file, a field, or the part of kiln that decides.
type Place struct {
	File   string `json:"file,omitempty"` // of the user or of kiln's source; "" if it is in no file
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Field  string `json:"field,omitempty"` // of the configuration
	By     string `json:"by,omitempty"`    // the part of kiln; "" if the field alone decides
}

// byDefault is the part of kiln that decides about values that the configuration does not set.
const byDefault = "default of kiln"

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

// IsDefault reports whether the value is the default of a field, which nothing sets.
func (p Place) IsDefault() bool { return p.File == "" && p.By == byDefault }

// Place returns the place of a field and, as far as the path below leads on from there, the place
// of the value at that path. A field that the configuration does not have has its default. by is
// the part of kiln that makes something of the field, "" if there is none.
func (c *Cluster) Place(field, by string, below yamltext.Path) Place {
	p := Place{Field: field, By: by}
	if c.source == nil {
		return p
	}
	at := locate(c.source.root, field)
	n, _ := yamltext.Find(c.source.root, at)
	if n == nil {
		p.By = byDefault
		if by != "" {
			p.By = by + ", " + byDefault
		}
		return p
	}
	p.File = c.source.name()
	p.Line, p.Column = yamltext.Position(c.source.root, at)
	if line, column, steps := yamltext.NewDocument(n).Position(below); steps > 0 {
		p.Line, p.Column = line, column
	}
	return p
}

// MessagePlace returns a place for a message: a place in the configuration has the path that the
// user gave, so that an editor finds it. Reports and review twins keep the base name, because they
// must not depend on the folder in which kiln runs.
func (c *Cluster) MessagePlace(p Place) Place {
	if c.source != nil && p.File == c.source.name() {
		p.File = c.source.path
	}
	return p
}

// Has reports whether the configuration has a field.
func (c *Cluster) Has(field string) bool {
	return c.source != nil && c.Place(field, "", nil).File != ""
}

// TextPlace returns the place of one line of a text that an entry of the configuration gives inline
// or by file name, under the keys inline and from. Line 0 is the text as a whole. Inline, only the
// lines of a literal block (|) are known; other texts have the place of their key.
func (c *Cluster) TextPlace(entry, inline, from string, line, column int) Place {
	if c.source == nil {
		return Place{Field: entry}
	}
	if n, _ := yamltext.Find(c.source.root, locate(c.source.root, entry+"."+from)); n != nil {
		return Place{File: n.Value, Line: line, Column: column, Field: entry}
	}
	p := c.Place(entry+"."+inline, "", nil)
	p.Field = entry
	n, _ := yamltext.Find(c.source.root, locate(c.source.root, entry+"."+inline))
	if n != nil && line > 0 && n.Style&yaml.LiteralStyle != 0 {
		p.Line, p.Column = n.Line+line, 0
	}
	return p
}

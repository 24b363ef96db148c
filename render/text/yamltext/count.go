package yamltext

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/wording"
)

// size is what a node is with its aliases expanded.
type size struct {
	values, bytes int64
	levels        int
	open          bool // its children are being counted
}

// most is where numbers of values and bytes end: aliases of aliases soon stand for more than an
// int64 can count.
const most = 1 << 40

func (s *size) add(below size) {
	s.values = min(s.values+below.values, most)
	s.bytes = min(s.bytes+below.bytes, most)
	s.levels = max(s.levels, below.levels+1)
}

type count struct {
	use    Use
	sizes  map[*yaml.Node]size // of the nodes that are named by anchors
	added  size                // what the aliases stand for, all together
	plain  int                 // values that stand in the document itself
	excess *Excess             // the first
}

// node returns the size of a node. It stops at the first excess.
func (c *count) node(n *yaml.Node) (s size) {
	if c.excess != nil {
		return s
	}
	if n.Kind == yaml.AliasNode {
		return c.alias(n)
	}
	s = size{values: 1, bytes: int64(len(n.Value)), levels: 1}
	if n.Anchor != "" {
		c.sizes[n] = size{open: true}
	}
	maps := 0
	for i, child := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if !isKey {
			c.plain++
		}
		below := c.node(child)
		if isKey {
			below.values--
		}
		s.add(below)
		if child.Kind == yaml.MappingNode {
			maps++
		}
	}
	if n.Anchor != "" {
		c.sizes[n] = s
	}
	switch {
	case c.excess != nil:
	case n.Kind == yaml.ScalarNode && wording.IsEndlessQuantity(n.Value):
		c.report(n, "a number with so many digits, or so small an exponent, is none that "+
			"Kubernetes can read; write a quantity like 500m")
	case s.levels > c.use.Levels:
		c.report(n, "%s", c.use.levelsMessage())
	case n.Kind == yaml.SequenceNode && c.use.Elements > 0 && maps > c.use.Elements:
		c.report(n, "a list of %d maps; kustomize compares each of them with each; at most %d",
			maps, c.use.Elements)
	case n.Kind == yaml.MappingNode && c.use.Keys > 0 && len(n.Content)/2 > c.use.Keys:
		c.report(n, "a map of %d keys; kustomize compares each of them with each; at most %d; "+
			"divide it", len(n.Content)/2, c.use.Keys)
	case c.plain > c.use.Values:
		c.report(n, "more than %d values stand in the document; "+
			"divide it, or write long data as one string", c.use.Values)
	}
	return s
}

// alias returns the size of what an alias stands for.
func (c *count) alias(n *yaml.Node) size {
	s := c.sizes[n.Alias]
	if s.open {
		c.report(n, "an alias stands for a value that contains itself; write the value out")
		return size{}
	}
	c.added.add(s)
	switch {
	case c.use.Added == 0:
		c.report(n, "an alias; write the value in its place")
	case c.added.values > int64(c.use.Values):
		c.report(n, "aliases stand for %d values up to here; at most %d; "+
			"write the values out, and leave out what is not needed", c.added.values, c.use.Values)
	case c.added.bytes > int64(c.use.Added):
		c.report(n, "aliases stand for %d bytes up to here; at most %d; "+
			"write the values out, and leave out what is not needed", c.added.bytes, c.use.Added)
	}
	return s
}

func (c *count) report(n *yaml.Node, format string, args ...any) {
	c.excess = &Excess{n.Line, n.Column, fmt.Sprintf(format, args...)}
}

package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kiln/render/layout"
	"kiln/render/node"
	"kiln/render/plan"
)

// Part is a kind of files of a machine, with its share of the document.
type Part struct {
	Name  string
	Files int
	Bytes int // by how much the compressed document would shrink without these files
}

const restPart = "rest"

// partOf returns the name of the part that f belongs to: the user's own files, the part that the
// table of files gives, or else keys, certificates and the rest.
func partOf(f *node.File) string {
	if f.Why == "" || f.Why == node.FromConfig {
		return node.FromConfig
	}
	if row := layout.Of(f.Path); row != nil && row.Part != "" {
		return row.Part
	}
	switch {
	case f.Secret != "":
		return "keys"
	case strings.HasSuffix(f.Path, ".crt"):
		return "certificates"
	}
	return restPart
}

// Budget returns the share of each part of n in m's compressed document, the largest first. The
// sizes are estimates: they come from a quick compression, and parts share what they have in
// common. It fails if the format cannot express n.
func Budget(m *plan.Machine, n *node.Node) ([]Part, error) {
	whole, err := compressedSize(m, n)
	if err != nil {
		return nil, err
	}
	var budget []Part
	for i := range n.Files {
		name := partOf(&n.Files[i])
		at := slices.IndexFunc(budget, func(p Part) bool { return p.Name == name })
		if at < 0 {
			at, budget = len(budget), append(budget, Part{Name: name})
		}
		budget[at].Files++
	}
	for i := range budget {
		isOfPart := func(f node.File) bool { return partOf(&f) == budget[i].Name }
		without := *n
		without.Files = slices.DeleteFunc(slices.Clone(n.Files), isOfPart)
		size, err := compressedSize(m, &without)
		if err != nil {
			return nil, err
		}
		budget[i].Bytes = whole - size
	}
	slices.SortStableFunc(budget, func(a, b Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return budget, nil
}

// compressedSize returns the size of m's document for n after a quick compression, in bytes.
func compressedSize(m *plan.Machine, n *node.Node) (int, error) {
	plain, err := envelope(m, n, 0)
	if err != nil {
		return 0, err
	}
	doc, err := envelope(m, n, len(plain)-1)
	return len(doc), err
}

// sizeError returns the error for a document that is larger than its platform accepts. It has the
// share of each part, and what helps.
func sizeError(m *plan.Machine, n *node.Node, size int) error {
	shares := ""
	if budget, err := Budget(m, n); err == nil && len(budget) > 0 {
		var list []string
		for _, p := range budget {
			list = append(list, fmt.Sprintf("%s %d", p.Name, p.Bytes))
		}
		shares = " of it are, about: " + strings.Join(list, ", ") + ";"
	}
	return fmt.Errorf("the document has %d bytes, %s takes %d;%s "+
		"use delivery.mode lean or pointer, shorten what you add to it, "+
		"use certificates.keyAlgorithm ECDSA-P256, or another platform",
		size, m.Platform.Name, m.Platform.Limit, shares)
}

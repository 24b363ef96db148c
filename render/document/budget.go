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

// Part is what some files of a machine take of its document.
type Part struct {
	Name  string
	Files int
	Bytes int // by which the compressed document would be smaller without them
}

// partOf returns the part of the document where a file counts.
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
	return rest
}

const rest = "rest"

// Budget tells what each part of n takes of m's compressed document, the largest first: nearly, since it is the quick compression, and files
// share what they have in common.
func Budget(m *plan.Machine, n *node.Node) ([]Part, error) {
	whole, err := compressed(m, n)
	if err != nil {
		return nil, err
	}
	var out []Part
	for i := range n.Files {
		name := partOf(&n.Files[i])
		at := slices.IndexFunc(out, func(p Part) bool { return p.Name == name })
		if at < 0 {
			at, out = len(out), append(out, Part{Name: name})
		}
		out[at].Files++
	}
	for i := range out {
		less := *n
		less.Files = slices.DeleteFunc(slices.Clone(n.Files), func(f node.File) bool { return partOf(&f) == out[i].Name })
		size, err := compressed(m, &less)
		if err != nil {
			return nil, err
		}
		out[i].Bytes = whole - size
	}
	slices.SortStableFunc(out, func(a, b Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out, nil
}

// compressed is how long m's document of n is, compressed.
func compressed(m *plan.Machine, n *node.Node) (int, error) {
	plain, err := envelope(m, n, 0)
	if err != nil {
		return 0, err
	}
	doc, err := envelope(m, n, len(plain)-1)
	return len(doc), err
}

// tooLarge says by how much a document is over its platform's limit, what its parts take of it and what would help.
func tooLarge(m *plan.Machine, n *node.Node, size int) error {
	text := fmt.Sprintf("the document has %d bytes, %s takes %d;", size, m.Platform.Name, m.Platform.Limit)
	if budget, err := Budget(m, n); err == nil {
		for i, p := range budget {
			if i == 0 {
				text += " of it are, about:"
			}
			text += fmt.Sprintf(" %s %d,", p.Name, p.Bytes)
		}
		text = strings.TrimSuffix(text, ",") + ";"
	}
	return fmt.Errorf("%s use delivery.mode lean or pointer, shorten what you add to it, use certificates.keyAlgorithm ECDSA-P256, or another platform", text)
}

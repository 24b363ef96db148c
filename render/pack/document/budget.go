package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
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
	if row := layout.FileAt(f.Path); row != nil && row.Part != "" {
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
		size, err := compressedSize(m, without(n, func(f *node.File) bool {
			return partOf(f) == budget[i].Name
		}))
		if err != nil {
			return nil, err
		}
		budget[i].Bytes = whole - size
	}
	slices.SortStableFunc(budget, func(a, b Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return budget, nil
}

// Share returns by how many bytes m's document for n, which has size bytes, would shrink without
// some of its files. It is an estimate for a compressed document, as in Budget. It fails if the
// format cannot express n.
func Share(m *plan.Machine, n *node.Node, size int, isOf func(*node.File) bool) (int, error) {
	pack := compressedSize
	plain, err := new(formats).envelope(m, n, 0)
	if len(plain) == size {
		pack = plainSize
	}
	if err != nil {
		return 0, err
	}
	whole, err := pack(m, n)
	if err != nil {
		return 0, err
	}
	rest, err := pack(m, without(n, isOf))
	return min(max(0, whole-rest), size), err
}

// without returns n without some of its files.
func without(n *node.Node, isOf func(*node.File) bool) *node.Node {
	rest := *n
	rest.Files = slices.DeleteFunc(slices.Clone(n.Files), func(f node.File) bool {
		return isOf(&f)
	})
	return &rest
}

func plainSize(m *plan.Machine, n *node.Node) (int, error) {
	plain, err := new(formats).envelope(m, n, 0)
	return len(plain), err
}

// compressedSize returns the size of m's document for n after a quick compression, in bytes.
func compressedSize(m *plan.Machine, n *node.Node) (int, error) {
	plain, err := new(formats).envelope(m, n, 0)
	if err != nil {
		return 0, err
	}
	doc, err := new(formats).envelope(m, n, len(plain)-1)
	return len(doc), err
}

// maxAdded is how many of the user's additions the error of a large document names.
const maxAdded = 5

// sizeError returns the problem of a machine whose document has size bytes, more than its platform
// accepts. It has the share of each part, the user's own additions, and what helps.
func sizeError(c *config.Cluster, m *plan.Machine, n *node.Node, size int) error {
	message := fmt.Sprintf("the document of %s has %d bytes, %s takes %d",
		m.Name, size, m.Platform.Name, m.Platform.Limit)
	if budget, err := Budget(m, n); err == nil && len(budget) > 0 {
		var shares []string
		for _, p := range budget {
			shares = append(shares, fmt.Sprintf("%s %d", p.Name, p.Bytes))
		}
		message += "; of it are, about: " + strings.Join(shares, ", ")
	}
	added := additions(n)
	if len(added) > 0 {
		message += "; you added, before compression: " + strings.Join(added, ", ")
	}
	return config.Problems{c.Problemf(m.Path, "%s; %s", message,
		strings.Join(sizeAdvice(c, m, len(added) > 0), ", or "))}
}

// nearLimit is the share of a platform's limit, in percent, from which a document needs advice: the
// sizes of leaf certificates and of people's additions vary by some bytes.
const nearLimit = 95

// nearAdvice returns what makes a document of size bytes smaller, if it nearly has as many as the
// platform of m accepts. A plain one is compressed when it grows, and needs none.
func nearAdvice(c *config.Cluster, m *plan.Machine, n *node.Node, size int) (string, error) {
	if limit := m.Platform.Limit; limit == 0 || 100*size < nearLimit*limit {
		return "", nil
	}
	if plain, err := plainSize(m, n); err != nil || plain == size {
		return "", err
	}
	return strings.Join(sizeAdvice(c, m, len(additions(n)) > 0), ", or "), nil
}

// additions returns the fields of the configuration that gave files of n, with their sizes, the
// largest first.
func additions(n *node.Node) (list []string) {
	var own []node.File
	for _, f := range n.Files {
		if f.Why == node.FromConfig && len(f.From) > 0 {
			own = append(own, f)
		}
	}
	slices.SortStableFunc(own, func(a, b node.File) int {
		return cmp.Compare(len(b.Content), len(a.Content))
	})
	for i, f := range own {
		if i == maxAdded {
			return append(list, fmt.Sprintf("and %d more", len(own)-i))
		}
		list = append(list, fmt.Sprintf("%s %d", f.From[0], len(f.Content)))
	}
	return list
}

// smallKeys is the value of certificates.keyAlgorithm with the smallest keys and certificates.
const smallKeys = "ECDSA-P256"

// sizeAdvice returns what makes a document of m smaller. It leaves out what is set already. added
// reports whether the user added files.
func sizeAdvice(c *config.Cluster, m *plan.Machine, added bool) (advice []string) {
	switch m.Settings.Delivery.Mode {
	case "pointer":
	case "lean":
		advice = append(advice, "use delivery.mode pointer")
	default:
		advice = append(advice, "use delivery.mode lean or pointer")
	}
	if c.Spec.Certificates.KeyAlgorithm != smallKeys {
		advice = append(advice, "certificates.keyAlgorithm "+smallKeys+" in a new cluster")
	}
	if added {
		advice = append(advice, "shorten what you added")
	}
	return append(advice, "another platform")
}

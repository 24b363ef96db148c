// This file reads the YAML of a stored bundle that cannot be decoded, and says what is wrong
// with its form. It knows the keys of a bundle, and nothing of what the values mean.

package pki

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Authorities are the names in a stored bundle of the CAs, in the order of the constants of Signer.
var Authorities = []string{"ca", "etcdCA", "frontProxyCA"}

// scalars are the keys for plain values.
var scalars = []string{
	"apiVersion", "kind", "cluster", "name", "issued", "renewed", "formationDeadline",
	"installDeadline", "restored",
	"serviceAccountKey", "encryptionKey", "leafSeed", "checksum",
}

// syntaxLine finds the line in the parser's message.
var syntaxLine = regexp.MustCompile(`line (\d+)`)

// Problems returns what is wrong with the form of a bundle that a person has changed, by line and
// key. roots are the names of the roots that rotate. Problems quotes no value, and no key that a
// bundle does not have: a key that is out of place may be a secret. It does not show the parser's
// message either.
func Problems(data []byte, roots []string) error {
	const broken = "not a bundle: its YAML does not have the form that kiln writes; " +
		"name the bundle, or restore it from a copy"
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		if f, ok := yamltext.FindFault(data, slices.Concat(Authorities, scalars)); ok {
			return fmt.Errorf("line %d, column %d: %s", f.Line, f.Column, f.Message)
		}
		if at := syntaxLine.FindStringSubmatch(err.Error()); at != nil {
			return fmt.Errorf("line %s, or the one above it: not YAML; "+
				"look at its blanks, colons and quotes", at[1])
		}
		return errors.New(broken)
	}
	f := &form{roots: roots}
	if len(document.Content) == 1 && document.Content[0].Kind == yaml.MappingNode {
		known := slices.Concat(Authorities, scalars,
			[]string{"external", "generations", "imported", "recipients", "renewals", "rotations",
				"tokens"})
		f.keys(document.Content[0], known, "", f.value)
	}
	if len(f.errs) == 0 {
		return errors.New(broken)
	}
	return errors.Join(f.errs...)
}

// form collects the mistakes in the form of a bundle.
type form struct {
	roots []string
	errs  []error
}

func (f *form) fail(n *yaml.Node, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("line %d: "+format, append([]any{n.Line}, args...)...))
}

// keys checks the keys of a map, and calls value for each allowed one. If known is nil, every key
// is allowed: the keys are names of secrets. Each name in a message begins with prefix.
func (f *form) keys(
	n *yaml.Node, known []string, prefix string, value func(name string, n *yaml.Node),
) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch first := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || known != nil && !slices.Contains(known, key.Value):
			f.fail(key, "%sa bundle has no such key here%s", prefix, wording.Hint(key.Value, known))
		case first > 0:
			f.fail(key, "%s%s stands there already, in line %d; remove one of them", prefix,
				key.Value, first)
		default:
			seen[key.Value] = key.Line
			value(key.Value, n.Content[i+1])
		}
	}
}

// value checks the value of a key of the bundle.
func (f *form) value(name string, n *yaml.Node) {
	switch {
	case name == "external":
		f.external(n)
	case name == "generations":
		f.generations(n)
	case name == "imported":
		f.imported(n)
	case name == "recipients":
		f.recipients(n)
	case name == "renewals":
		f.renewals(n)
	case name == "rotations":
		f.rotations(n)
	case name == "tokens":
		f.tokens(n)
	case slices.Contains(scalars, name):
		f.scalar(name, n)
	case n.Kind != yaml.MappingNode:
		f.fail(n, "%s: want the keys certificate and key", name)
	default:
		f.keys(n, []string{"certificate", "key"}, name+": ",
			func(part string, n *yaml.Node) { f.scalar(name+": "+part, n) })
	}
}

func (f *form) scalar(name string, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		f.fail(n, "%s: want one value, not a list or a map", name)
	}
}

// recipients checks the list of age recipients.
func (f *form) recipients(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		f.fail(n, "recipients: want a list of age recipients; "+
			"kiln secrets encrypt writes it")
		return
	}
	for _, item := range n.Content {
		f.scalar("recipients", item)
	}
}

// generations checks the counts of rotations.
func (f *form) generations(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		if n.ShortTag() != "!!null" {
			f.fail(n, "generations: want a line for each secret, such as admin: 2")
		}
		return
	}
	f.keys(n, nil, "generations: ", func(name string, n *yaml.Node) {
		if tag := n.ShortTag(); n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!null" {
			f.fail(n, "generations: %s: want a whole number without quotes, such as 2", name)
		}
	})
}

// imported checks what the bundle knows of the time before it.
func (f *form) imported(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		f.fail(n, "imported: want the keys that kiln secrets import writes")
		return
	}
	parts := []string{"at", "encryptionProvider", "encryptionName", "serviceAccounts"}
	f.keys(n, parts, "imported: ",
		func(part string, n *yaml.Node) { f.scalar("imported: "+part, n) })
}

// external checks what was signed elsewhere.
func (f *form) external(n *yaml.Node) {
	const want = "want the keys that kiln certs add writes"
	if n.Kind != yaml.MappingNode {
		f.fail(n, "external: "+want)
		return
	}
	known := []string{"roots", "certificates", "changed"}
	f.keys(n, known, "external: ", func(part string, n *yaml.Node) {
		switch {
		case part == "changed":
			f.scalar("external: changed", n)
		case part == "roots" && n.Kind == yaml.SequenceNode:
			for _, item := range n.Content {
				f.scalar("external: roots", item)
			}
		case part == "certificates" && n.Kind == yaml.MappingNode:
			f.keys(n, nil, "external: certificates: ",
				func(_ string, n *yaml.Node) { f.scalar("external: certificates", n) })
		default:
			f.fail(n, "external: %s: "+want, part)
		}
	})
}

// renewals checks the times at which machines were renewed alone.
func (f *form) renewals(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		if n.ShortTag() != "!!null" {
			f.fail(n, "renewals: want a line for each machine, such as cp-1: "+
				`"2026-01-31T12:00:00Z"`)
		}
		return
	}
	f.keys(n, nil, "renewals: ",
		func(name string, n *yaml.Node) { f.scalar("renewals: "+name, n) })
}

// rotations checks the states of roots.
func (f *form) rotations(n *yaml.Node) {
	const want = "rotations: want the keys that kiln secrets rotate writes"
	if n.Kind != yaml.MappingNode {
		f.fail(n, want)
		return
	}
	parts := []string{"generation", "stage", "since", "certificate", "key"}
	f.keys(n, f.roots, "rotations: ", func(root string, n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			f.fail(n, want)
			return
		}
		f.keys(n, parts, "rotations: "+root+": ", func(part string, n *yaml.Node) {
			f.scalar("rotations: "+root+": "+part, n)
		})
	})
}

// tokens checks the renewals of bootstrap tokens.
func (f *form) tokens(n *yaml.Node) {
	const want = "want a line for each pool, such as blue: " +
		`{renewed: "2026-01-31T12:00:00Z"}`
	if n.Kind != yaml.MappingNode {
		if n.ShortTag() != "!!null" {
			f.fail(n, "tokens: "+want)
		}
		return
	}
	f.keys(n, nil, "tokens: ", func(name string, n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			f.fail(n, "tokens: %s: "+want, name)
			return
		}
		f.keys(n, []string{"renewed", "previous", "previousEnds"}, "tokens: "+name+": ",
			func(part string, n *yaml.Node) {
				f.scalar("tokens: "+name+": "+part, n)
				if tag := n.ShortTag(); part == "previous" && tag != "!!int" {
					f.fail(n, "tokens: %s: previous: want a whole number without quotes, such as 1",
						name)
				}
			})
	})
}

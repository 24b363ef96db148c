package review

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// describeMachine gives a machine without entries what a twin says of it beside its names.
func describeMachine(
	m *change.Machine, kubelet string, addresses []string, until time.Time,
) *change.Machine {
	m.Properties = change.Properties{{Name: "kubelet", Value: kubelet}}
	if len(addresses) > 0 {
		list := strings.Join(addresses, ",")
		m.Properties = append(m.Properties, change.Property{Name: "addresses", Value: list})
	}
	end := until.Format(time.RFC3339)
	m.Properties = append(m.Properties, change.Property{Name: "until", Value: end})
	return m
}

// plannedMachine describes a machine of a plan, whose certificates or token end at until.
func plannedMachine(p *plan.Plan, m *plan.Machine, until time.Time) *change.Machine {
	return describeMachine(&change.Machine{
		Pool: m.Pool, Name: m.Name, Role: m.Role,
		OS: m.System.Name, Platform: m.Platform.Name, Format: string(m.System.Format),
	}, m.KubeletVersion, m.AddressStrings(), until)
}

// Digest returns the SHA-256, in hex, of everything that a twin shows of a machine: its line, and
// its entries with their contents. Machines that may differ in a way that a reviewer sees have
// different digests. The list of files is left out, because it holds the digest.
func Digest(m *change.Machine) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s", MachineLine(m))
	for _, e := range m.Entries {
		if e.Kind == "file" && e.ID == node.List {
			continue
		}
		// A content is preceded by its length, so that it cannot look like further entries.
		fmt.Fprintf(sum, "%s%d\n", entryLines(e), len(e.Content))
		sum.Write(e.Content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// NodeDigest returns the Digest of a machine of a plan, whose document ends at until.
func NodeDigest(p *plan.Plan, m *plan.Machine, until time.Time, n *node.Node) string {
	planned := plannedMachine(p, m, until)
	planned.Entries = nodeEntries(n)
	slices.SortFunc(planned.Entries, compareEntries)
	planned.Entries = slices.CompactFunc(planned.Entries, func(a, b *change.Entry) bool {
		return a.Key == b.Key // a twin has each once
	})
	return Digest(planned)
}

// DigestOf returns the digest that a machine's document has, or else Digest.
func DigestOf(m *change.Machine) string {
	if m.Twin != "" {
		return m.Twin
	}
	return Digest(m)
}

// listedDigest returns the digest that the machine's list of files has. It returns a dash for a
// list without one, which an earlier kiln wrote, and nothing if there is no list.
func listedDigest(n *node.Node) string {
	list := n.File(node.List)
	if list == nil || len(list.Content) == 0 {
		return ""
	}
	text := strings.TrimSuffix(string(list.Content), "\n")
	line := text[strings.LastIndex(text, "\n")+1:]
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "end" || !IsDigest(words[1]) {
		return "-"
	}
	return words[1]
}

// IsDigest reports whether a word is one that Digest returns.
func IsDigest(word string) bool { return digest.MatchString(word) }

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsEdited reports whether a file of the machine is not the one that its list of files names: then
// the digest in the list is not that of this machine.
func IsEdited(n *node.Node) bool {
	if n.File(node.List) == nil {
		return false
	}
	sums, _ := n.Sums()
	return slices.ContainsFunc(n.Files, func(f node.File) bool {
		return f.Path != node.List && f.Altered(sums)
	})
}

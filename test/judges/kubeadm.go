package judges

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kubeadmJudge compares every machine known by name with what kubeadm makes of the same cluster. Each difference has to
// be one that testdata/kubeadm-differences.txt gives a reason for.
func kubeadmJudge(cluster []*Machine) (findings []string) {
	rules, err := kubeadmRules()
	if err != nil {
		return []string{err.Error()}
	}
	for _, m := range cluster {
		if m.Pool {
			continue // kubeadm join asks for a name
		}
		lines, err := kubeadmDifferences(m)
		if err != nil {
			findings = append(findings, fmt.Sprintf("%s: compare with kubeadm: %v", m.Name, err))
			continue
		}
		for _, line := range lines {
			if rules.explain(line, m) == nil {
				findings = append(findings, fmt.Sprintf("%s: not as kubeadm has it: %s", m.Name, line))
			}
		}
	}
	return findings
}

// kubeadmDifferences lists what differs between kubeadm's machine and ours, sorted, each difference one line:
//
//	pod kube-apiserver flag --profiling: absent -> false
//
// stands for a flag that kubeadm does not set and kiln sets to false. Names and addresses of machines are replaced by
// what they are, so that a line is the same for every machine.
func kubeadmDifferences(m *Machine) ([]string, error) {
	theirs, err := kubeadmFacts(m)
	if err != nil {
		return nil, err
	}
	ours, err := readFacts(m)
	if err != nil {
		return nil, err
	}
	template, err := placeholders(m)
	if err != nil {
		return nil, err
	}
	lines := differences(theirs, ours)
	for i, line := range lines {
		lines[i] = template.Replace(line)
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// differences lists what differs between two machines. A thing that only one of them has is one difference, whatever it
// consists of.
func differences(theirs, ours facts) (lines []string) {
	for thing := range keysOfBoth(theirs, ours) {
		a, inTheirs := theirs[thing]
		b, inOurs := ours[thing]
		if !inTheirs || !inOurs {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", thing, presence(inTheirs), presence(inOurs)))
			continue
		}
		for field := range keysOfBoth(a, b) {
			x, inA := a[field]
			y, inB := b[field]
			if x != y || inA != inB {
				lines = append(lines, fmt.Sprintf("%s %s: %s -> %s", thing, field, shown(x, inA), shown(y, inB)))
			}
		}
	}
	return lines
}

// keysOfBoth returns the keys of both maps.
func keysOfBoth[V any](a, b map[string]V) map[string]bool {
	out := map[string]bool{}
	for _, m := range []map[string]V{a, b} {
		for key := range maps.Keys(m) {
			out[key] = true
		}
	}
	return out
}

func presence(there bool) string {
	if there {
		return "present"
	}
	return "absent"
}

// shown makes one line of a value.
func shown(value string, there bool) string {
	switch {
	case !there:
		return "absent"
	case value == "" || strings.ContainsAny(value, "\n\t"):
		return fmt.Sprintf("%q", value)
	}
	return value
}

// placeholders replaces the names and addresses of a cluster's machines by what they are to this one.
func placeholders(m *Machine) (*strings.Replacer, error) {
	g, err := readGolden(m.Case)
	if err != nil {
		return nil, err
	}
	var pairs []string
	for _, n := range g.Spec.Nodes {
		whose := "other " + n.Role
		if n.Name == m.Name {
			whose = "node"
		}
		pairs = append(pairs, n.Name, "<"+whose+">")
		for _, address := range n.Addresses {
			pairs = append(pairs, "["+address+"]", "<"+whose+" address>", address, "<"+whose+" address>")
		}
	}
	return strings.NewReplacer(pairs...), nil
}

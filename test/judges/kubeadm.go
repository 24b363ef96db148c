package judges

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kubeadmJudge compares every machine whose name is known with the machine that kubeadm makes for
// the same cluster. testdata/kubeadm-differences.txt has to give a reason for each difference.
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
				findings = append(findings,
					fmt.Sprintf("%s: not as kubeadm has it: %s", m.Name, line))
			}
		}
	}
	return findings
}

// kubeadmDifferences lists the differences between kubeadm's machine and ours, sorted, one per
// line. The line
//
//	pod kube-apiserver flag --profiling: absent -> false
//
// stands for a flag that kubeadm does not set and kiln sets to false. Placeholders replace names
// and addresses of machines, so that a line is the same for every machine.
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

// differences lists the differences between two machines. A thing that only one of them has counts
// as one difference, however many fields it has.
func differences(theirs, ours facts) (lines []string) {
	for thing := range keysOfBoth(theirs, ours) {
		a, inTheirs := theirs[thing]
		b, inOurs := ours[thing]
		if !inTheirs || !inOurs {
			lines = append(lines,
				fmt.Sprintf("%s: %s -> %s", thing, presence(inTheirs), presence(inOurs)))
			continue
		}
		for field := range keysOfBoth(a, b) {
			x, inA := a[field]
			y, inB := b[field]
			if x != y || inA != inB {
				lines = append(lines,
					fmt.Sprintf("%s %s: %s -> %s", thing, field, shown(x, inA), shown(y, inB)))
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

// placeholders replaces the names and addresses of a cluster's machines by their relation to this
// machine, such as "node" for the machine itself.
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
			placeholder := "<" + whose + " address>"
			pairs = append(pairs, "["+address+"]", placeholder, address, placeholder)
		}
	}
	return strings.NewReplacer(pairs...), nil
}

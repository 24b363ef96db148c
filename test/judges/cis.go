package judges

import (
	"fmt"
	"slices"
	"strings"
)

// cisJudge evaluates the CIS Kubernetes Benchmark on every machine. A check may be below PASS only
// if cisExceptions names it, and each check in cisExceptions must be below PASS.
func cisJudge(cluster []*Machine) (findings []string) {
	for _, m := range cluster {
		why := map[string]string{}
		for _, e := range cisExceptions {
			if e.of(m) {
				for id := range strings.FieldsSeq(e.ids) {
					why[id] = e.why
				}
			}
		}
		for _, r := range m.cis() {
			switch reason, excepted := why[r.id]; {
			case r.state != pass && !excepted:
				findings = append(findings,
					fmt.Sprintf("%s: CIS %s %s: %s", m.Name, r.id, r.state, r.found))
			case r.state == pass && excepted:
				findings = append(findings, fmt.Sprintf(
					"%s: CIS %s passes; the exception is not needed: %s", m.Name, r.id, reason,
				))
			}
		}
	}
	return findings
}

// check is one recommendation of the benchmark, as kube-bench, which people run, evaluates it.
type check struct {
	id   string
	kind kind
	at   place     // where it looks
	want condition // what all that it finds there must meet; where nothing is found, nothing is met
}

// kind is how a recommendation is assessed.
type kind int

const (
	automated kind = iota // FAIL where it is not met
	manual                // evaluated too; WARN where it is not met
	personal              // for a person to judge: always WARN
)

// States of a check.
const (
	pass = "PASS"
	fail = "FAIL"
	warn = "WARN"
)

// result is what came of a check on one machine.
type result struct {
	id, state, found string
}

// cis evaluates every check that applies to the machine, as it is once it has booted.
func (m *Machine) cis() (out []result) {
	for _, c := range cisChecks {
		if c.appliesTo(m) {
			out = append(out, c.evaluate(m))
		}
	}
	return out
}

// appliesTo reports whether kube-bench runs the check's section on the machine. Sections 1 and 3
// are for control planes; their checks of etcd's files apply where etcd runs. Section 2 is for
// machines with etcd, section 4 for all Nodes. A machine with role etcd is no Node, and its kubelet
// serves nobody (standalone in trustJudge).
func (c *check) appliesTo(m *Machine) bool {
	switch c.id[0] {
	case '1', '3':
		if !m.Joins() {
			return slices.Contains([]string{"1.1.7", "1.1.8", "1.1.11", "1.1.12"}, c.id)
		}
		return m.ControlPlane()
	case '2':
		return m.Command("etcd") != nil
	default:
		return m.Joins()
	}
}

func (c *check) evaluate(m *Machine) result {
	if c.kind == personal {
		return result{c.id, warn, "a person has to judge it"}
	}
	below := map[kind]string{automated: fail, manual: warn}[c.kind]
	values := c.at(m)
	if len(values) == 0 {
		return result{c.id, below, "there is nothing to look at, want " + c.want.text}
	}
	for _, v := range values {
		if !c.want.met(v) {
			return result{c.id, below, v.String() + ", want " + c.want.text}
		}
	}
	found := values[0].String()
	if others := len(values) - 1; others > 0 {
		found += fmt.Sprintf("; and %d more", others)
	}
	return result{c.id, pass, found}
}

// value is what a check finds at one place.
type value struct {
	of   string // file, flag or field
	text string
	set  bool
}

func (v value) String() string {
	if !v.set {
		return v.of + " is not set"
	}
	return v.of + " is " + v.text
}

// exception says on which machines checks are below PASS, and why that is right.
type exception struct {
	ids string // separated by spaces
	of  func(*Machine) bool
	why string
}

// inCase finds the machines of golden clusters.
func inCase(names ...string) func(*Machine) bool {
	return func(m *Machine) bool { return slices.Contains(names, m.Case) }
}

// controlPlaneOf finds the control planes among them.
func controlPlaneOf(names ...string) func(*Machine) bool {
	return func(m *Machine) bool { return m.ControlPlane() && inCase(names...)(m) }
}

// withToken finds machines that join with a bootstrap token.
func withToken(m *Machine) bool { return m.File(bootstrapKubeconfig) != nil }

const bootstrapKubeconfig = "/etc/kubernetes/bootstrap-kubelet.conf"

// Package cis evaluates the CIS Kubernetes Benchmark on machines, by the machine's document or by
// what test/boot/facts says of one that runs.
package cis

import (
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/test/judges/machine"
)

// Findings returns a sentence for each check that is below PASS and in no list of exceptions, and
// for each exception whose checks pass.
func Findings(m *machine.Machine) (out []string) {
	why := excepted(m)
	for _, r := range Evaluate(m) {
		switch reason, excepted := why[r.ID]; {
		case r.State != Pass && !excepted:
			out = append(out, fmt.Sprintf("%s: CIS %s %s: %s", m.Name, r.ID, r.State, r.Found))
		case r.State == Pass && excepted:
			out = append(out, fmt.Sprintf("%s: CIS %s passes; the exception is not needed: %s",
				m.Name, r.ID, reason))
		}
	}
	return out
}

// excepted returns the reason of each check that may be below PASS on the machine.
func excepted(m *machine.Machine) map[string]string {
	why := map[string]string{}
	for _, e := range slices.Concat(onControlPlanes, exceptions) {
		if e.of(m) {
			for id := range strings.FieldsSeq(e.ids) {
				why[id] = e.why
			}
		}
	}
	return why
}

// Automated returns the checks that the benchmark calls automated.
func Automated() (ids []string) {
	for _, c := range checks {
		if c.kind == automated {
			ids = append(ids, c.id)
		}
	}
	return ids
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
	Pass = "PASS"
	Fail = "FAIL"
	Warn = "WARN"
)

// Result is what came of a check on one machine.
type Result struct {
	ID, State, Found string
}

// Evaluate evaluates every check that applies to the machine: as it will be once it has booted if m
// is a document, as it is if m runs.
func Evaluate(m *machine.Machine) (out []Result) {
	for _, c := range checks {
		if c.appliesTo(m) {
			out = append(out, c.evaluate(m))
		}
	}
	return out
}

// appliesTo reports whether kube-bench runs the check's section on the machine. Sections 1 and 3
// are for control planes; their checks of etcd's files apply where etcd runs. Section 2 is for
// machines with etcd, section 4 for all Nodes. Section 5 asks the API server, so it is for control
// planes. A machine with role etcd is no Node, and its kubelet serves nobody (standalone in
// trustJudge).
func (c *check) appliesTo(m *machine.Machine) bool {
	switch c.id[0] {
	case '1', '3':
		if !m.Joins() {
			return slices.Contains([]string{"1.1.7", "1.1.8", "1.1.11", "1.1.12"}, c.id)
		}
		return m.ControlPlane()
	case '2':
		return m.Command("etcd") != nil
	case '5':
		return m.ControlPlane()
	default:
		return m.Joins()
	}
}

func (c *check) evaluate(m *machine.Machine) Result {
	if c.kind == personal {
		return Result{c.id, Warn, "a person has to judge it"}
	}
	below := map[kind]string{automated: Fail, manual: Warn}[c.kind]
	values := c.at(m)
	if len(values) == 0 {
		return Result{c.id, below, "there is nothing to look at, want " + c.want.text}
	}
	for _, v := range values {
		if !c.want.met(v) {
			return Result{c.id, below, v.String() + ", want " + c.want.text}
		}
	}
	found := values[0].String()
	if others := len(values) - 1; others > 0 {
		found += fmt.Sprintf("; and %d more", others)
	}
	return Result{c.id, Pass, found}
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

package cis

import (
	"fmt"

	"kiln.dev/kiln/test/judges/machine"
)

// Verdict is what came of a check by the document of a machine and on the machine itself.
type Verdict struct {
	ID, Document, Machine string // states
	Found                 string // on the machine
}

// Compare returns all verdicts on a machine that has booted from a document, and a sentence for
// each fault: what Findings says of the machine, and each check on which the two differ. They may
// differ where an exception is for one of them.
func Compare(document, booted *machine.Machine) (verdicts []Verdict, faults []string) {
	faults = Findings(booted)
	states := map[string]string{}
	for _, r := range Evaluate(document) {
		states[r.ID] = r.State
	}
	ofDocument, ofMachine := excepted(document), excepted(booted)
	for _, r := range Evaluate(booted) {
		v := Verdict{r.ID, states[r.ID], r.State, r.Found}
		verdicts = append(verdicts, v)
		delete(states, r.ID)
		if v.Document != v.Machine && (ofDocument[r.ID] == "") == (ofMachine[r.ID] == "") {
			faults = append(faults, fmt.Sprintf("%s: CIS %s: the document says %s, the machine %s",
				booted.Name, v.ID, v.Document, v.Machine))
		}
	}
	for id, state := range states {
		faults = append(faults, fmt.Sprintf("%s: CIS %s: the document says %s, the machine nothing",
			booted.Name, id, state))
	}
	return verdicts, faults
}

package judges

import "kiln.dev/kiln/test/judges/cis"

// cisJudge evaluates the CIS Kubernetes Benchmark on every machine. A check may be below PASS only
// if a list of exceptions names it, and each exception must be needed.
func cisJudge(cluster []*Machine) (findings []string) {
	for _, m := range cluster {
		findings = append(findings, cis.Findings(&m.Machine)...)
	}
	return findings
}

package pki

import (
	"time"

	"kiln.dev/kiln/render/plan"
)

// Validity returns the time span in which all of m's certificates are valid: from the latest start
// to the earliest end. cluster is the plan that m is in. The install credential does not count,
// because it is meant to expire.
func (p *Public) Validity(cluster *plan.Plan, m *plan.Machine) (from, until time.Time) {
	ca := p.Authority(CA).Certificate
	if !m.Joins() { // it runs etcd alone, and has no certificate of the cluster's CA
		ca = p.Authority(EtcdCA).Certificate
	}
	from, until = ca.NotBefore, ca.NotAfter
	for _, s := range p.Specs(cluster, m) {
		if s.Base == InstallBase { // install.crt, the install credential
			continue
		}
		if s.NotBefore.After(from) {
			from = s.NotBefore
		}
		if s.NotAfter.Before(until) {
			until = s.NotAfter
		}
	}
	return from, until
}

// ValidUntil returns when m's document stops being usable: when the bootstrap token of a pool
// expires, or the first of a named machine's certificates.
func (p *Public) ValidUntil(cluster *plan.Plan, m *plan.Machine) time.Time {
	if m.Pool {
		return p.TokenEnd(m)
	}
	_, until := p.Validity(cluster, m)
	return until
}

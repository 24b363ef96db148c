package pki

import (
	"time"

	"kiln/render/plan"
)

// Validity returns the time span in which all of m's certificates are valid: from the latest start
// to the earliest end. The install credential does not count, because it is meant to expire.
func (p *Public) Validity(of *plan.Plan, m *plan.Machine) (from, until time.Time) {
	ca := p.Authority(CA).Certificate
	if !m.Joins() {
		ca = p.Authority(EtcdCA).Certificate
	}
	from, until = ca.NotBefore, ca.NotAfter
	for _, s := range p.Specs(of, m) {
		if s.Base == "install" {
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

// ValidUntil returns when m's document stops being usable: when its bootstrap token expires or,
// without a token, the first of its certificates.
func (p *Public) ValidUntil(of *plan.Plan, m *plan.Machine) time.Time {
	if m.Token {
		return p.TokenEnd(m)
	}
	_, until := p.Validity(of, m)
	return until
}

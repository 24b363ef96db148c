package assembly

import (
	"time"

	"kiln/pki"
	"kiln/render/plan"
)

// Validity returns the time span in which all of m's certificates are valid: from the latest start
// to the earliest end. The install credential does not count, because it is meant to expire.
func (r *Cluster) Validity(m *plan.Machine) (from, until time.Time) {
	ca := r.Public.Authority(pki.CA).Certificate
	if !m.Joins() {
		ca = r.Public.Authority(pki.EtcdCA).Certificate
	}
	from, until = ca.NotBefore, ca.NotAfter
	for _, s := range r.Public.Specs(r.Plan, m) {
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
func (r *Cluster) ValidUntil(m *plan.Machine) time.Time {
	if m.Token {
		return r.Public.TokenEnd(m)
	}
	_, until := r.Validity(m)
	return until
}

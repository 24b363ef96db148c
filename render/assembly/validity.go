package assembly

import (
	"time"

	"kiln/render/plan"
)

// TokenExpiry is when m's bootstrap token ends.
func (r *Cluster) TokenExpiry(m *plan.Machine) time.Time {
	if m.Pool {
		return r.Public.Issued.Add(time.Duration(m.TokenLifetime))
	}
	return r.Public.InstallEnd()
}

// Validity returns when all of m's certificates are valid: the latest beginning and the earliest end, without the
// install credential, which is meant to end.
func (r *Cluster) Validity(m *plan.Machine) (from, until time.Time) {
	ca := r.Public.CA.Certificate
	if !m.Joins() {
		ca = r.Public.EtcdCA.Certificate
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

// ValidUntil is when the first of m's certificates ends, or the bootstrap token that it joins with.
func (r *Cluster) ValidUntil(m *plan.Machine) time.Time {
	if m.Token {
		return r.TokenExpiry(m)
	}
	_, until := r.Validity(m)
	return until
}

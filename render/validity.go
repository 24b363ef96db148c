package render

import (
	"time"

	"kiln/render/plan"
)

// tokenExpiry is when m's bootstrap token ends.
func (r *Cluster) tokenExpiry(m *plan.Machine) time.Time {
	if m.Pool {
		return r.Public.Issued.Add(time.Duration(m.TokenLifetime))
	}
	return r.Public.InstallEnd()
}

// validity returns when all of m's certificates are valid: the latest beginning and the earliest end, without the
// install credential, which is meant to end.
func (r *Cluster) validity(m *plan.Machine) (from, until time.Time) {
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

package render

import (
	"errors"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/request"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// Ends returns when the documents of all machines stop being usable, in the plan's order.
func (r *Cluster) Ends() []change.DocumentEnd { return Ends(r.Plan, r.Public) }

// EndsWith is Ends with the dates of another bundle of the cluster, for a cluster that was rendered
// with secrets that are thrown away. It returns nothing for another cluster.
func (r *Cluster) EndsWith(p *pki.Public) []change.DocumentEnd {
	if p.Name != r.Plan.Name {
		return nil
	}
	return Ends(r.Plan, p)
}

// Ends returns when the documents of a plan's machines stop being usable with a bundle, in the
// plan's order. It renders nothing.
func Ends(p *plan.Plan, half *pki.Public) []change.DocumentEnd {
	out := make([]change.DocumentEnd, len(p.Machines))
	for i := range out {
		m := &p.Machines[i]
		out[i] = change.DocumentEnd{
			Machine: m.Name, Pool: m.Pool, Config: p.Config.Flag(),
			Until: half.ValidUntil(p, m), Start: half.Start(m.Name), CAEnd: half.AuthoritiesEnd(),
		}
		external := firstSigned(p, half, m, out[i].Until)
		switch {
		case external != nil:
			out[i].External, out[i].Start = true, external.NotBefore
			out[i].Lifetime = external.NotAfter.Sub(external.NotBefore)
		case m.Pool:
			out[i].Start = half.TokenStart(m.Name)
			out[i].Lifetime = time.Duration(m.TokenLifetime)
		default:
			out[i].Lifetime = time.Duration(p.Config.Spec.Certificates.Lifetime)
		}
	}
	return out
}

// firstSigned returns the certificate of a machine that ends its document at the time until, if a
// CA has signed it whose key is not in the bundle; nil if not.
func firstSigned(p *plan.Plan, half *pki.Public, m *plan.Machine, until time.Time) *pki.Spec {
	for _, s := range half.Specs(p, m) {
		if half.Lacks(s.Signer) && s.NotAfter.Equal(until) {
			return &s
		}
	}
	return nil
}

// unsigned returns an error for each certificate that a CA elsewhere has to sign at the time now.
func unsigned(a *assembly.Cluster, now time.Time) error {
	l := request.Cluster{Public: a.Public, Bundle: a.Bundle, Plan: a.Plan, Now: now}
	return l.Missing()
}

// checkEnds fails if no machine could use some of the documents at the time now. The zero time
// means that nobody asks.
func (r *Cluster) checkEnds(now time.Time) error {
	if now.IsZero() {
		return nil
	}
	if err := unsigned(r.Cluster, now); err != nil {
		return err
	}
	var errs []error
	for _, text := range change.Ended(now, r.Ends()) {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

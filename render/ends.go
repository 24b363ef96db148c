package render

import (
	"errors"
	"time"

	"kiln/pki"
	"kiln/render/expiry"
	"kiln/render/plan"
)

// Ends returns when the documents of all machines stop being usable, in the plan's order.
func (r *Cluster) Ends() []expiry.Document { return Ends(r.Plan, r.Public) }

// EndsWith is Ends with the dates of another bundle of the cluster, for a cluster that was rendered
// with secrets that are thrown away. It returns nothing for another cluster.
func (r *Cluster) EndsWith(p *pki.Public) []expiry.Document {
	if p.Name != r.Plan.Name {
		return nil
	}
	return Ends(r.Plan, p)
}

// Ends returns when the documents of a plan's machines stop being usable with a bundle, in the
// plan's order. It renders nothing.
func Ends(p *plan.Plan, half *pki.Public) []expiry.Document {
	out := make([]expiry.Document, len(p.Machines))
	for i := range out {
		m := &p.Machines[i]
		out[i] = expiry.Document{
			Machine: m.Name, Pool: m.Pool, Token: m.Token,
			Until: half.ValidUntil(p, m), Start: half.Start(m.Name), CAEnd: half.AuthoritiesEnd(),
		}
		switch {
		case m.Pool:
			out[i].Start = half.TokenStart(m.Name)
			out[i].Lifetime = time.Duration(m.TokenLifetime)
		case !m.Token:
			out[i].Lifetime = time.Duration(p.Config.Spec.Certificates.Lifetime)
		}
	}
	return out
}

// checkEnds fails if no machine could use some of the documents at the time now. The zero time
// means that nobody asks.
func (r *Cluster) checkEnds(now time.Time) error {
	if now.IsZero() {
		return nil
	}
	var errs []error
	for _, text := range expiry.Ended(now, r.Ends()) {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

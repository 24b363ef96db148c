package render

import (
	"errors"
	"time"

	"kiln/pki"
	"kiln/render/assembly"
	"kiln/render/expiry"
)

// Ends returns when the documents of all machines stop being usable, in the plan's order.
func (r *Cluster) Ends() []expiry.Document {
	out := make([]expiry.Document, r.Machines())
	for i := range out {
		m := &r.Plan.Machines[i]
		out[i] = expiry.Document{
			Machine: m.Name, Pool: m.Pool, Token: m.Token,
			Until: r.ValidUntil(m), Issued: r.Public.Issued,
			CAEnd: r.Public.CA.Certificate.NotAfter,
		}
		switch {
		case m.Pool:
			out[i].Lifetime = time.Duration(m.TokenLifetime)
		case !m.Token:
			out[i].Lifetime = time.Duration(r.Plan.Config.Spec.Certificates.Lifetime)
		}
	}
	return out
}

// EndsWith is Ends with the dates of another bundle of the cluster, for a cluster that was rendered
// with secrets that are thrown away. It renders nothing, and returns nothing for another cluster.
func (r *Cluster) EndsWith(p *pki.Public) []expiry.Document {
	if p.Name != r.Plan.Name {
		return nil
	}
	dated := &Cluster{Cluster: &assembly.Cluster{Plan: r.Plan, Public: p}}
	return dated.Ends()
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

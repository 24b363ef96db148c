// This file says what is worth stealing in the document of a machine and in its body, and
// who can read each of them. It refuses machines that put more where others can read it than
// maxExposure of their layers allows.
//
// It asks the table of secrets and the table of platforms, and reads no finished document: a
// machine holds exactly what the table of secrets gives it, which package check enforces.

package document

import (
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
)

// Exposure says what a machine's document and its body hold, and who can read them.
type Exposure struct {
	Document Copy `json:"document"`
	// Body is absent if the machine fetches nothing.
	Body *Copy `json:"body,omitempty"`
}

// Copy is a document or a body.
type Copy struct {
	// Holds is the worth of the secrets in it: none, machine, join or cluster.
	Holds string `json:"holds"`
	// Readers are the kinds of those who can read it, from few to many.
	Readers []string `json:"readers"`

	worth secret.Worth
}

// ExposureOf returns the exposure of a machine.
func ExposureOf(c *secret.Cluster, m *plan.Machine) Exposure {
	return exposureOf(c.Plan, m, secret.WorthOf(c, m))
}

// exposureOf returns the exposure of a machine that holds secrets of that worth.
func exposureOf(p *plan.Plan, m *plan.Machine, worth secret.Worth) Exposure {
	d := &m.Settings.Delivery
	document := readers(p, m)
	switch d.Mode {
	case "split", "pointer":
		body := newCopy(worth, target.RootReader, target.HostReader, target.ServerReader)
		if strings.HasPrefix(d.URL, "http://") {
			body.Readers = append(body.Readers, target.NetworkReader)
		}
		return Exposure{Document: newCopy(secret.None, document...), Body: &body}
	case "lean":
		// It holds no secret, and no server is asked to keep anybody away from it.
		body := newCopy(secret.None,
			target.RootReader, target.HostReader, target.ServerReader, target.NetworkReader)
		return Exposure{Document: newCopy(worth, document...), Body: &body}
	}
	return Exposure{Document: newCopy(worth, document...)}
}

func newCopy(worth secret.Worth, readers ...string) Copy {
	return Copy{Holds: worth.String(), Readers: readers, worth: worth}
}

// readers returns the kinds of those who can read the document of m.
func readers(p *plan.Plan, m *plan.Machine) (kinds []string) {
	closed := p.Config.Spec.Security.MetadataService == "deny"
	for _, r := range m.Platform.Readers {
		isPod := r.Kind == target.PodReader
		if isPod && (!m.Joins() || r.Setting != "" && closed) {
			continue // an etcd machine runs no pods
		}
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

// Others returns the readers that maxExposure counts.
func (c *Copy) Others() (kinds []string) {
	for _, kind := range c.Readers {
		if target.Counts(kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// ExposureGroup is what several machines have in common.
type ExposureGroup struct {
	Machines, Pools []string
	Platform        string
	Exposure
}

// ExposureGroups returns the exposure of all machines, those with the same one together, in the
// order of the plan.
func ExposureGroups(c *secret.Cluster) (groups []ExposureGroup) {
	k := c
	index := map[string]int{}
	for i := range c.Plan.Machines {
		m := &c.Plan.Machines[i]
		e := exposureOf(c.Plan, m, secret.WorthOf(k, m))
		key := strings.Join(append([]string{m.Platform.Name, e.key()}, e.Document.Readers...), " ")
		at, ok := index[key]
		if !ok {
			at, index[key] = len(groups), len(groups)
			groups = append(groups, ExposureGroup{Platform: m.Platform.Name, Exposure: e})
		}
		g := &groups[at]
		if m.Pool {
			g.Pools = append(g.Pools, m.Name)
		} else {
			g.Machines = append(g.Machines, m.Name)
		}
	}
	return groups
}

// key tells exposures on one platform apart.
func (e *Exposure) key() string {
	if e.Body == nil {
		return e.Document.Holds
	}
	return e.Document.Holds + " " + e.Body.Holds + " " + strings.Join(e.Body.Readers, " ")
}

// worst returns the part of an exposure that holds secrets where others can read them, and whether
// it is the body; nil if there is none.
func (e *Exposure) worst() (c *Copy, isBody bool) {
	for i, c := range []*Copy{&e.Document, e.Body} {
		if c != nil && c.worth > secret.None && len(c.Others()) > 0 {
			return c, i == 1
		}
	}
	return nil, false
}

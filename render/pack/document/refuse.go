package document

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
	"kiln.dev/kiln/render/text/wording"
)

// finding is one reason to refuse machines. Machines of one layer share it.
type finding struct {
	path     string // of the field maxExposure that refuses them
	limit    string
	platform string
	isBody   bool
	holds    secret.Worth
	others   string
}

// RefusedExposures returns a problem of each field maxExposure for the machines that exceed it. It
// names what they hold, who can read it, and what to do.
func RefusedExposures(c *secret.Cluster) (problems config.Problems) {
	machines := map[finding][]*plan.Machine{}
	var found []finding
	for i := range c.Plan.Machines {
		m := &c.Plan.Machines[i]
		limit, known := secret.ParseWorth(m.Settings.MaxExposure)
		if !known || limit == secret.OfCluster {
			continue
		}
		e := exposureOf(c.Plan, m, secret.WorthOf(c, m))
		held, isBody := e.worst()
		if held == nil || held.worth <= limit {
			continue
		}
		f := finding{
			path: m.Settings.Path("maxExposure"), limit: limit.String(),
			platform: m.Platform.Name, isBody: isBody, holds: held.worth,
			others: strings.Join(held.Others(), ", "),
		}
		if machines[f] == nil {
			found = append(found, f)
		}
		machines[f] = append(machines[f], m)
	}
	for _, f := range found {
		problems = append(problems, c.Plan.Config.Problemf(f.path, "%s", f.message(machines[f])))
	}
	return problems
}

// message returns the text of the problem of these machines.
func (f *finding) message(machines []*plan.Machine) string {
	what, where := "document", "on "+f.platform
	mode := "split"
	if limit := machines[0].Platform.Limit; 0 < limit && limit < splitSize {
		mode = "pointer"
	}
	cure := "write delivery: {mode: " + mode + ", url: …}, which leaves no secret in a document"
	if f.isBody {
		what, where = "body", "on the way from an http:// address"
		cure = "write https:// in delivery.url"
	}
	return fmt.Sprintf("is %s, but %s others (%s) can read the %s of %s, which holds %s (%s); "+
		"%s, or write maxExposure: %s",
		f.limit, where, f.others, what, names(machines), f.holds.Secrets(), f.holds, cure, f.holds)
}

// splitSize is the size of a platform's documents into which one of a control plane with mode split
// fits.
const splitSize = 40 << 10

// maxNames is how many machines a message names.
const maxNames = 3

// names returns the first machines by name, and how many more there are.
func names(machines []*plan.Machine) string {
	var list []string
	for i, m := range machines {
		if i == maxNames {
			more := len(machines) - i
			return fmt.Sprintf("%s and %s more", strings.Join(list, ", "),
				wording.Count(more, "machine"))
		}
		name := m.Name
		if m.Pool {
			name = "pool " + name
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

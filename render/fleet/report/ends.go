package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/certs"
)

// calendar is the picture of the next months, with a lane for what ends together.
type calendar struct {
	From, Until time.Time
	Months      []month
	Soon        int // the days that count as near, in thousandths of the whole width
	Lanes       []endLane
	Later       []endLane // what ends after the picture
	First       *endLane  // the lane that somebody has to act on first; nil if there is none
}

// month is a mark at the first day of a month.
type month struct {
	Left  int // in thousandths
	Label string
}

// endLane is what ends on similar machines and is renewed in the same way.
type endLane struct {
	Who, What   string
	First, Last time.Time
	Renewal     certs.Renewal
	Width, Tail int    // of the bar from today to the first end, and of that to the last one
	Then        string // the ends with the newer documents, if they are others

	key      laneKey
	machines []string
	kinds    map[string]int
	subjects []string
}

// laneKey is what entries of one lane have in common.
type laneKey struct {
	who     string
	renewal certs.Renewal
}

// monthsShown is how many months the picture shows: certificates that live for a year fit in.
const monthsShown = 13

// soon is the time before an end from which it counts as near.
const soon = 30 * 24 * time.Hour

// endsOf returns the picture of the ends. Machines run with what the older state gave them.
func endsOf(in *Input) calendar {
	c := calendar{From: in.Now.UTC().Truncate(24 * time.Hour)}
	c.Until = c.From.AddDate(0, monthsShown, 0)
	c.Soon = c.at(c.From.Add(soon))
	for t := c.From.AddDate(0, 1, 1-c.From.Day()); t.Before(c.Until); t = t.AddDate(0, 1, 0) {
		label := t.Format("Jan")
		if t.Month() == time.January {
			label = t.Format("2006")
		}
		c.Months = append(c.Months, month{c.at(t), label})
	}
	roles := rolesOf(in)
	newer := groupEnds(in.Ends, roles)
	for _, l := range groupEnds(runningEnds(in), roles) {
		i := slices.IndexFunc(newer, func(n endLane) bool { return n.key == l.key })
		if i >= 0 && l.When() != newer[i].When() {
			l.Then = newer[i].When()
		}
		c.add(l)
	}
	slices.SortStableFunc(c.Lanes, func(a, b endLane) int { return a.rank() - b.rank() })
	return c
}

// add adds a lane to the picture, or to what ends later.
func (c *calendar) add(l endLane) {
	if c.First == nil && l.Acts() {
		c.First = &l
	}
	if l.First.After(c.Until) {
		c.Later = append(c.Later, l)
		return
	}
	l.Width = c.at(l.First)
	l.Tail = c.at(l.Last) - l.Width
	c.Lanes = append(c.Lanes, l)
}

// at returns the place of a time in the picture, in thousandths.
func (c *calendar) at(t time.Time) int {
	share := t.Sub(c.From).Seconds() / c.Until.Sub(c.From).Seconds()
	return max(0, min(1000, int(1000*share)))
}

// Span is the whole width in seconds, for the mark of the day on which somebody looks at the page.
func (c calendar) Span() int64 { return int64(c.Until.Sub(c.From) / time.Second) }

// Near reports whether a lane's first end is near, and somebody has to act.
func (c calendar) Near(l endLane) bool { return l.Acts() && l.First.Before(c.From.Add(soon)) }

// Ended reports whether a lane's first end is over.
func (c calendar) Ended(l endLane) bool { return !l.First.After(c.From) }

// When returns the day of the end, or the first and the last one.
func (l endLane) When() string { return span(l.First, l.Last) }

// Itself reports whether what ends renews itself.
func (l endLane) Itself() bool { return l.Renewal == certs.Itself }

// Acts reports whether somebody has to do something before the end, so that what runs goes on.
func (l endLane) Acts() bool {
	e := certs.Entry{Ends: &l.First, Renewal: l.Renewal}
	return e.Due(l.First, "")
}

// Class returns the class of the bar.
func (l endLane) Class() string { return classes[l.rank()] }

var classes = []string{"act", "self", "idle"}

// rank puts what asks for an act first, then what renews itself.
func (l endLane) rank() int {
	switch {
	case l.Acts():
		return 0
	case l.Itself():
		return 1
	}
	return 2
}

// How says what renews it.
func (l endLane) How() string {
	switch l.Renewal {
	case certs.Itself:
		return "renews itself"
	case certs.FirstBoot:
		return "used by the first boot only"
	case certs.PoolToken:
		return "only new machines need it: kiln token renew"
	case certs.Replaced:
		return "a newer token has its place"
	case certs.Renew:
		return "kiln secrets renew, and follow kiln plan"
	}
	return l.Renewal.Meaning()
}

// runningEnds returns what ends on the machines as they run: of the older state, and of machines
// that the change adds.
func runningEnds(in *Input) []certs.Entry {
	if in.Running == nil {
		return in.Ends
	}
	out := slices.Clone(in.Running)
	runs := map[string]bool{"": true} // the operator's too
	for i := range in.Running {
		runs[idOf(&in.Running[i])] = true
	}
	for i := range in.Ends {
		if e := &in.Ends[i]; e.Machine != "" && !runs[idOf(e)] {
			out = append(out, *e)
		}
	}
	certs.Sort(out)
	return out
}

// idOf returns the ID of an entry's machine on the page.
func idOf(e *certs.Entry) string {
	if e.Pool {
		return poolID(e.Machine)
	}
	return nodeID(e.Machine)
}

// rolesOf returns the roles of the machines of both states, by their IDs.
func rolesOf(in *Input) map[string]string {
	out := map[string]string{}
	machines := slices.Clone(in.Cluster.Machines)
	if in.Diff != nil {
		machines = append(machines, in.Diff.Removed()...)
	}
	for _, m := range machines {
		out[anchor(m)] = m.Role
	}
	return out
}

// control is the role of control planes.
const control = "control-plane"

// authorities are the CAs, wherever they lie.
const authorities = "CAs"

// groupEnds returns the lanes of sorted entries, the first end first.
func groupEnds(list []certs.Entry, roles map[string]string) (out []endLane) {
	for i := range list {
		e := &list[i]
		if e.Ends == nil || e.Renewal == certs.PoolToken && !e.Pool && roles[idOf(e)] == control {
			continue // control planes have a copy of the pool's token
		}
		key := laneKey{whoOf(e, roles), e.Renewal}
		j := slices.IndexFunc(out, func(l endLane) bool { return l.key == key })
		if j < 0 {
			j = len(out)
			out = append(out, endLane{key: key, Who: key.who, Renewal: e.Renewal, First: *e.Ends,
				Last: *e.Ends, kinds: map[string]int{}})
		}
		l := &out[j]
		if e.Ends.Before(l.First) {
			l.First = *e.Ends
		}
		if e.Ends.After(l.Last) {
			l.Last = *e.Ends
		}
		l.kinds[e.Kind]++
		l.machines = append(l.machines, e.Machine)
		l.subjects = append(l.subjects, e.Subject)
	}
	for i := range out {
		out[i].What = out[i].what()
	}
	slices.SortStableFunc(out, func(a, b endLane) int { return a.First.Compare(b.First) })
	return out
}

// whoOf returns whose an entry is: CAs stand together, and so do machines of a role.
func whoOf(e *certs.Entry, roles map[string]string) string {
	switch _, many := roleWords(roles[idOf(e)]); {
	case e.Renewal == certs.NewCA || e.Renewal == certs.ExternalCA:
		return authorities
	case e.Machine == "":
		return "Operator"
	case e.Pool:
		return "Pool " + e.Machine
	default:
		return many
	}
}

// what says what ends: CAs by their names, others by their number.
func (l *endLane) what() string {
	if l.key.who == authorities {
		slices.Sort(l.subjects)
		return strings.Join(slices.Compact(l.subjects), ", ")
	}
	var list []string
	for _, kind := range certs.Kinds {
		if n := l.kinds[kind]; n > 0 {
			list = append(list, wording.Count(n, kind))
		}
	}
	text := strings.Join(list, ", ")
	slices.Sort(l.machines)
	if n := len(slices.Compact(l.machines)); n > 1 {
		text += " on " + wording.Count(n, "machine")
	}
	return cmp.Or(text, "nothing")
}

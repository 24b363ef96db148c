package rollout

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// decision is a machine with its verdict.
type decision struct {
	*change.Pair
	verdict string
	before  string // the day on which its certificates end, if the newer document has later ones
	why     []string
	kubectl []Change
	// live reports whether kiln apply gives it its newer document while it runs.
	live      bool
	unwritten string   // what changes, and kiln apply does not write
	restarts  []string // the paths of files, each with what starts anew
	commands  []string // paths, each with a command on the machine that follows its change
	drain     bool     // its pods go first: its kubelet might end some of them
	// worth is less if the machine is no loss: -1 if its Node is not Ready or it runs what nobody
	// knows, and else 0.
	worth int
	down  bool     // its Node is not Ready
	again bool     // it has no Node, and the older state had it: its disk may be that of then
	nodes []string // of a pool: its machines that are to be replaced, or waited for
}

// correct changes the decision to what the machine runs.
func (f *decision) correct(o *running.Observation) {
	s := o.Of(f.Machine())
	if s == nil {
		return
	}
	if f.nodes = s.Nodes; s.Standing == running.Coming {
		f.nodes = s.Coming
	}
	f.again = s.Standing == running.Absent && s.Before
	if s.Down || s.Standing == running.Neither {
		f.worth = -1
	}
	f.down = s.Down
	switch {
	case f.New == nil:
	case s.Standing == running.Neither:
		f.verdict, f.before, f.live = Replace, "", false
		f.why = append([]string{"it runs a document of no state that was named; if that is an " +
			"earlier commit's, name it in front of the others, and plan again"}, f.why...)
	case s.Standing == running.Coming && f.verdict == Nothing:
		f.verdict, f.why = Wait, []string{s.Why}
	}
}

// decide returns what has to be done with one machine, and why.
func decide(d *transition, p *change.Pair) *decision {
	f := &decision{Pair: p, verdict: Nothing}
	switch p.What() {
	case change.Added:
		f.verdict = Add
		return f
	case change.Removed:
		f.verdict = Remove
		return f
	}
	worst := layout.Later - 1
	why := map[layout.Effect][]string{}
	var unwritten []string
	for _, c := range p.Changes {
		list := c.Fields
		if c.What != change.Changed {
			list = []change.Field{{}}
		}
		about := map[layout.Effect][]string{} // fields
		reason := map[layout.Effect]string{}
		var node []change.Field
		for i := range list {
			e, reasoned := d.effect(p, c, &list[i])
			worst = max(worst, e)
			about[e] = append(about[e], short(&list[i]))
			reason[e] = cmp.Or(reason[e], reasoned)
			switch e {
			case layout.Node:
				node = append(node, list[i])
			case layout.Live:
				if units := restartsOf(p, c.Name); c.Kind == "file" && len(units) > 0 {
					f.commands = append(f.commands,
						c.Name+" systemctl restart "+strings.Join(units, " "))
				}
			case layout.Restart:
				if c.Kind == "file" {
					f.restarts = append(f.restarts, c.Name+" "+startsAnew(p, c, &list[i]))
				}
				f.drain = f.drain || drains(c, &list[i])
				if isShare(c, &list[i]) {
					f.commands = append(f.commands, c.Name+" forget_shares")
				}
			}
		}
		f.kubectl = append(f.kubectl, Changes(node)...)
		if !writable(p, c) {
			unwritten = append(unwritten, c.Title())
		}
		for e, names := range about {
			if reason[e] != datesAlone { // the machine's own end says it
				why[e] = append(why[e], because(c, names, e, reason[e]))
			}
		}
	}
	f.unwritten = firstOf(unwritten)
	// A kubelet starts a static pod anew whatever has changed in its manifest.
	for _, c := range p.Changes {
		row := layout.FileAt(c.Name)
		if c.Kind == "file" && row != nil && strings.HasPrefix(c.Name, plan.ManifestsDir+"/") &&
			!slices.Contains(f.restarts, c.Name+" "+row.Restarts) {
			f.restarts = append(f.restarts, c.Name+" "+row.Restarts)
			why[layout.Restart] = append(why[layout.Restart], c.Title()+": "+row.Why)
			if worst == layout.Live || worst == layout.Node {
				why[layout.Live], worst = why[worst], layout.Restart
			}
		}
	}
	switch worst {
	case layout.Replace:
		f.verdict = Replace
	case layout.Restart, layout.Live, layout.Node:
		if f.verdict = Live; worst == layout.Restart {
			f.verdict, f.before = Restart, end(p)
		}
		f.live = f.unwritten == ""
		if worst != layout.Node && !f.live {
			f.verdict = Replace
			why[worst] = append(why[worst], "kiln apply does not write what changes besides: "+
				f.unwritten)
		}
	case layout.Later, layout.Apply:
		f.verdict, f.before = NextReplacement, end(p)
	}
	f.why = why[worst]
	if f.verdict == Restart {
		f.why = append(f.why, why[layout.Live]...)
	}
	return f
}

// end returns the day on which the certificates end that a running machine has, if its new document
// has others; else it is empty.
func end(p *change.Pair) string {
	old, new := p.Old.Properties.Value("until"), p.New.Properties.Value("until")
	t, err := time.Parse(time.RFC3339, old)
	if err != nil || old == new || p.Old.Pool {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// short returns a field's name for a reason: a flag without its command, a field of a pod's
// container without the container.
func short(f *change.Field) string {
	if i := strings.LastIndex(f.Name, " --"); i >= 0 {
		return f.Name[i+1:]
	}
	return container.ReplaceAllString(f.Name, "")
}

var container = regexp.MustCompile(`^spec\.containers\[[^]]*\]\.`)

// because returns a reason in words: the change, the names of the changed fields if they matter,
// and the given reason.
func because(c *change.Change, names []string, effect layout.Effect, reason string) string {
	text := c.Title()
	if c.Kind == "unit" { // its entry comes or goes, not the unit
		return text + ": " + reason
	}
	names = slices.DeleteFunc(slices.Compact(names), func(s string) bool { return s == "" })
	if c.What != change.Changed {
		text += " " + c.What
	}
	if reason != "" && (c.Kind != "file" || effect < layout.Restart) {
		names = nil
	}
	if about := strings.Join(slices.DeleteFunc([]string{firstOf(names), reason},
		func(s string) bool { return s == "" }), "; "); about != "" {
		text += ": " + about
	}
	return text
}

// firstOf returns the first names, and how many more there are.
func firstOf(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames:maxNames], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// maxNames is how many fields a reason names.
const maxNames = 4

// effect returns what a field's change asks of a running machine, and why. Names of other machines
// in a machine's certificate ask nothing: clients reach the machine by its own names, and by those
// that all machines have.
func (d *transition) effect(
	p *change.Pair, c *change.Change, f *change.Field,
) (layout.Effect, string) {
	if c.Kind == "file" && f.Name == "certificate names" &&
		(d.old.Has(f.Either()) || d.new.Has(f.Either())) {
		return layout.Later, "names of other machines in its certificate"
	}
	if c.Kind == "key" && !(hasPlainKeys(p.Old) && hasPlainKeys(p.New)) {
		return layout.Replace, "kiln apply changes keys only if both documents have some, all " +
			"without options"
	}
	e, why := effectOf(p, c, f)
	switch {
	case c.Kind == "file" && c.Name == plan.CACert && p.Old.Pool:
		e, why = layout.Replace, "its kubelet has a certificate of the older CA"
	case c.Kind == "machine" && f.Name == "until" && p.Old.Pool:
		why = fmt.Sprintf("its bootstrap token was valid until %s; a machine that has joined "+
			"needs none", change.Text(f.Old))
	case c.Kind == "machine" && f.Name == "until":
		e, why = layout.Restart, "the certificates that it runs with end on that day"
	case c.Kind == "machine" && f.Name == "kubelet" && fetches(p):
		e, why = layout.Restart, fmt.Sprintf("it fetches kubelet %s", change.Text(f.New))
	case c.Kind == "file" && c.Name == plan.ArtifactList && e == layout.Restart && !fetches(p):
		e, why = layout.Replace, ""
	case c.Kind == "machine" && e == layout.Replace:
		why = fmt.Sprintf("%s %s → %s", f.Name, change.Text(f.Old), change.Text(f.New))
	}
	return e, why
}

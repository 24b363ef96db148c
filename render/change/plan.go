package change

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kiln/render/layout"
)

// What becomes of a machine.
const (
	Nothing         = "nothing"
	NextReplacement = "next replacement" // its document changed, and the running machine has no use for it
	Live            = "live"             // files are brought to the running machine
	Replace         = "replace"
	Add             = "add"
	Remove          = "remove"
)

// Roles, as a twin names them.
const (
	controlPlane = "control-plane"
	worker       = "worker"
	etcdRole     = "etcd"
)

// Plan is what has to be done so that running machines are what the newer state says.
type Plan struct {
	// Refused are changes that would break the running cluster; with one of them there are no steps.
	Refused []Refusal `json:"refused,omitempty"`
	// Forced are those that were asked for by name.
	Forced   []Refusal `json:"forced,omitempty"`
	Machines []Verdict `json:"machines"`
	Steps    []Step    `json:"steps,omitempty"`

	etcdctl string // how the program is called that steps name
}

// Verdict is what becomes of some machines, and why.
type Verdict struct {
	Machines []string `json:"machines,omitempty"`
	Pools    []string `json:"pools,omitempty"`
	Verdict  string   `json:"verdict"`
	Why      []string `json:"why,omitempty"`
}

// Step is done before the next one begins.
type Step struct {
	Do       string   `json:"do"` // Add, Replace, Remove, Live or Apply
	Machines []string `json:"machines,omitempty"`
	Pools    []string `json:"pools,omitempty"`
	// AtATime is how many of the machines may be away together.
	AtATime int      `json:"atATime,omitempty"`
	How     []string `json:"how"`
	// Wait is what must be true before the next machine, and before the next step.
	Wait []string `json:"wait,omitempty"`
}

// Apply is the step in which API objects are applied.
const Apply = "apply"

// Options say how a plan is made.
type Options struct {
	// Force names the refusals that are overridden.
	Force []string
	// MaxUnavailable is how many workers may be away together: a number, or a share such as 10%.
	MaxUnavailable string
}

// fate is a machine with its verdict.
type fate struct {
	*pair
	verdict string
	why     []string
	live    []string // files that the running machine can have
	kubectl []string // commands about its Node, without its name
}

// New makes the plan for a difference. It fails if an option is wrong.
func New(d *Diff, o Options) (*Plan, error) {
	p := &Plan{}
	var fates []*fate
	for _, pair := range d.machines {
		fates = append(fates, judged(d, pair))
	}
	if err := p.refuse(refusals(d, fates), o.Force); err != nil {
		return nil, err
	}
	p.verdicts(fates)
	s := &steps{diff: d, fates: fates}
	var err error
	if s.share, err = share(o.MaxUnavailable); err != nil {
		return nil, err
	}
	if len(p.Refused) == 0 {
		p.Steps, p.etcdctl = s.all(), s.etcdctl()
	}
	return p, nil
}

// judged decides what becomes of one machine.
func judged(d *Diff, p *pair) *fate {
	f := &fate{pair: p, verdict: Nothing}
	switch p.what() {
	case Added:
		f.verdict = Add
		return f
	case Removed:
		f.verdict = Remove
		return f
	}
	worst := layout.Later - 1
	why := map[layout.Effect][]string{}
	for _, c := range p.changes {
		list := c.Fields
		if c.What != Changed {
			list = []Field{{}}
		}
		about := map[layout.Effect][]string{} // fields
		reason := map[layout.Effect]string{}
		for i := range list {
			e, because := d.effect(c, &list[i])
			worst = max(worst, e)
			about[e] = append(about[e], list[i].short())
			reason[e] = cmp.Or(reason[e], because)
			switch e {
			case layout.Live:
				f.live = append(f.live, c.Name)
			case layout.Node:
				f.kubectl = append(f.kubectl, nodeCommand(c, &list[i]))
			}
		}
		for e, names := range about {
			why[e] = append(why[e], c.because(names, reason[e]))
		}
	}
	f.live = slices.Compact(f.live)
	switch worst {
	case layout.Replace:
		f.verdict = Replace
	case layout.Live, layout.Node:
		f.verdict = Live
	case layout.Later, layout.Apply:
		f.verdict = NextReplacement
	}
	if f.verdict == Live {
		f.why = slices.Concat(why[layout.Live], why[layout.Node])
	} else {
		f.why = why[worst]
	}
	return f
}

// short is a field's name for a reason: flags without what they are flags of, and a pod's only container is understood.
func (f *Field) short() string {
	if i := strings.LastIndex(f.Name, " --"); i >= 0 {
		return f.Name[i+1:]
	}
	return container.ReplaceAllString(f.Name, "")
}

var container = regexp.MustCompile(`^spec\.containers\[[^]]*\]\.`)

// because is a reason: what changed, in which parts if they have names, and what is to be said of it.
func (c *Change) because(names []string, reason string) string {
	text := c.title()
	names = slices.DeleteFunc(slices.Compact(names), func(s string) bool { return s == "" })
	if c.What != Changed {
		text += " " + c.What
	}
	if reason != "" {
		return text + ": " + reason
	}
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames:maxNames], fmt.Sprintf("and %d more", more))
	}
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	return text
}

// maxNames is how many parts of a thing a reason names.
const maxNames = 4

// nodeCommand changes a label or taint of a Node, whose name comes in place of NAME.
func nodeCommand(c *Change, f *Field) string {
	if strings.HasPrefix(f.Name, "registerWithTaints") {
		var taint struct{ Key, Value, Effect string }
		if err := json.Unmarshal([]byte(f.either()), &taint); err != nil {
			return "kubectl taint node NAME …  # " + f.either()
		}
		text := "kubectl taint --overwrite node NAME " + taint.Key
		if taint.Value != "" {
			text += "=" + taint.Value
		}
		text += ":" + taint.Effect
		if f.New == nil {
			text += "-"
		}
		return text
	}
	if f.New == nil {
		label, _, _ := strings.Cut(*f.Old, "=")
		return "kubectl label node NAME " + label + "-"
	}
	return "kubectl label --overwrite node NAME " + *f.New
}

// title is how people are told of a change.
func (c *Change) title() string {
	switch {
	case c.Kind == "file":
		return c.Name
	case c.Kind == "machine":
		return "the machine"
	}
	return strings.TrimSpace(c.Kind + " " + c.Name)
}

// effect is what a field's change means. Names of other machines in a certificate are of no use to the machine that shows it: it is
// reached by its own, and by those that all have.
func (d *Diff) effect(c *Change, f *Field) (layout.Effect, string) {
	if c.Kind == "file" && f.Name == "certificate names" && (d.old.has(f.either()) || d.new.has(f.either())) {
		return layout.Later, "names of other machines in its certificate"
	}
	e, why := effectOf(c, f)
	switch {
	case c.Kind == "machine" && f.Name == "until":
		why = fmt.Sprintf("what it runs with ends on %s; replace it before", deref(f.Old))
	case c.Kind == "machine" && e == layout.Replace:
		why = fmt.Sprintf("%s %s → %s", f.Name, deref(f.Old), deref(f.New))
	}
	return e, why
}

func deref(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

// has says that a machine of the cluster has this name or address.
func (c *Cluster) has(name string) bool {
	return slices.ContainsFunc(c.Machines, func(m *Machine) bool {
		return !m.Pool && (m.Name == name || slices.Contains(m.addresses(), name))
	})
}

func (m *Machine) addresses() []string { return commas(m.Facts.Value("addresses")) }

// member says that the machine carries a member of etcd.
func (m *Machine) member() bool {
	return m.Entries.Find(Key{"file", "/etc/kubernetes/manifests/etcd.yaml"}) != nil
}

// members are the machines with a member of etcd.
func (c *Cluster) members() (out []*Machine) {
	for _, m := range c.Machines {
		if m.member() {
			out = append(out, m)
		}
	}
	return out
}

// refuse sorts the refusals into those that stay and those that were overridden by name.
func (p *Plan) refuse(list []Refusal, force []string) error {
	for _, name := range force {
		if !slices.Contains(Refusals(), name) {
			return fmt.Errorf("--force %s: no such refusal; there are %s", name, strings.Join(Refusals(), ", "))
		}
		if !slices.ContainsFunc(list, func(r Refusal) bool { return r.Name == name }) {
			return fmt.Errorf("--force %s: this plan is not refused for it; leave it out", name)
		}
	}
	for _, r := range list {
		if slices.Contains(force, r.Name) {
			p.Forced = append(p.Forced, r)
		} else {
			p.Refused = append(p.Refused, r)
		}
	}
	return nil
}

// verdicts folds the machines that fare alike, in the order in which something is done.
func (p *Plan) verdicts(fates []*fate) {
	order := []string{Add, Replace, Remove, Live, NextReplacement, Nothing}
	by := map[string]int{}
	for _, f := range fates {
		id := f.verdict + "\x00" + strings.Join(f.why, "\x00")
		i, ok := by[id]
		if !ok {
			i = len(p.Machines)
			by[id] = i
			p.Machines = append(p.Machines, Verdict{Verdict: f.verdict, Why: f.why})
		}
		f.machine().AddTo(&p.Machines[i].Machines, &p.Machines[i].Pools)
	}
	slices.SortStableFunc(p.Machines, func(a, b Verdict) int {
		return cmp.Compare(slices.Index(order, a.Verdict), slices.Index(order, b.Verdict))
	})
}

// Text writes a plan for people.
func (p *Plan) Text(form Form) string {
	w := &writer{form: form}
	for _, list := range []struct {
		title    string
		refusals []Refusal
	}{{"refused", p.Refused}, {"forced", p.Forced}} {
		if len(list.refusals) == 0 {
			continue
		}
		w.section(list.title)
		for _, r := range list.refusals {
			w.line(fmt.Sprintf("  %s: %s", r.Name, r.Why))
			w.line("      instead: " + r.Instead)
		}
		w.end()
	}
	w.section("machines")
	for _, v := range p.Machines {
		w.line(fmt.Sprintf("  %s: %s", v.Verdict, Names(v.Machines, v.Pools)))
		for i, why := range v.Why {
			if i == maxReasons {
				w.line(fmt.Sprintf("      and %d more", len(v.Why)-i))
				break
			}
			w.line("      " + why)
		}
	}
	w.end()
	if slices.ContainsFunc(p.Steps, func(s Step) bool { return strings.Contains(strings.Join(s.How, "\n"), "etcdctl ") }) {
		w.line("")
		w.line("etcdctl below is " + p.etcdctl)
	}
	for i, s := range p.Steps {
		w.step(i+1, &s)
	}
	return w.text.String()
}

// maxReasons is how many reasons of a verdict are shown; kiln diff shows all.
const maxReasons = 8

// doing is how a step's title begins.
var doing = map[string]string{Add: "add", Replace: "replace", Remove: "remove", Live: "change, while they run:", Apply: "apply API objects"}

func (w *writer) step(n int, s *Step) {
	title := fmt.Sprintf("%d. %s", n, doing[s.Do])
	if who := Names(s.Machines, s.Pools); who != "" {
		title += " " + who
	}
	if s.AtATime > 0 && len(s.Machines) > s.AtATime {
		title += fmt.Sprintf(", %d at a time", s.AtATime)
	}
	w.section(title)
	for _, line := range s.How {
		w.line("   " + line)
	}
	for _, line := range s.Wait {
		w.line("   wait: " + line)
	}
	w.end()
}

// Package rollout says what has to be done so that running machines get from one state of a cluster
// to another: which of them are replaced, in which order, and which changes would break the cluster
// and are refused. It reads what package change has found, and knows nothing of how two states are
// compared.
package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
)

// What has to be done with a machine.
const (
	Nothing = "nothing"
	// its document changed, but the running machine needs nothing of it
	NextReplacement = "next replacement"
	Live            = "live"    // it is changed while it runs: its Node, or files of it
	Restart         = "restart" // so it is, and what reads the files starts anew
	Wait            = "wait"    // it runs its new document, and is not ready yet
	Replace         = "replace"
	Add             = "add"
	Remove          = "remove"
)

// Roles, as a state names them.
const (
	controlPlane = "control-plane"
	worker       = "worker"
	etcdRole     = "etcd"
)

// Steps are the steps that bring running machines to the newer state.
type Steps struct {
	// Hop says which of several steps between minors of Kubernetes this is. It is empty if there is
	// one only.
	Hop string `json:"hop,omitempty"`
	// Refused are changes that would break the running cluster. If there is one, there are no
	// steps.
	Refused []Refusal `json:"refused,omitempty"`
	// Forced are refusals that were overridden by name.
	Forced []Refusal `json:"forced,omitempty"`
	// Rotations are the roots that go to another stage.
	Rotations []Rotation `json:"rotations,omitempty"`
	// Running is where the machines stand, if the steps begin with what runs.
	Running  []running.Standing `json:"running,omitempty"`
	Machines []Verdict          `json:"machines"`
	List     []Step             `json:"steps,omitempty"`
	// Target is the state that the steps lead to.
	Target *change.Cluster `json:"-"`
}

// Verdict is what has to be done with some machines, and why.
type Verdict struct {
	Machines []string `json:"machines,omitempty"`
	Pools    []string `json:"pools,omitempty"`
	Verdict  string   `json:"verdict"`
	// Before is the day before which the machines are to be replaced, because what they run with
	// ends then. It is empty if there is no such day.
	Before string   `json:"before,omitempty"`
	Why    []string `json:"why,omitempty"`
}

// Step is one step. It is complete before the next one begins.
type Step struct {
	// Add, Replace, Remove, Restart, Live, Wait, Apply, Delete, Snapshot or Restore
	Do       string   `json:"do"`
	Machines []string `json:"machines,omitempty"`
	Pools    []string `json:"pools,omitempty"`
	// Nodes are those machines of a pool that are not done, if it is known.
	Nodes []string `json:"nodes,omitempty"`
	// AtATime is how many of the machines may be away at the same time.
	AtATime int    `json:"atATime,omitempty"`
	How     []Line `json:"how"`
	// Wait must be true before Then, before the next machine, and before the next step.
	Wait []Line `json:"wait,omitempty"`
	// Then is what is done last.
	Then []Line `json:"then,omitempty"`

	// Batch is how many of the machines kiln roll does at the same time, one if it is 0.
	Batch int `json:"-"`
	// Person says that the step needs a person: kiln roll ends before it.
	Person bool `json:"-"`
	// Unsure says that nothing in the cluster tells whether the step was done.
	Unsure bool `json:"-"`
}

// MaxUnavailable is the usual number of workers that may be away at the same time.
const MaxUnavailable = "10%"

// MaxStates is how many states a plan compares at most.
const MaxStates = 20

// Words returns the words for what steps do.
func Words() []string { return slices.Sorted(maps.Keys(doing)) }

// Lines returns all lines of a step, in their order.
func (s *Step) Lines() []Line { return slices.Concat(s.How, s.Wait, s.Then) }

// Do of steps that are no verdict of a machine.
const (
	Apply    = "apply"    // API objects are applied
	Delete   = "delete"   // API objects that are no longer rendered are deleted
	Snapshot = "snapshot" // etcd's data is copied off a member
	Restore  = "restore"  // and comes back to it
)

// Options are the user's options for the steps.
type Options struct {
	// Force names the refusals that are overridden.
	Force []string
	// Running is what runs; nil if every machine runs the older state.
	Running *running.Running
	// Since are the states before the newer one, as kiln apply takes them: the earliest first, the
	// older state last. Without them the commands have a placeholder, OLD.
	Since []string
	// Keep are the commands that keep copies of such states before the newer one is rendered.
	Keep []string
	// Documents is the folder of the newer state's documents, if that is what the user named.
	Documents string
	// Now is the newer state as the user named it, if there are several: the steps name it, so that
	// nobody takes the documents of another one.
	Now string
	// isHop reports whether the steps are those of one hop of several, and follows whether another
	// hop comes after it.
	isHop, follows bool
	// Remembered returns the machines of which a program has noted that they are as this state
	// wants them, for Running; nil if there are none.
	Remembered func(*change.Cluster) []string
	// Scratch begins the names of files that the commands write and remove; empty for the working
	// directory.
	Scratch string
	// MaxUnavailable is how many workers may be away at the same time: a number, or a share such as
	// 10%.
	MaxUnavailable string
}

// transition is the way from the older state to the newer one.
type transition struct {
	old, new *change.Cluster
	before   *change.Cluster // the older state that was named
	machines []*change.Pair
	seen     *running.Observation // nil if the older state is what runs
}

func newTransition(d *change.Diff) *transition {
	t := &transition{machines: d.Pairs()}
	t.old, t.new = d.States()
	t.before = t.old
	return t
}

// decisions returns what has to be done with each machine.
func (d *transition) decisions() (out []*decision) {
	for _, pair := range d.machines {
		f := decide(d, pair)
		if d.seen != nil {
			f.correct(d.seen)
		}
		out = append(out, f)
	}
	return out
}

// New returns the steps for a difference. It fails if an option is wrong.
func New(d *change.Diff, o Options) (*Steps, error) {
	whole := newTransition(d)
	p := &Steps{Target: whole.new}
	all := whole.decisions()
	t, decisions := whole, all
	if o.Running != nil {
		seen, err := running.Observe(d, o.Running)
		if err != nil {
			return nil, err
		}
		t = newTransition(change.Compare(seen.Runs, whole.new))
		t.seen, p.Running, t.before = seen, seen.List, whole.old
		decisions = t.decisions()
	}
	anyForce := o.isHop || o.Running != nil
	if err := p.refuse(refusals(t, decisions), o.Force, anyForce); err != nil {
		return nil, err
	}
	p.Rotations = t.rotations(decisions)
	p.verdicts(decisions)
	s := &sequencer{diff: t, decisions: decisions, all: all, options: o}
	var err error
	if s.share, err = share(o.MaxUnavailable); err != nil {
		return nil, err
	}
	if len(p.Refused) == 0 {
		p.List = s.steps()
	}
	return p, nil
}

// refuse divides the refusals into those that stay and those that were overridden by name. It fails
// if a name is that of no refusal or, unless any is allowed, of none of this change. A change that
// was begun may have been refused before, and of several hops another one may be.
func (p *Steps) refuse(list []Refusal, force []string, anyForce bool) error {
	for _, name := range force {
		if !slices.Contains(Refusals(), name) {
			return fmt.Errorf("--force %s: no such refusal; there are %s", name,
				strings.Join(Refusals(), ", "))
		}
		if !anyForce && !has(list, name) {
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

// has reports whether a refusal of this name is in a list.
func has(list []Refusal, name string) bool {
	return slices.ContainsFunc(list, func(r Refusal) bool { return r.Name == name })
}

// verdicts puts machines with the same verdict and reasons together, in the order of the verdicts
// and of the days before which they have to be done.
func (p *Steps) verdicts(decisions []*decision) {
	order := []string{Wait, Add, Replace, Remove, Restart, Live, NextReplacement, Nothing}
	by := map[string]int{}
	for _, f := range decisions {
		id := strings.Join(append([]string{f.verdict, f.before}, f.why...), "\x00")
		i, ok := by[id]
		if !ok {
			i = len(p.Machines)
			by[id] = i
			p.Machines = append(p.Machines,
				Verdict{Verdict: f.verdict, Before: f.before, Why: f.why})
		}
		f.Machine().AddTo(&p.Machines[i].Machines, &p.Machines[i].Pools)
	}
	slices.SortStableFunc(p.Machines, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Verdict), slices.Index(order, b.Verdict)),
			cmp.Compare(a.Before, b.Before))
	})
}

// Text returns the steps for people.
func (p *Steps) Text(form change.Form) string {
	w := change.NewWriter(form)
	if p.Hop != "" {
		w.Section("hop " + p.Hop)
		w.End()
	}
	for _, list := range []struct {
		title    string
		refusals []Refusal
	}{{"refused", p.Refused}, {"forced", p.Forced}} {
		if len(list.refusals) == 0 {
			continue
		}
		w.Section(list.title)
		for _, r := range list.refusals {
			w.Line(fmt.Sprintf("  %s: %s", r.Name, r.Why))
			w.Line("      instead: " + r.Instead)
		}
		w.End()
	}
	if len(p.Rotations) > 0 && len(p.Refused) == 0 {
		w.Section("rotations")
		for i := range p.Rotations {
			lines := p.Rotations[i].Lines()
			w.Line("  " + lines[0])
			for _, line := range lines[1:] {
				w.Line("      " + line)
			}
		}
		w.End()
	}
	if len(p.Running) > 0 {
		w.Section("running")
		for _, s := range p.Running {
			line := fmt.Sprintf("  %s: %s", s.Standing, change.Names(
				slices.Concat(s.Machines, s.Nodes), nil))
			w.Line(line)
			if s.Why != "" {
				w.Line("      " + s.Why)
			}
		}
		w.End()
	}
	w.Section("machines")
	for _, v := range p.Machines {
		title := v.Verdict
		if v.Before != "" {
			title += ", before " + v.Before
		}
		line := fmt.Sprintf("  %s: %s", title, change.Names(v.Machines, v.Pools))
		w.Colour(cmp.Or(verdictMarks[v.Verdict], change.Changed), line)
		for i, why := range v.Why {
			if i == maxReasons {
				w.Line(fmt.Sprintf("      and %d more", len(v.Why)-i))
				break
			}
			w.Line("      " + why)
		}
		if v.Verdict == NextReplacement {
			w.Line("      until then kiln apply needs this older state too: one more --since")
		}
	}
	w.End()
	for i, s := range p.List {
		writeStep(w, i+1, &s)
	}
	return w.String()
}

// maxReasons is how many reasons of a verdict are shown; kiln diff shows all.
const maxReasons = 8

// verdictMarks has the mark of a verdict that adds or removes machines.
var verdictMarks = map[string]string{Add: change.Added, Remove: change.Removed}

// doing is the beginning of a step's title.
var doing = map[string]string{Add: "add", Replace: "replace", Remove: "remove",
	Restart: "change in place, with restarts:", Live: "change, while they run:",
	Wait: "wait for", Apply: "apply API objects",
	Delete:   "delete API objects that are no longer rendered",
	Snapshot: "take a snapshot of etcd on", Restore: "restore etcd on"}

// Title says what is done with which machines, and how many of them at a time.
func (s *Step) Title() string {
	title := doing[s.Do]
	if who := change.Names(s.Machines, s.Pools); who != "" {
		title += " " + who
	} else {
		title = strings.TrimSuffix(title, " on") // of an external etcd
	}
	if s.AtATime > 0 && len(s.Machines) > s.AtATime {
		title += fmt.Sprintf(", %d at a time", s.AtATime)
	}
	return title
}

func writeStep(w *change.Writer, n int, s *Step) {
	w.Section(fmt.Sprintf("%d. %s", n, s.Title()))
	for _, line := range s.How {
		w.Line("   " + line.Text)
	}
	for _, line := range s.Wait {
		w.Line("   wait: " + line.Text)
	}
	for _, line := range s.Then {
		w.Line("   " + line.Text)
	}
	w.End()
}

package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/rotation"
	"kiln.dev/kiln/render/twin/change"
)

// Rotation is the way of one root from a stage to another.
type Rotation struct {
	Root string `json:"root"`
	From string `json:"from"` // trust, issue, or empty if no rotation was under way
	To   string `json:"to"`
	// Means is what holds when every machine is replaced, and Before what must be true before the
	// first one is.
	Means  string   `json:"means"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
	// Machines and Pools are those that the rotation concerns.
	Machines []string `json:"machines,omitempty"`
	Pools    []string `json:"pools,omitempty"`
}

// stateOf returns the state of a root. A state that kiln does not write is that of a root that
// never was rotated.
func stateOf(c *change.Cluster, root pki.Root) pki.Rotation {
	r, err := pki.ParseRotation(c.Properties.Value(pki.RotationFact + string(root)))
	if err != nil {
		return pki.Rotation{Generation: 1}
	}
	return r
}

// rotates reports whether a root is in another stage in the newer state, or has another successor.
func (d *transition) rotates(root pki.Root) bool {
	old, new := stateOf(d.old, root), stateOf(d.new, root)
	return old.Position() != new.Position() || old.Rivals(&new)
}

// rotations returns the ways of all roots that are in another stage in the newer state.
func (d *transition) rotations(decisions []*decision) (out []Rotation) {
	for _, root := range pki.Roots() {
		if !d.rotates(root) {
			continue
		}
		old, new := stateOf(d.old, root), stateOf(d.new, root)
		r := Rotation{
			Root: string(root), From: string(old.Stage), To: string(new.Stage),
			Means: rotation.Meaning(root, new.Stage),
		}
		switch forward := new.Position() > old.Position(); {
		case forward:
			r.Before = rotation.Conditions(root, old.Stage, "")
			if new.Stage == pki.Settled {
				r.Before = append(r.Before, rotation.First(root)...)
				r.After = rotation.Remaining(root)
			}
		case new.Stage == pki.Settled:
			r.Means = "the rotation is given up: the new root is forgotten"
		}
		r.Machines, r.Pools = names(d.concerned(root, decisions))
		out = append(out, r)
	}
	return out
}

// concerned returns the machines of both states that have something of a root.
func (d *transition) concerned(root pki.Root, decisions []*decision) (out []*decision) {
	for _, role := range rotation.Roles(root) {
		for _, f := range decisions {
			if f.What() == change.Changed && f.New.Role == role {
				out = append(out, f)
			}
		}
	}
	return out
}

// skippedStage: a root is more than one stage away, or another one than machines trust, so machines
// of the two states refuse each other while they are replaced.
func skippedStage(d *transition, decisions []*decision) string {
	var skips []string
	olds := []*change.Cluster{d.old}
	if d.seen != nil {
		olds = append(olds, d.seen.Ran...) // machines that lag, and those that do not
	}
	for _, root := range pki.Roots() {
		what := ""
		for _, old := range olds {
			what = cmp.Or(what, leap(d, root, old))
		}
		if what == "" {
			continue
		}
		machines, pools := names(d.concerned(root, decisions))
		skips = append(skips, fmt.Sprintf("%s %s, and until all are replaced, old and new "+
			"machines refuse each other: %s", root, what, change.Names(machines, pools)))
	}
	return strings.Join(skips, "; ")
}

// leap returns how a root goes on from a state if machines with the older and the newer one refuse
// each other. It returns nothing if they do not.
func leap(d *transition, root pki.Root, from *change.Cluster) string {
	old, new := stateOf(from, root), stateOf(d.new, root)
	switch steps := new.Position() - old.Position(); {
	case !root.Staged():
	case steps < -1 || steps > 1:
		return fmt.Sprintf("goes from %s to %s in one step",
			describeStage(&old), describeStage(&new))
	case old.Rivals(&new) && (old.Stage != pki.Trust || new.Stage != pki.Trust):
		return fmt.Sprintf("g%d of %s takes the place of another g%d, of %s", new.Newest(),
			new.Begun.Format(time.RFC3339), old.Newest(), old.Begun.Format(time.RFC3339))
	}
	return ""
}

// describeStage returns a root's generation and stage in words.
func describeStage(r *pki.Rotation) string {
	if r.Stage == pki.Settled {
		return fmt.Sprintf("g%d alone", r.Generation)
	}
	return fmt.Sprintf("g%d, %s", r.Generation, r.Stage)
}

// Lines returns the way of a root for people: the root with both stages, then what holds and what
// has to be done.
func (r *Rotation) Lines() []string {
	stage := func(s, none string) string {
		if s == "" {
			return none
		}
		return "stage " + s
	}
	from, to := stage(r.From, "one root"), stage(r.To, "one root")
	if !pki.Root(r.Root).Staged() {
		from = "one"
		to = "another one"
	}
	lines := []string{fmt.Sprintf("%s: %s → %s", r.Root, from, to), r.Means,
		"machines, in this order: " + change.Names(r.Machines, r.Pools)}
	for _, line := range r.Before {
		lines = append(lines, "before the first one: "+line)
	}
	for _, line := range r.After {
		lines = append(lines, "after the last one: "+line)
	}
	if r.To != "" {
		lines = append(lines,
			"when all run it: kiln secrets rotate "+r.Root+" --next --all-replaced")
	}
	return lines
}

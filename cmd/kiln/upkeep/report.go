package upkeep

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/rotation"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// rotateReport is what the verb prints about some roots.
type rotateReport struct {
	Bundle string      `json:"bundle,omitempty"` // the file that was changed
	Roots  []rootState `json:"roots"`
}

// rootState is the state of one root, and what to do next.
type rootState struct {
	Root       string    `json:"root"`
	Generation int       `json:"generation"`
	Stage      pki.Stage `json:"stage"` // trust, issue, or empty if no rotation is under way
	Since      string    `json:"since,omitempty"`
	Means      string    `json:"means,omitempty"`
	// Machines and Pools have something of the root. They are replaced in this order.
	Machines []string `json:"machines,omitempty"`
	Pools    []string `json:"pools,omitempty"`
	// Conditions must be true before Next, beside that the machines run the stage.
	Conditions []string `json:"conditions,omitempty"`
	Next       string   `json:"next"` // empty if the key of the root is elsewhere
	// First is what to do before the first machine gets a root that was replaced in one step.
	First []string `json:"first,omitempty"`
	// Left is what is left to do when the old root was dropped.
	Left []string `json:"left,omitempty"`
	// Exposure says until when a stolen root is of use.
	Exposure string `json:"exposure,omitempty"`
}

// stateOf returns the state of a root of a cluster.
func stateOf(p *plan.Plan, half *pki.Public, root pki.Root) rootState {
	r := half.Rotation(root)
	s := rootState{Root: string(root), Generation: r.Generation, Stage: r.Stage}
	if !r.Since.IsZero() {
		s.Since = r.Since.Format(time.RFC3339)
	}
	dropped := r.Stage == pki.Settled && r.Generation > 1
	if dropped || r.Stage != pki.Settled {
		s.Means = rotation.Meaning(root, r.Stage)
	}
	s.Machines, s.Pools = concerned(p, root)
	s.Conditions = rotation.Conditions(root, r.Stage, rotation.TokenWait(p))
	switch {
	case slices.Contains(half.External.Roots, root):
	case r.Stage != pki.Settled:
		s.Next = "kiln secrets rotate " + string(root) + " --next --all-replaced" + p.Config.Flag()
	default:
		s.Next = "kiln secrets rotate " + string(root) + p.Config.Flag()
	}
	if dropped {
		s.First, s.Left = rotation.First(root), rotation.Remaining(root)
	}
	return s
}

// concerned returns the machines that have something of a root, in the order in which they are
// replaced.
func concerned(p *plan.Plan, root pki.Root) (machines, pools []string) {
	for _, role := range rotation.Roles(root) {
		for i := range p.Machines {
			switch m := &p.Machines[i]; {
			case m.Role != role:
			case m.Pool:
				pools = append(pools, m.Name)
			default:
				machines = append(machines, m.Name)
			}
		}
	}
	return machines, pools
}

// writeStatus writes a table of roots.
func writeStatus(w io.Writer, states []rootState) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	term.Printf(table, "ROOT\tSTAGE\tSINCE\tSAFE NEXT STEP\n")
	for _, s := range states {
		stage, since, next := fmt.Sprintf("g%d", s.Generation), "", "to rotate it: "+s.Next
		if s.Since != "" {
			since = s.Since[:len(time.DateOnly)]
		}
		if s.Next == "" {
			next = "none: its key is elsewhere (docs/external-ca.md)"
		}
		if s.Stage != pki.Settled {
			stage = fmt.Sprintf("%s (g%d → g%d)", s.Stage, s.Generation, s.Generation+1)
			run := " run it: "
			if len(s.Machines)+len(s.Pools) == 1 {
				run = " runs it: "
			}
			next = "when " + change.Names(s.Machines, s.Pools) + run + s.Next
		}
		term.Printf(table, "%s\t%s\t%s\t%s\n", s.Root, stage, since, next)
	}
	_ = table.Flush()
	for _, s := range states {
		for _, line := range s.Conditions {
			term.Printf(w, "\nbefore %s goes on: %s\n", s.Root, line)
		}
		for _, line := range s.Left {
			term.Printf(w, "\n%s is left: %s\n", s.Root, line)
		}
	}
}

// writeChanged writes what was done to some roots, and what to do next.
func writeChanged(w io.Writer, config string, r *rotateReport) {
	var machines, pools []string
	for i := range r.Roots {
		s := &r.Roots[i]
		stage := fmt.Sprintf("g%d alone", s.Generation)
		if s.Stage != pki.Settled {
			stage = "stage " + string(s.Stage)
		}
		term.Printf(w, "%s: %s is in: %s\n", r.Bundle, s.Root, stage)
		if s.Means != "" {
			term.Printf(w, "  when all machines run it, %s\n", s.Means)
		}
		machines, pools = merge(machines, s.Machines), merge(pools, s.Pools)
	}
	term.Printf(w, "now:\n  render: kiln render --config %s --out DIR --review REVIEW\n",
		wording.ShellWord(config))
	term.Printf(w, "  what to do, in which order, if REVIEW is in git: "+
		"kiln plan HEAD:./REVIEW REVIEW\n")
	term.Printf(w, "  it concerns %s\n", change.Names(machines, pools))
	for i := range r.Roots {
		s := &r.Roots[i]
		for _, line := range s.Conditions {
			term.Printf(w, "  before %s goes on: %s\n", s.Root, line)
		}
		term.Each(w, "  before the first machine: %s\n", s.First)
		term.Each(w, "  after the last machine: %s\n", s.Left)
		if s.Stage != pki.Settled {
			term.Printf(w, "  when all run it: %s\n", s.Next)
		}
	}
}

// writeLeak writes the three passes that end the use of stolen roots.
func writeLeak(w io.Writer, r *rotateReport) {
	term.Printf(w, "\nwhat was stolen works\n")
	var names, machines, pools []string
	for _, s := range r.Roots {
		term.Printf(w, "  %s: %s\n", s.Root, s.Exposure)
		if s.Stage != pki.Settled {
			names = append(names, s.Root)
			machines, pools = merge(machines, s.Machines), merge(pools, s.Pools)
		}
	}
	if len(names) == 0 {
		return
	}
	who, next := change.Names(machines, pools), "kiln secrets rotate "+strings.Join(names, " ")
	term.Printf(w, `three passes end it, one after the other, each over %s
  1. trust: render, follow kiln plan, do what "before … goes on" says above;
     then: %s --next --all-replaced
  2. issue: render, follow kiln plan, restart all pods, do what that command says;
     then: %s --next --all-replaced
  3. drop: render, follow kiln plan, do what that command says
Do not wait for tokens to end: a pod that was not restarted in pass 2 loses the API.
Close the network meanwhile: docs/leaked.md.
`, who, next, next)
}

// merge appends the names that are not in the list yet.
func merge(list, more []string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

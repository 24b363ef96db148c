package roll

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/review"
)

// pause is the time between two looks at the cluster.
const pause = 2 * time.Second

// roller does the steps.
type roller struct {
	*flags
	states []rollout.State
	target string // the digest of what the machines get
	client *apiserver.Client
	kiln   string // this program
	log    *log
	lease  *lease // nil in a dry run

	mutex sync.Mutex // of what follows
	steps *rollout.Steps
	nodes map[string]*running.Node
	taken map[string]bool // new Nodes that came in place of others
}

// roll does the first step that is left, and asks again, until none is left.
func (r *roller) roll(ctx context.Context) error {
	before := ""
	for {
		if err := r.ask(ctx); err != nil {
			return err
		}
		steps := r.left()
		if err := r.require(steps); err != nil {
			return err
		}
		if err := r.takeBack(ctx); err != nil {
			return err
		}
		i := slices.IndexFunc(steps, hasWork)
		if i < 0 {
			return r.end()
		}
		s := steps[i]
		batch := r.batch(s)
		if len(batch) == 0 {
			r.log.say("left", s.Do, "", s.Title()+", as --until says")
			return term.ErrDifferent
		}
		now := fmt.Sprint(s.Do, batch, rollout.Texts(s.How))
		if now == before {
			return fmt.Errorf("%s: kiln plan still has this step after it was done", s.Title())
		}
		before = now
		if err := r.do(ctx, s, batch); err != nil {
			return err
		}
	}
}

// ask asks the cluster where it stands, and plans. It asks again while the API server is away.
func (r *roller) ask(ctx context.Context) error {
	return r.waitFor(ctx, "", "the API server", func() error { return r.askOnce(ctx) })
}

func (r *roller) askOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, apiserver.Limit)
	defer cancel()
	now, err := r.client.Running(limited)
	if err != nil {
		return err
	}
	o := r.options
	o.Running, now.Digest = now, review.DigestOf
	now.Done = append(r.lease.recall().Done, r.done...)
	steps, err := rollout.Next(r.states, o)
	if err != nil {
		return term.UsageError{Err: err}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.steps, r.nodes = steps, map[string]*running.Node{}
	for i := range now.Nodes {
		r.nodes[now.Nodes[i].Name] = &now.Nodes[i]
	}
	return nil
}

// left returns the steps that are left: not those that --skip names, and not those that were done
// and stay in the plan.
func (r *roller) left() (steps []*rollout.Step) {
	m := r.lease.recall()
	for i := range r.steps.List {
		if s := &r.steps.List[i]; !slices.Contains(r.skip, s.Do) &&
			!(s.Unsure && slices.Contains(m.Steps, keyOf(s))) {
			steps = append(steps, s)
		}
	}
	return steps
}

// keyOf returns a word for a step.
func keyOf(s *rollout.Step) string {
	sum := sha256.Sum256([]byte(s.Do + strings.Join(rollout.Texts(s.How), "\n")))
	return hex.EncodeToString(sum[:8])
}

// takeBack lets machines take pods again that a kiln roll has drained and changed, before it ended.
// If it did so later, the pods of the next machine might find no other one.
func (r *roller) takeBack(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		if where, _ := r.stands(name); where != running.Wanted || !r.nodes[name].Drained {
			continue
		}
		back := &job{machine: name, script: mark(name, "null", "null")}
		if err := r.start(ctx, back); err != nil {
			return err
		}
	}
	return nil
}

// hasWork reports whether a step has something to do for kiln: not if its lines are for people, or
// uncordon what somebody else has cordoned.
func hasWork(s *rollout.Step) bool {
	return len(s.Wait) > 0 || slices.ContainsFunc(s.How, func(l rollout.Line) bool {
		return l.Act != rollout.Say && l.Act != rollout.ByHand && l.Act != rollout.Uncordon
	})
}

// end says what is left to people.
func (r *roller) end() (err error) {
	for i := range r.steps.List {
		s := &r.steps.List[i]
		for _, l := range s.How {
			if l.Act == rollout.ByHand || l.Act == rollout.Uncordon {
				r.log.say("left", s.Do, "", l.Text)
				err = term.ErrDifferent
			}
		}
	}
	if err == nil {
		r.log.say("done", "", "", "nothing is left to do")
		r.lease.change(func(m *memory) { *m = memory{} })
	}
	return err
}

// require returns an error if the plan is refused, or steps need a person, or flags that say how.
func (r *roller) require(steps []*rollout.Step) error {
	var problems []error
	for _, no := range r.steps.Refused {
		problems = append(problems, fmt.Errorf("refused: %s: %s; instead: %s", no.Name, no.Why,
			no.Instead))
	}
	missing := map[string][]string{}
	for i, s := range steps {
		if s.Person && i == 0 {
			lines := rollout.Texts(slices.Concat(s.How, s.Wait, s.Then))
			problems = append(problems, fmt.Errorf("%s: this step is yours: %s; then go on with "+
				"the same command, and --skip %s", s.Title(), strings.Join(lines, "; "), s.Do))
		}
		for _, l := range slices.Concat(s.How, s.Then) {
			flag := ""
			switch {
			case s.Person:
			case l.Act == rollout.Boot && r.replace == "":
				flag = "--replace COMMAND"
			case l.Act == rollout.Destroy && r.remove == "":
				flag = "--remove COMMAND"
			case (l.Act == rollout.InPlace || l.On != "") && r.ssh+r.run == "":
				flag = "--ssh TARGET, or --run COMMAND,"
			}
			if flag != "" && !slices.Contains(missing[flag], s.Title()) {
				missing[flag] = append(missing[flag], s.Title())
			}
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(missing)) {
		problems = append(problems, fmt.Errorf("%s is missing, for: %s", flag,
			strings.Join(missing[flag], "; ")))
	}
	return errors.Join(problems...)
}

// batch returns the next machines of a step, one empty name if it has none. It returns none where
// --until says so.
func (r *roller) batch(s *rollout.Step) []string {
	all := machines(s)
	list := all[:min(max(1, s.Batch), len(all))]
	switch word, machine, _ := strings.Cut(r.until, ":"); {
	case word != s.Do:
	case machine == "":
		return nil
	case slices.Contains(list, machine):
		list = list[:slices.Index(list, machine)]
	}
	return list
}

// machines returns the machines and Nodes of a step, one empty name if it has none.
func machines(s *rollout.Step) []string {
	if list := slices.Concat(s.Machines, s.Nodes); len(list) > 0 {
		return list
	}
	return []string{""}
}

// do does a step for some of its machines, all at the same time.
func (r *roller) do(ctx context.Context, s *rollout.Step, batch []string) error {
	machine := strings.Join(batch, " ")
	r.log.say("step", s.Do, machine, strings.TrimSpace(s.Do+" "+machine))
	settled, err := r.settled(ctx)
	if err != nil {
		return err
	}
	before := r.nodes
	var group sync.WaitGroup
	errs := make([]error, len(batch))
	for i, machine := range batch {
		group.Go(func() {
			t := &turn{roller: r, step: s, machine: machine, before: before}
			if errs[i] = t.all(ctx); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", strings.TrimSpace(s.Do+" "+machine), errs[i])
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := r.remember(ctx, s, batch); err != nil || machine == "" {
		return err
	}
	if err := r.resettle(ctx, settled); err != nil {
		return err
	}
	return sleep(ctx, r.pause)
}

// remember notes a step or machines of which nothing else says that they are done.
func (r *roller) remember(ctx context.Context, s *rollout.Step, batch []string) error {
	if err := r.ask(ctx); err != nil {
		return err
	}
	changed := s.Unsure
	r.lease.change(func(m *memory) {
		if s.Unsure {
			m.Steps = append(m.Steps, keyOf(s))
			return
		}
		for _, machine := range batch {
			where, _ := r.stands(machine)
			if where == running.Unseen ||
				where == running.Unsaid && slices.Contains(s.Machines, machine) {
				m.Done, changed = append(m.Done, machine), true
			}
		}
	})
	if !changed {
		return nil
	}
	return r.waitFor(ctx, "", "the Lease", func() error {
		return r.lease.renew(ctx, r.lease.holder)
	})
}

// stands returns where a machine or a Node stands, and why.
func (r *roller) stands(name string) (where, why string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, s := range r.steps.Running {
		if slices.Contains(s.Machines, name) || slices.Contains(s.Nodes, name) {
			return s.Standing, s.Why
		}
	}
	return "", ""
}

// node returns a Node as it was seen last, nil if there is none.
func (r *roller) node(name string) *running.Node {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.nodes[name]
}

// print prints the commands of all steps, as if each went well.
func (r *roller) print(ctx context.Context) error {
	if err := r.ask(ctx); err != nil {
		return err
	}
	steps := r.left()
	if err := r.require(steps); err != nil {
		return err
	}
	for i, s := range steps {
		r.log.raw(fmt.Sprintf("# %d. %s", i+1, s.Title()))
		for _, machine := range machines(s) {
			t := &turn{roller: r, step: s, machine: machine}
			if err := t.all(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// sleep waits, and returns an error if it is interrupted.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

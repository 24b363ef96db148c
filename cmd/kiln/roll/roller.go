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
	"sync/atomic"
	"time"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// pollTime is the time between two looks at the cluster.
const pollTime = 2 * time.Second

// roller does the steps.
type roller struct {
	*flags
	states      []rollout.State
	digest      sync.Map // of the review twin of each machine of the states, once it was asked for
	digestOfAll string   // of what the machines get: of their inventory
	client      *apiserver.Client
	kiln        string // this program
	log         *log
	lease       *lease // nil in a dry run

	asking   sync.Mutex  // one asks after the other
	answered atomic.Bool // the API server has answered

	mutex   sync.Mutex // of what follows
	steps   *rollout.Steps
	nodes   map[string]*running.Node
	claimed map[string]bool // new Nodes that came in place of others
	isLeft  bool            // something that no later plan names is left to a person
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
		if err := r.uncordonDone(ctx); err != nil {
			return err
		}
		i := slices.IndexFunc(steps, hasWork)
		if i < 0 {
			return r.end()
		}
		s := steps[i]
		batch := r.batch(s, s.Batch, steps[i+1:])
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
	r.asking.Lock()
	defer r.asking.Unlock()
	limited, cancel := context.WithTimeout(ctx, apiserver.Limit)
	defer cancel()
	now, err := r.client.Running(limited)
	if err != nil {
		return err
	}
	o := r.options
	o.Running, now.Digest, now.Done = now, r.digestOf, slices.Clone(r.done)
	if done := r.lease.recall().Done; len(done) > 0 {
		o.Remembered = func(c *change.Cluster) (names []string) {
			for _, m := range c.Machines {
				if slices.Contains(done, r.doneKey(m)) {
					names = append(names, m.Name)
				}
			}
			return names
		}
	}
	steps, err := rollout.Next(r.states, o)
	if err != nil {
		return term.UsageError{Err: err}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.answered.Store(true)
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
			!(s.Unsure && slices.Contains(m.Steps, r.keyOf(s))) {
			steps = append(steps, s)
		}
	}
	return steps
}

// keyOf returns a word for a step of the present hop.
func (r *roller) keyOf(s *rollout.Step) string {
	lines := rollout.Texts(s.How)
	if s.Do == rollout.Snapshot {
		lines = nil // of whichever member: one is enough
	}
	text := strings.Join(append(lines, s.Do, r.steps.Hop), "\n")
	sum := sha256.Sum256([]byte(strings.ReplaceAll(text, r.options.Scratch, "")))
	return hex.EncodeToString(sum[:8])
}

// doneKey returns a word for a machine with its document.
func (r *roller) doneKey(m *change.Machine) string { return m.Name + " " + r.digestOf(m) }

// digestOf returns the digest of a machine's review twin. Each look at the cluster asks for all.
func (r *roller) digestOf(m *change.Machine) string {
	if known, ok := r.digest.Load(m); ok {
		return known.(string)
	}
	digest := review.DigestOf(m)
	r.digest.Store(m, digest)
	return digest
}

// uncordonDone lets machines take pods again that a kiln roll has drained and changed, before it
// ended. If it did so later, the pods of the next machine might find no other one. A mark on a Node
// that takes pods is of a drain that a person has ended: it goes.
func (r *roller) uncordonDone(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		n := r.nodes[name]
		if !n.Drained || n.Cordoned && r.stands(name) != running.Wanted {
			continue
		}
		if err := r.runJob(ctx, &job{machine: name, script: takePods(name)}); err != nil {
			return err
		}
	}
	return nil
}

// hasWork reports whether a step has something to do for kiln: not if its lines are for people, or
// uncordon Nodes. Those that kiln roll has drained take pods again by then.
func hasWork(s *rollout.Step) bool {
	return slices.ContainsFunc(slices.Concat(s.How, s.Wait), func(l rollout.Line) bool {
		return l.Act != rollout.Say && l.Act != rollout.ByHand && l.Act != rollout.Uncordon
	})
}

// end says what is left to people, and what --skip has left out.
func (r *roller) end() (err error) {
	left := func(s *rollout.Step, text string) {
		r.log.say("left", s.Do, "", text)
		err = term.ErrDifferent
	}
	for i := range r.steps.List {
		if s := &r.steps.List[i]; slices.Contains(r.skip, s.Do) && hasWork(s) && !s.Unsure {
			left(s, s.Title()+", which --skip leaves out")
		}
	}
	for _, s := range r.left() {
		for _, l := range slices.Concat(s.How, s.Wait) {
			if l.Act == rollout.ByHand || l.Act == rollout.Uncordon {
				left(s, l.Text)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		if r.nodes[name].Drained {
			r.log.say("left", "", name,
				"kubectl uncordon "+name+": an earlier kiln roll drained it")
			err = term.ErrDifferent
		}
	}
	if err == nil && r.isLeft {
		return term.ErrDifferent
	}
	if err == nil {
		r.log.say("done", "", "", "nothing is left to do")
	}
	return err
}

// require returns an error if --until names nobody, the plan is refused, the next step needs a
// person, steps need flags that say how, or documents that no argument names.
func (r *roller) require(steps []*rollout.Step) error {
	if err := r.checkUntil(); err != nil {
		return err
	}
	var problems []error
	for _, no := range r.steps.Refused {
		problems = append(problems, fmt.Errorf("refused: %s: %s; instead: %s", no.Name, no.Why,
			no.Instead))
	}
	missing := map[string][]string{}
	next := slices.IndexFunc(steps, hasWork)
	for i, s := range steps {
		if s.Person && i == next && !r.dry {
			lines := rollout.Texts(s.Lines())
			problems = append(problems, fmt.Errorf("%s: this step is yours: %s; then the same "+
				"command goes on (after a snapshot with --skip snapshot)", s.Title(),
				strings.Join(lines, "; ")))
		}
		for _, l := range s.Lines() {
			flag := ""
			switch {
			case s.Person:
			case l.Act != rollout.Say && l.Act != rollout.ByHand && !r.hasDocuments():
				return fmt.Errorf("%s: the folder of documents of %s is needed: name it in place "+
					"of the state", s.Title(), r.steps.Target.Version)
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

// hasDocuments reports whether the target of the present hop was named as a folder of documents.
func (r *roller) hasDocuments() bool {
	return slices.ContainsFunc(r.states, func(s rollout.State) bool {
		return s.Cluster == r.steps.Target && s.Documents != ""
	})
}

// batch returns the next machines of a step, at most so many, and one empty name if it has none. It
// returns none where --until says so: also if the machine that it names is in no step any more.
func (r *roller) batch(s *rollout.Step, most int, later []*rollout.Step) []string {
	all := machines(s)
	list := all[:min(max(1, most), len(all))]
	switch word, machine, _ := strings.Cut(r.until, ":"); {
	case word != s.Do:
	case slices.Contains(list, machine):
		list = list[:slices.Index(list, machine)] // those before it
	case slices.Contains(all, machine): // its turn comes later in this step
	case machine == "" || !slices.ContainsFunc(later, func(s *rollout.Step) bool {
		return s.Do == word && slices.Contains(machines(s), machine)
	}):
		return nil
	}
	return list
}

// checkUntil returns an error if --until names a machine that nobody knows.
func (r *roller) checkUntil() error {
	_, name, given := strings.Cut(r.until, ":")
	known := !given || r.node(name) != nil
	for _, s := range r.states {
		known = known || slices.ContainsFunc(s.Machines, func(m *change.Machine) bool {
			return m.Name == name && !m.Pool
		})
	}
	if !known {
		return term.UsageErrorf("--until %s: no state and no Node has this machine", r.until)
	}
	return nil
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
	var settled map[running.Name]bool
	if machine != "" {
		err := r.waitFor(ctx, "", "workloads", func() (err error) {
			settled, err = r.settled(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	before, target, key := r.nodes, r.steps.Target, r.keyOf(s)
	var group sync.WaitGroup
	errs := make([]error, len(batch))
	for i, machine := range batch {
		group.Go(func() {
			t := &turn{roller: r, step: s, machine: machine, before: before, target: target}
			if errs[i] = t.all(ctx); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", strings.TrimSpace(s.Do+" "+machine), errs[i])
			}
		})
	}
	group.Wait()
	var done []string
	for i, machine := range batch {
		if errs[i] == nil {
			done = append(done, machine)
		}
	}
	if s.Unsure && len(done) > 0 {
		for _, l := range s.How {
			if l.Act == rollout.ByHand {
				r.leave(l.Text, s.Do, "")
			}
		}
		r.lease.change(func(m *memory) { m.Steps = append(m.Steps, key) })
		errs = append(errs, r.renew(ctx))
	} else if !s.Unsure {
		errs = append(errs, r.remember(ctx, done, target))
	}
	if err := errors.Join(errs...); err != nil || machine == "" {
		return err
	}
	if err := r.resettle(ctx, settled); err != nil {
		return err
	}
	return sleep(ctx, r.pause)
}

// leave says what is left to a person, of which no later plan may say it.
func (r *roller) leave(text, step, machine string) {
	r.log.say("left", step, machine, text)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.isLeft = true
}

// remember notes machines that are done, if neither a Node nor the plan can tell that they are.
func (r *roller) remember(ctx context.Context, done []string, target *change.Cluster) error {
	changed := false
	for _, m := range target.Machines {
		if m.Pool || !slices.Contains(done, m.Name) {
			continue
		}
		if where := r.stands(m.Name); where == running.Unseen || where == running.Unsaid {
			changed = true
			r.lease.change(func(now *memory) { now.Done = append(now.Done, r.doneKey(m)) })
		}
	}
	if !changed {
		return nil
	}
	return r.renew(ctx)
}

// stands returns where a machine or a Node stands.
func (r *roller) stands(name string) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, s := range r.steps.Running {
		if slices.Contains(s.Machines, name) || slices.Contains(s.Nodes, name) {
			return s.Standing
		}
	}
	return ""
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
	for i := range r.steps.List {
		if s := &r.steps.List[i]; slices.Contains(r.skip, s.Do) {
			r.log.raw("# left out, as --skip says: " + s.Title())
		}
	}
	for i, s := range steps {
		r.log.raw(fmt.Sprintf("# %d. %s", i+1, s.Title()))
		all := len(machines(s))
		batch := r.batch(s, all, steps[i+1:])
		for _, machine := range batch {
			t := &turn{roller: r, step: s, machine: machine, target: r.steps.Target}
			if err := t.all(ctx); err != nil {
				return err
			}
		}
		if len(batch) < all {
			r.log.raw("# it ends here, as --until says")
			return nil
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

package roll

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// turn is a step for one of its machines.
type turn struct {
	*roller
	step    *rollout.Step
	machine string                   // empty if the step has none
	before  map[string]*running.Node // the Nodes before the step
	target  *change.Cluster          // the state that the step leads to
	booted  bool                     // the machine was replaced
	member  string                   // the ID of its member of etcd before that
}

// all does all lines of the step.
func (t *turn) all(ctx context.Context) error {
	for _, l := range t.step.Lines() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !t.isOf(l) {
			continue
		}
		if err := t.line(ctx, t.fill(l)); err != nil {
			return err
		}
	}
	return nil
}

// isOf reports whether a line is about this machine, and not about others of the step.
func (t *turn) isOf(l rollout.Line) bool {
	switch {
	case l.Act != rollout.InPlace:
		return l.For == "" || l.For == t.machine
	case len(l.Nodes) > 0: // those of a pool
		return slices.Contains(l.Nodes, t.machine)
	}
	return slices.Contains(t.step.Machines, t.machine)
}

// fill puts the machine's name into a line, and that of another member of etcd.
func (t *turn) fill(l rollout.Line) rollout.Line {
	if l.Named {
		document := l.Document
		if dir, isName := strings.CutSuffix(document, "/NAME"); isName {
			document = dir + "/" + t.machine
		}
		l.Text = strings.Replace(l.Text, "NAME", t.machine, 1)
		l.Command = strings.Replace(l.Command, cmp.Or(l.Document, "NAME"),
			cmp.Or(document, t.machine), 1)
		l.Document = document
		if l.Act == rollout.Uncordon {
			l.Nodes = []string{t.machine}
		}
	}
	if l.Other {
		other := t.other()
		for _, text := range []*string{&l.Text, &l.Command, &l.On} {
			*text = strings.ReplaceAll(*text, "OTHER", other)
		}
	}
	return l
}

// other returns another member of etcd than the machine, one that is Ready if there is one.
func (t *turn) other() (name string) {
	for _, m := range t.target.Members() {
		n := t.node(m.Name)
		if m.Name != t.machine && (name == "" || n != nil && n.Ready) {
			name = m.Name
		}
	}
	return name
}

// line does one line.
func (t *turn) line(ctx context.Context, l rollout.Line) error {
	on := l.On
	if l.Act == rollout.InPlace {
		on = t.machine
	}
	if on != "" {
		if err := t.checkAddress(t.ssh+t.run, on); err != nil {
			return err
		}
	}
	if t.dry && (l.Act == rollout.ByHand || t.step.Person) {
		t.log.raw("# by hand: " + l.Text)
		return nil
	}
	switch l.Act {
	case rollout.Say, rollout.ByHand:
		return nil
	case rollout.Drain:
		return t.drain(ctx, l)
	case rollout.Uncordon:
		return t.uncordon(ctx, l)
	case rollout.InPlace:
		way := "--ssh " + wording.ShellWord(t.placed(t.ssh, t.machine, ""))
		if t.run != "" {
			way = "--run " + wording.ShellWord(t.placed(t.run, t.machine, ""))
		}
		for _, name := range t.options.Force {
			way += " --force " + name
		}
		err := t.shell(ctx, l.Command+" "+way)
		if errors.Is(err, term.ErrDifferent) {
			t.leave("it has its newer document, and differs from it; kiln verify says in what",
				t.step.Do, t.machine)
			return nil
		}
		return err
	case rollout.Boot:
		t.booted = t.step.Do == rollout.Replace
		for _, w := range t.step.Wait {
			if w = t.fill(w); w.Act == rollout.Voting && !t.dry {
				text, err := t.output(ctx, w.On, w.Command)
				if err != nil {
					return err
				}
				t.member = memberID(text, t.machine)
			}
		}
		return t.users(ctx, "--replace", t.replace, l.Document)
	case rollout.Destroy:
		return t.users(ctx, "--remove", t.remove, "")
	case rollout.Copy:
		return t.copyOff(ctx, l)
	case rollout.Unmember:
		return t.unmember(ctx, l)
	case rollout.Ready, rollout.Voting, rollout.Healthy:
		return t.wait(ctx, l)
	case rollout.RolledOut:
		return t.rolledOut(ctx, l)
	}
	if l.On == "" { // of kubectl or kiln, which may run twice
		return t.shell(ctx, l.Command)
	}
	return t.runJob(ctx, t.on(l.On, l.Command))
}

// users runs a command of the user's.
func (t *turn) users(ctx context.Context, flag, command, document string) error {
	if err := t.checkAddress(command, t.machine); err != nil {
		return err
	}
	j := &job{machine: t.machine, script: t.placed(command, t.machine, document), own: true}
	if err := t.runJob(ctx, j); err != nil {
		return fmt.Errorf("the command of %s failed: %w", flag, err)
	}
	return nil
}

// placed returns a text of the user's with the words of a machine for {node}, {address} and
// {document}. A shell obeys nothing in them: the folder is quoted.
func (t *turn) placed(text, machine, document string) string {
	return strings.NewReplacer("{node}", machine, "{address}", t.address(machine),
		"{document}", document).Replace(text)
}

// checkAddress returns an error if a text has {address}, and no address of the machine is known.
func (t *turn) checkAddress(text, machine string) error {
	if strings.Contains(text, "{address}") && t.address(machine) == "" {
		return fmt.Errorf("no address of %s is known for {address}; write {node}", machine)
	}
	return nil
}

// address returns the address of a machine: what its Node says, or that of the target.
func (t *turn) address(machine string) string {
	if n := t.node(machine); n != nil && n.Address != "" {
		return n.Address
	}
	for _, m := range t.target.Machines {
		if m.Name == machine && !m.Pool && len(m.Addresses()) > 0 {
			return m.Addresses()[0]
		}
	}
	return ""
}

// mark returns the command that cordons a Node or lets it take pods, together with the mark that
// kiln roll did so. Both values are those of JSON.
func mark(name, by, cordoned string) string {
	return "kubectl patch node " + name + ` --type merge -p '{"metadata":{"annotations":{"` +
		running.DrainedAnnotation + `":` + by + `}},"spec":{"unschedulable":` + cordoned + `}}'`
}

// takePods returns the command that lets a Node take pods again, without the mark.
func takePods(name string) string { return mark(name, "null", "null") }

// drain drains the Node. One that somebody else has cordoned gets no mark.
func (t *turn) drain(ctx context.Context, l rollout.Line) error {
	if err := t.ask(ctx); err != nil { // the look before may be of a while ago
		return err
	}
	n := t.node(t.machine)
	if n == nil {
		return nil // nothing is there to drain
	}
	if !n.Cordoned {
		if err := t.shell(ctx, mark(t.machine, `"kiln roll"`, "true")); err != nil {
			return err
		}
	}
	l.Command += " --timeout=" + t.timeout.String()
	if !n.Ready { // nobody there says that a pod has ended
		l.Command += " --skip-wait-for-delete-timeout=5"
	}
	err := t.shell(ctx, l.Command)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w; %s takes no new pods meanwhile", err, t.machine)
	}
	return err
}

// uncordon lets Nodes take pods again that kiln roll has drained.
func (t *turn) uncordon(ctx context.Context, l rollout.Line) error {
	if err := t.ask(ctx); err != nil {
		return err
	}
	for _, name := range l.Nodes {
		n := t.node(name)
		if t.dry && (n == nil || !n.Cordoned) || n != nil && n.Drained {
			if err := t.shell(ctx, takePods(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmember removes the machine's member from etcd, if it is there.
func (t *turn) unmember(ctx context.Context, l rollout.Line) error {
	if t.dry {
		return t.runJob(ctx, t.on(l.On, l.Command+" remove ID"))
	}
	text, err := t.output(ctx, l.On, l.Command+" list")
	if err != nil {
		return err
	}
	if id := memberID(text, t.machine); id != "" {
		return t.runJob(ctx, t.on(l.On, l.Command+" remove "+id))
	}
	return nil
}

// copyOff copies a file off the machine into the working directory, and compares the two.
func (t *turn) copyOff(ctx context.Context, l rollout.Line) error {
	name := l.On + "-" + path.Base(l.Path)
	if t.dry {
		t.log.raw("# copy " + l.Path + " off " + l.On + " to " + name)
		return nil
	}
	part := name + ".part"
	notes := vault.KeepOutOfGit(".", vault.SecretFile{Name: name}, vault.SecretFile{Name: part})
	_ = os.Remove(part)
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G304
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	copying := t.on(l.On, "cat "+l.Path)
	copying.out = io.MultiWriter(file, sum)
	if err := cmp.Or(t.runJob(ctx, copying), file.Sync()); err != nil {
		return err
	}
	there, err := t.output(ctx, l.On, "sha256sum <"+l.Path)
	if err == nil && !strings.HasPrefix(there, hex.EncodeToString(sum.Sum(nil))) {
		err = fmt.Errorf("%s differs from %s on %s", part, l.Path, l.On)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(part, name); err != nil {
		return err
	}
	for _, note := range append(notes, "the snapshot is in "+name+", and holds secrets") {
		t.log.say("output", t.step.Do, l.On, note)
	}
	return nil
}

// rolledOut waits for pods. While a machine is down it waits for a moment only: the plan says so.
func (t *turn) rolledOut(ctx context.Context, l rollout.Line) error {
	if err := t.ask(ctx); err != nil {
		return err
	}
	down := ""
	for name, n := range t.nodes {
		if !n.Ready {
			down = name
		}
	}
	limit := t.timeout
	if down != "" {
		limit = min(limit, grace)
	}
	err := t.shell(ctx, l.Command+" --timeout="+limit.String())
	if err != nil && down != "" {
		t.log.say("wait", "", "", "goes on without these pods: "+down+" is not Ready")
		return nil
	}
	return err
}

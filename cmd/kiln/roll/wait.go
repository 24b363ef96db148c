package roll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
)

// wait waits until a line holds, and fails with the reason why it does not.
func (t *turn) wait(ctx context.Context, l rollout.Line) error {
	if t.dry {
		t.log.raw("# wait: " + l.Text)
		return nil
	}
	return t.waitFor(ctx, t.machine, l.Text, func() error {
		switch l.Act {
		case rollout.Voting:
			return t.votes(ctx, l)
		case rollout.Healthy:
			return t.healthy(ctx, l)
		}
		if err := t.askOnce(ctx); err != nil {
			return err
		}
		return t.ready(ctx)
	})
}

// waitFor calls holds until it returns no error. It tells of each error that is another one, and
// fails with the last one after --timeout, or at once if waiting does not help.
func (r *roller) waitFor(ctx context.Context, machine, what string, holds func() error) error {
	said, end := "", time.Now().Add(r.timeout)
	for {
		err := holds()
		var usage term.UsageError
		switch {
		case err == nil, errors.As(err, &usage), errors.Is(err, errHeld):
			return err
		case apiserver.Refused(err) && !r.answered.Load(): // a wrong kubeconfig, and no restart
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(end):
			return fmt.Errorf("%s: not within %s: %w", what, r.timeout, err)
		case said != err.Error():
			said = err.Error()
			r.log.say("wait", "", machine, said)
		}
		if err := sleep(ctx, pollTime); err != nil {
			return err
		}
	}
}

// ready returns why the machine is not ready with its newer document, or nil. If a pool's machine
// came back under another name, it deletes the Node of the one before.
func (t *turn) ready(ctx context.Context) error {
	n, before := t.node(t.machine), t.before[t.machine]
	why := ""
	switch {
	case n == nil:
		why = "it has no Node"
	case !n.Ready:
		why = "its Node is not Ready"
	case t.booted && before != nil && n.Boot == before.Boot:
		why = "its Node is that of before: it has not started anew"
	case !t.isTarget(n):
		why = "its Node says that it runs another document, or another kubelet"
	case !n.SaysDone():
		why = "its hook is not done: " + cmp.Or(n.Hook, "it says nothing")
	default:
		return nil
	}
	if name := t.successor(); name != "" {
		t.log.say("wait", "", t.machine, name+" came in its place")
		return t.shell(ctx, "kubectl delete node --ignore-not-found "+t.machine)
	}
	return errors.New(why)
}

// isTarget reports whether a Node says that it runs the document of the target: of the machine, or
// of a pool of the step.
func (t *turn) isTarget(n *running.Node) bool {
	return slices.ContainsFunc(t.target.Machines, func(m *change.Machine) bool {
		mine := m.Name == t.machine && !m.Pool || m.Pool && slices.Contains(t.step.Pools, m.Name)
		return mine && n.Twin == t.digestOf(m) && n.Kubelet == m.Properties.Value("kubelet")
	})
}

// successor returns the new Node of a pool's machine that came in place of this one, under another
// name; none if none came.
func (t *turn) successor() string {
	if !t.booted || !slices.Contains(t.step.Nodes, t.machine) {
		return ""
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for name, n := range t.nodes {
		if t.before[name] == nil && !t.claimed[name] && n.Ready && n.SaysDone() && t.isTarget(n) {
			t.claimed[name] = true
			return name
		}
	}
	return ""
}

// memberLine is a member that has started, in the list of etcdctl: ID, name, and whether it is a
// learner.
var memberLine = regexp.MustCompile(`(?m)^([0-9a-f]+), started, ([^,]+), .*, (true|false)$`)

// memberID returns the ID of a machine's member of etcd that has started, none if there is none.
func memberID(list, machine string) string {
	for _, m := range memberLine.FindAllStringSubmatch(list, -1) {
		if m[2] == machine {
			return m[1]
		}
	}
	return ""
}

// votes returns why the machine's member of etcd has no vote, or nil. One that was replaced is
// another member.
func (t *turn) votes(ctx context.Context, l rollout.Line) error {
	text, err := t.output(ctx, l.On, l.Command)
	if err != nil {
		return err
	}
	for _, m := range memberLine.FindAllStringSubmatch(text, -1) {
		if m[3] == "true" {
			return fmt.Errorf("%s is a learner of etcd", m[2])
		}
	}
	switch id := memberID(text, t.machine); {
	case id == "":
		return errors.New("it is no member of etcd that has started")
	case id == t.member:
		return errors.New("its member of etcd is that of before")
	}
	return nil
}

// healthy returns which members of etcd are not healthy, or nil if those are down already.
func (t *turn) healthy(ctx context.Context, l rollout.Line) error {
	text, err := t.output(ctx, l.On, "{ "+l.Command+"; } 2>&1")
	var sick []string
	known := 0
	for line := range strings.Lines(text) {
		endpoint, _, isSick := strings.Cut(line, " is unhealthy")
		if !isSick {
			continue
		}
		u, _ := url.Parse(endpoint)
		if u != nil && slices.Contains(l.Down, u.Hostname()) {
			known++
			continue
		}
		sick = append(sick, endpoint)
	}
	switch {
	case err == nil, known > 0 && len(sick) == 0:
		return nil
	case len(sick) > 0:
		return fmt.Errorf("etcd is not healthy: %s", strings.Join(sick, ", "))
	}
	return err
}

// settled returns the workloads that are as they should be.
func (r *roller) settled(ctx context.Context) (list map[running.Name]bool, err error) {
	list = map[running.Name]bool{}
	for _, kind := range running.Kinds {
		err := r.client.Workloads(ctx, kind, nil, func(w *running.Workload) {
			if w.Settled {
				name := running.Name{Resource: kind.Resource, Namespace: w.Namespace, Name: w.Name}
				list[name] = true
			}
		})
		if err != nil && !running.IsBound(err) {
			return nil, err
		}
	}
	return list, nil
}

// resettle waits until workloads are as they should be that were so before the step.
func (r *roller) resettle(ctx context.Context, before map[running.Name]bool) error {
	return r.waitFor(ctx, "", "workloads that were ready", func() error {
		now, err := r.settled(ctx)
		if err != nil {
			return err
		}
		for name := range before {
			if !now[name] {
				return fmt.Errorf("%s %s/%s is not ready", name.Resource, name.Namespace, name.Name)
			}
		}
		return nil
	})
}

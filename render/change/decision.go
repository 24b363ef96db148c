package change

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"kiln/render/change/field"
	"kiln/render/layout"
	"kiln/render/plan"
)

// decision is a machine with its verdict.
type decision struct {
	*pair
	verdict string
	before  string // the day on which what it runs with ends, if only its document's dates ask
	why     []string
	kubectl []string // commands that change its Node, with NAME for its name
}

// decide returns what has to be done with one machine, and why.
func decide(d *Diff, p *pair) *decision {
	f := &decision{pair: p, verdict: Nothing}
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
			list = []field.Field{{}}
		}
		about := map[layout.Effect][]string{} // fields
		reason := map[layout.Effect]string{}
		for i := range list {
			e, because := d.effect(p, c, &list[i])
			worst = max(worst, e)
			about[e] = append(about[e], short(&list[i]))
			reason[e] = cmp.Or(reason[e], because)
			if e == layout.Node {
				f.kubectl = append(f.kubectl, nodeCommand(c, &list[i]))
			}
		}
		for e, names := range about {
			if reason[e] != datesAlone { // the machine's own end says it
				why[e] = append(why[e], c.because(names, reason[e]))
			}
		}
	}
	switch worst {
	case layout.Replace:
		f.verdict = Replace
	case layout.Node:
		f.verdict = Live
	case layout.Later, layout.Apply:
		f.verdict, f.before = NextReplacement, p.end()
	}
	f.why = why[worst]
	return f
}

// end returns the day on which the certificates end that a running machine has, if its new document
// has others; else it is empty.
func (p *pair) end() string {
	old, new := p.old.Properties.Value("until"), p.new.Properties.Value("until")
	t, err := time.Parse(time.RFC3339, old)
	if err != nil || old == new || p.old.Token() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// short returns a field's name for a reason: a flag without its command, a field of a pod's
// container without the container.
func short(f *field.Field) string {
	if i := strings.LastIndex(f.Name, " --"); i >= 0 {
		return f.Name[i+1:]
	}
	return container.ReplaceAllString(f.Name, "")
}

var container = regexp.MustCompile(`^spec\.containers\[[^]]*\]\.`)

// because returns a reason in words: the change, and the given reason or else the names of the
// changed fields.
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

// maxNames is how many fields a reason names.
const maxNames = 4

// title returns the name of a changed entry in messages.
func (c *Change) title() string {
	switch {
	case c.Kind == "file":
		return c.Name
	case c.Kind == "machine":
		return "the machine"
	}
	return strings.TrimSpace(c.Kind + " " + c.Name)
}

// effect returns what a field's change asks of a running machine, and why. Names of other machines
// in a machine's certificate ask nothing: clients reach the machine by its own names, and by those
// that all machines have.
func (d *Diff) effect(p *pair, c *Change, f *field.Field) (layout.Effect, string) {
	if c.Kind == "file" && f.Name == "certificate names" &&
		(d.old.has(f.Either()) || d.new.has(f.Either())) {
		return layout.Later, "names of other machines in its certificate"
	}
	e, why := effectOf(c, f)
	switch {
	case c.Kind == "machine" && f.Name == "until" && p.old.Token():
		why = fmt.Sprintf("its bootstrap token was valid until %s; a machine that has joined "+
			"needs none", deref(f.Old))
	case c.Kind == "machine" && f.Name == "until":
		why = "the certificates that it runs with end on that day"
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

// has reports whether a machine of the cluster has this name or address.
func (c *Cluster) has(name string) bool {
	return slices.ContainsFunc(c.Machines, func(m *Machine) bool {
		return !m.Pool && (m.Name == name || slices.Contains(m.addresses(), name))
	})
}

func (m *Machine) addresses() []string { return commas(m.Properties.Value("addresses")) }

// Token reports whether the machine joins with a bootstrap token.
func (m *Machine) Token() bool {
	return m.Pool || m.Entries.Find(Key{"file", plan.BootstrapConf}) != nil
}

// Member reports whether the machine runs a member of etcd.
func (m *Machine) Member() bool {
	return m.Entries.Find(Key{"file", "/etc/kubernetes/manifests/etcd.yaml"}) != nil
}

// members returns the machines with a member of etcd.
func (c *Cluster) members() (out []*Machine) {
	for _, m := range c.Machines {
		if m.Member() {
			out = append(out, m)
		}
	}
	return out
}

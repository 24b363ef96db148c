package certs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// Group is what several machines have in the same place, with the same renewal.
type Group struct {
	Machines, Pools []string // both empty for the operator
	Entry           Entry    // the one that ends first
	Last            *time.Time
}

// Groups groups sorted entries. The group that ends first comes first.
func Groups(list []Entry) []Group {
	type key struct {
		path, kind, issuer, in string
		renewal                Renewal
		ca, unknown, operator  bool
		fault                  string
	}
	var out []Group
	at := map[key]int{}
	for i := range list {
		e := &list[i]
		k := key{
			path: e.Path, kind: e.Kind, issuer: e.Issuer, in: strings.Join(e.In, " of "),
			renewal: e.Renewal, ca: e.CA, unknown: e.Ends == nil,
			operator: e.Machine == "", fault: e.Fault,
		}
		j, ok := at[k]
		if !ok {
			j = len(out)
			at[k] = j
			out = append(out, Group{Entry: *e})
		}
		g := &out[j]
		names := &g.Machines
		if e.Pool {
			names = &g.Pools
		}
		if e.Machine != "" && !slices.Contains(*names, e.Machine) {
			*names = append(*names, e.Machine)
		}
		g.Last = e.Ends
	}
	for i := range out {
		slices.SortFunc(out[i].Machines, natural)
		slices.SortFunc(out[i].Pools, natural)
	}
	return out
}

// union returns sorted entries as one group, whatever they are.
func union(list []Entry) Group {
	g := Group{Entry: list[0], Last: list[len(list)-1].Ends}
	for i := range list {
		switch e := &list[i]; {
		case e.Pool:
			g.Pools = append(g.Pools, e.Machine)
		case e.Machine != "":
			g.Machines = append(g.Machines, e.Machine)
		}
	}
	for _, names := range []*[]string{&g.Machines, &g.Pools} {
		slices.SortFunc(*names, natural)
		*names = slices.Compact(*names)
	}
	return g
}

// natural compares names so that worker-2 comes before worker-10.
func natural(a, b string) int {
	digits := func(s string) string { return strings.TrimRight(s, "0123456789") }
	if x := digits(a); x == digits(b) {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// Names returns the machines of the group for a message.
func (g *Group) Names() string {
	if len(g.Machines)+len(g.Pools) == 0 {
		return "operator"
	}
	return change.Names(g.Machines, g.Pools)
}

// When returns the day on which the group ends, or the first and the last one.
func (g *Group) When() string {
	first, last := day(g.Entry.Ends), day(g.Last)
	if first != last {
		return first + " … " + last
	}
	return first
}

// whenBy returns the same for a table that is printed at the time now, and says what has ended.
func (g *Group) whenBy(now time.Time) string {
	last := Entry{Ends: g.Last}
	switch {
	case last.ended(now):
		return g.When() + endedMark
	case g.Entry.ended(now):
		return day(g.Entry.Ends) + endedMark + " … " + day(g.Last)
	}
	return g.When()
}

const endedMark = " (ended)"

func day(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.Format(time.DateOnly)
}

// Table returns the list for people at the time now: a line for each group, and what the last
// column means.
func Table(now time.Time, list []Entry) string {
	rows := [][]string{{"ENDS", "KIND", "PATH", "OF", "RENEWAL"}}
	for _, g := range Groups(list) {
		rows = append(rows, []string{
			g.whenBy(now), g.Entry.kind(), g.Entry.Path, g.Names(), string(g.Entry.Renewal)})
	}
	return table(rows) + legend(list)
}

// Whole returns the list for people at the time now with a line for each entry.
func Whole(now time.Time, list []Entry) string {
	rows := [][]string{
		{"ENDS", "BEGINS", "KIND", "OF", "PATH", "SUBJECT", "ISSUER", "SANS", "RENEWAL"}}
	for i := range list {
		e, g := &list[i], union(list[i:i+1])
		rows = append(rows, []string{
			g.whenBy(now), day(e.Begins), e.kind(), g.Names(), e.Path, cmp.Or(e.Subject, "-"),
			cmp.Or(e.Issuer, "-"), cmp.Or(strings.Join(e.SANs, ","), "-"), string(e.Renewal)})
	}
	return table(rows) + legend(list)
}

// kind returns the kind of the entry for people.
func (e *Entry) kind() string {
	text := e.Kind
	if e.CA {
		text = "CA " + text
	}
	if e.Fault != "" {
		text += " (" + e.Fault + ")"
	}
	return text
}

func table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t")) // a Builder never fails
	}
	_ = w.Flush()
	return b.String()
}

// legend explains the renewals of the list.
func legend(list []Entry) string {
	rows := [][]string{}
	for _, m := range meanings {
		if slices.ContainsFunc(list, func(e Entry) bool { return e.Renewal == m.Renewal }) {
			rows = append(rows, []string{string(m.Renewal), m.text})
		}
	}
	return "\n" + table(rows)
}

// Meaning explains a way to renew an entry.
func (r Renewal) Meaning() string {
	for _, m := range meanings {
		if m.Renewal == r {
			return m.text
		}
	}
	return ""
}

// Near returns a sentence for each thing that somebody has to do by the time at, and for each file
// that nobody can read. kind is the one that the list holds, or empty if it holds all kinds.
func Near(now, at time.Time, kind string, list []Entry) (out []string) {
	type key struct {
		renewal Renewal
		ended   bool
		fault   string
	}
	near := map[key][]Entry{}
	var order []key
	for i := range list {
		e := &list[i]
		if !e.Due(at, kind) {
			continue
		}
		k := key{e.Renewal, e.ended(now), ""}
		if e.Fault != "" {
			k = key{e.Renewal, false, e.Path + ": " + e.Fault}
		}
		if near[k] == nil {
			order = append(order, k)
		}
		near[k] = append(near[k], *e)
	}
	for _, k := range order {
		of := union(near[k])
		what, verb := files(near[k])
		if k.ended {
			verb = "ended"
		}
		text := fmt.Sprintf("%s: %s %s on %s", of.Names(), what, verb, of.When())
		if k.fault != "" {
			text = fmt.Sprintf("%s: %s cannot be read: %s; nobody knows when it ends",
				of.Names(), of.Entry.Path, of.Entry.Fault)
		}
		out = append(out, text+" ("+string(k.renewal)+": "+k.renewal.Meaning()+")")
	}
	return out
}

// files returns the file of the entries, or how many there are, and the verb for that.
func files(list []Entry) (what, verb string) {
	paths := map[string]bool{}
	for i := range list {
		paths[list[i].Path] = true
	}
	if len(paths) == 1 {
		return list[0].Path, "ends"
	}
	return wording.Count(len(paths), "file"), "end"
}

package certs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"kiln/render/change"
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

func day(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.Format(time.DateOnly)
}

// Table returns the list for people, a line for each group, and what the last column means.
func Table(list []Entry) string {
	rows := [][]string{{"ENDS", "KIND", "PATH", "OF", "RENEWAL"}}
	for _, g := range Groups(list) {
		rows = append(rows, []string{
			g.When(), g.Entry.kind(), g.Entry.Path, g.Names(), string(g.Entry.Renewal)})
	}
	return table(rows) + legend(list)
}

// Whole returns the list for people with a line for each entry.
func Whole(list []Entry) string {
	rows := [][]string{
		{"ENDS", "BEGINS", "KIND", "OF", "PATH", "SUBJECT", "ISSUER", "SANS", "RENEWAL"}}
	for i := range list {
		e := &list[i]
		g := Group{Entry: *e}
		switch {
		case e.Pool:
			g.Pools = []string{e.Machine}
		case e.Machine != "":
			g.Machines = []string{e.Machine}
		}
		rows = append(rows, []string{
			day(e.Ends), day(e.Begins), e.kind(), g.Names(), e.Path, cmp.Or(e.Subject, "-"),
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

// Near returns a sentence for each group that ends by the time at, or whose end nobody can read.
func Near(now, at time.Time, list []Entry) (out []string) {
	var near []Entry
	for i := range list {
		if list[i].EndsBy(at) {
			near = append(near, list[i])
		}
	}
	for _, g := range Groups(near) {
		e := &g.Entry
		what := fmt.Sprintf("%s: %s %s", g.Names(), e.Kind, e.Path)
		switch {
		case e.Fault != "":
			what += " cannot be read: " + e.Fault + "; nobody knows when it ends"
		case !e.Ends.After(now):
			what += " ended on " + g.When()
		default:
			what += " ends on " + g.When()
		}
		out = append(out, what+" ("+string(e.Renewal)+": "+e.Renewal.Meaning()+")")
	}
	return out
}

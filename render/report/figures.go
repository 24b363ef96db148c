package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kiln/render/change"
	"kiln/render/plural"
)

// clusterMap is the drawing of the cluster: the endpoint above the control planes, the workers
// below, etcd between its members.
type clusterMap struct {
	Width, Height int
	Boxes         []box
	Lines         []segment
	Label         string
}

type box struct {
	X, Y, W, H  int
	Class       string
	Title, Note string
	Anchor      string
}

// Middle returns the place of a box's text.
func (b box) Middle() int { return b.X + b.W/2 }

type segment struct {
	X1, Y1, X2, Y2 int
	Class          string
}

// Sizes of the drawing, in its own units.
const (
	boxWidth, boxHeight = 150, 44
	gap                 = 14
	perRow              = 6
)

// mapOf returns the drawing of a cluster.
func mapOf(c *change.Cluster) clusterMap {
	m := clusterMap{Width: perRow*(boxWidth+gap) + gap}
	rows := map[string][]*change.Machine{}
	for _, machine := range c.Machines {
		rows[machine.Role] = append(rows[machine.Role], machine)
	}
	y := gap
	endpoint := box{X: (m.Width - 2*boxWidth) / 2, Y: y, W: 2 * boxWidth, H: boxHeight,
		Class: "endpoint", Title: strings.TrimPrefix(c.Properties.Value("endpoint"), "https://"),
		Note: "endpoint of the API"}
	m.Boxes = append(m.Boxes, endpoint)
	y += boxHeight + 2*gap
	control := m.row("control-plane", rows["control-plane"], &y)
	m.row("etcd", rows["etcd"], &y)
	workers := m.row("worker", rows["worker"], &y)
	for _, b := range control {
		from, to := endpoint.Middle(), endpoint.Y+endpoint.H
		m.Lines = append(m.Lines, segment{from, to, b.Middle(), b.Y, "finds"})
	}
	if len(workers) > 0 {
		// One line stands for all of them: each connects to the endpoint.
		x := m.Width - gap/2
		m.Lines = append(m.Lines,
			segment{endpoint.X + endpoint.W, endpoint.Y + endpoint.H/2, x,
				endpoint.Y + endpoint.H/2, "finds"},
			segment{x, endpoint.Y + endpoint.H/2, x, workers[0].Y - gap/2, "finds"},
			segment{gap, workers[0].Y - gap/2, x, workers[0].Y - gap/2, "finds"})
	}
	m.Height = y
	m.Label = fmt.Sprintf(
		"The endpoint %s leads to %s; %s and %s find it. The tables below say the same.",
		endpoint.Title, plural.Count(len(rows["control-plane"]), "control plane"),
		plural.Count(len(rows["worker"]), "worker or pool"),
		plural.Count(len(rows["etcd"]), "etcd machine"))
	return m
}

// row places machines side by side in as many rows as they need, and returns the boxes of the first
// row.
func (m *clusterMap) row(class string, machines []*change.Machine, y *int) (first []box) {
	for i := 0; i < len(machines); i += perRow {
		part := machines[i:min(i+perRow, len(machines))]
		x := (m.Width - len(part)*(boxWidth+gap) + gap) / 2
		for _, machine := range part {
			b := box{X: x, Y: *y, W: boxWidth, H: boxHeight, Class: class, Title: machine.Name,
				Note:   cmp.Or(machine.Properties.Value("addresses"), "pool"),
				Anchor: anchor(machine)}
			if machine.Member() {
				b.Note += ", etcd"
			}
			if machine.Member() && x > (m.Width-len(part)*(boxWidth+gap)+gap)/2 {
				middle := *y + boxHeight/2
				m.Lines = append(m.Lines, segment{x - gap, middle, x, middle, "member"})
			}
			m.Boxes = append(m.Boxes, b)
			if i == 0 {
				first = append(first, b)
			}
			x += boxWidth + gap
		}
		*y += boxHeight + gap
	}
	if len(machines) > 0 {
		*y += gap
	}
	return first
}

// anchor returns the ID of a machine's section on the page.
func anchor(m *change.Machine) string {
	if m.Pool {
		return "pool-" + m.Name
	}
	return "node-" + m.Name
}

// ID returns the ID of the machine's section on the page.
func (m machineView) ID() string { return anchor(m.Machine) }

// authority is a CA with the certificates that it signs.
type authority struct {
	Name, Subject, Fingerprint string
	Until                      time.Time
	Leaves                     []leaf
}

// leaf is a kind of leaf certificate, with the machines that have one.
type leaf struct {
	Name, Subject, For string
	Until              time.Time
	Machines, Pools    []string
}

// Who returns the names of the machines that have one.
func (l leaf) Who() string { return cmp.Or(change.Names(l.Machines, l.Pools), "the operator") }

// trustOf returns all certificates by the CA that signed them.
func trustOf(c *change.Cluster) (out []authority) {
	index := map[string]int{}
	each(c, func(m *change.Machine, cert *change.Certificate) {
		if _, ok := index[cert.Subject]; cert.For == "ca" && !ok {
			index[cert.Subject] = len(out)
			out = append(out, authority{Name: cert.Name, Subject: cert.Subject,
				Fingerprint: cert.Fingerprint, Until: cert.NotAfter})
		}
	})
	each(c, func(m *change.Machine, cert *change.Certificate) {
		i, ok := index[cert.Issuer]
		if cert.For == "ca" || !ok {
			return
		}
		a := &out[i]
		j := slices.IndexFunc(a.Leaves, func(l leaf) bool {
			return l.Name == cert.Name && l.Until.Equal(cert.NotAfter)
		})
		if j < 0 {
			j = len(a.Leaves)
			a.Leaves = append(a.Leaves, leaf{Name: cert.Name, Subject: cert.Subject, For: cert.For,
				Until: cert.NotAfter})
		}
		l := &a.Leaves[j]
		switch {
		case m == nil:
		case l.Subject != cert.Subject:
			l.Subject = "one for each machine"
			fallthrough
		default:
			m.AddTo(&l.Machines, &l.Pools)
		}
	})
	return out
}

// each calls do with every certificate; m is nil for the operator's certificates.
func each(c *change.Cluster, do func(m *change.Machine, cert *change.Certificate)) {
	list := func(m *change.Machine, entries change.Entries) {
		for _, entry := range entries {
			for _, cert := range entry.Certificates() {
				do(m, &cert)
			}
		}
	}
	for _, m := range c.Machines {
		list(m, m.Entries)
	}
	list(nil, c.Entries)
}

// timeline is the drawing of the certificates' lifetimes.
type timeline struct {
	From, Until time.Time
	Bars        []bar
}

type bar struct {
	X, W  int // in thousandths of the whole width
	Name  string
	Until time.Time
}

// Span is the whole width in seconds, for the mark of today.
func (t timeline) Span() int64 { return int64(t.Until.Sub(t.From) / time.Second) }

// endsOf returns the drawing of each kind of certificate from its beginning to its end, the
// earliest end first.
func endsOf(c *change.Cluster) (t timeline) {
	type kind struct {
		name        string
		from, until time.Time
	}
	var kinds []kind
	each(c, func(_ *change.Machine, cert *change.Certificate) {
		if cert.NotAfter.IsZero() {
			return
		}
		same := func(k kind) bool { return k.name == cert.Name && k.until.Equal(cert.NotAfter) }
		if !slices.ContainsFunc(kinds, same) {
			kinds = append(kinds, kind{cert.Name, cert.NotBefore, cert.NotAfter})
		}
		if t.From.IsZero() || cert.NotBefore.Before(t.From) {
			t.From = cert.NotBefore
		}
		if cert.NotAfter.After(t.Until) {
			t.Until = cert.NotAfter
		}
	})
	slices.SortStableFunc(kinds, func(a, b kind) int {
		return cmp.Or(a.until.Compare(b.until), cmp.Compare(a.name, b.name))
	})
	whole := t.Until.Sub(t.From)
	for _, k := range kinds {
		at := func(when time.Time) int {
			return int(1000 * when.Sub(t.From).Seconds() / max(whole.Seconds(), 1))
		}
		t.Bars = append(t.Bars, bar{X: at(k.from), W: max(2, at(k.until)-at(k.from)), Name: k.name,
			Until: k.until})
	}
	return t
}

func date(t time.Time) string { return t.Format(time.DateOnly) }

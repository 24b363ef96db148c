package report

import (
	"cmp"
	"slices"
	"time"

	"kiln.dev/kiln/render/twin/change"
)

// authority is a CA with the kinds of certificates that it signs.
type authority struct {
	Name, Subject, Fingerprint string
	Until                      time.Time
	Leaves                     []leaf
}

// leaf is a kind of leaf certificate, with the machines that have one.
type leaf struct {
	Name, Subject, For string
	First, Last        time.Time // the first and the last end
	Machines, Pools    []string
}

// Who returns the names of the machines that have one.
func (l leaf) Who() string { return cmp.Or(change.Names(l.Machines, l.Pools), "the operator") }

// When returns the day on which it ends, or the first and the last one.
func (l leaf) When() string { return span(l.First, l.Last) }

// span returns a day, or the first and the last one of several.
func span(first, last time.Time) string {
	if date(first) == date(last) {
		return date(first)
	}
	return date(first) + " … " + date(last)
}

// trustOf returns all kinds of certificates by the CA that signed them.
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
		if i, ok := index[cert.Issuer]; ok && cert.For != "ca" {
			out[i].add(m, cert)
		}
	})
	for i := range out {
		for j := range out[i].Leaves {
			l := &out[i].Leaves[j]
			slices.SortFunc(l.Machines, natural)
			l.Machines = slices.Compact(l.Machines)
		}
	}
	return out
}

// add adds a certificate of a machine; m is nil for the operator's.
func (a *authority) add(m *change.Machine, cert *change.Certificate) {
	j := slices.IndexFunc(a.Leaves, func(l leaf) bool { return l.Name == cert.Name })
	if j < 0 {
		j = len(a.Leaves)
		a.Leaves = append(a.Leaves, leaf{Name: cert.Name, Subject: cert.Subject, For: cert.For,
			First: cert.NotAfter, Last: cert.NotAfter})
	}
	l := &a.Leaves[j]
	if l.Subject != cert.Subject {
		l.Subject = "one for each machine"
	}
	if cert.NotAfter.Before(l.First) {
		l.First = cert.NotAfter
	}
	if cert.NotAfter.After(l.Last) {
		l.Last = cert.NotAfter
	}
	if m != nil {
		m.AddTo(&l.Machines, &l.Pools)
	}
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

package report

import (
	"slices"
	"strings"

	"kiln.dev/kiln/render/twin/change"
)

// Size is the size of a machine's document.
type Size struct {
	Machine  string
	Pool     bool
	Role     string
	OS       string
	Platform string
	Bytes    int
	Limit    int // the platform's; 0 if there is none or it is not known
	Own      int // how much of it the user brought
	Fields   []Field
}

// Field is what a field of cluster.yaml brought, with its size before compression.
type Field struct {
	Path  string
	Bytes int
}

// fill is how full the documents of similar machines are.
type fill struct {
	Role, OS, Platform string
	Machines, Pools    []string
	Least, Most        int // the smallest and the largest document
	Fullest            string
	Limit, Own         int // Own is that of the largest document
	Fields             []Field
}

// fillsOf returns the documents of machines with the same role, system and platform together, the
// fullest first.
func fillsOf(sizes []Size) (out []fill) {
	for _, s := range sizes {
		i := slices.IndexFunc(out, func(f fill) bool {
			return f.Role == s.Role && f.OS == s.OS && f.Platform == s.Platform &&
				f.Limit == s.Limit && s.Pool == (len(f.Pools) > 0)
		})
		if i < 0 {
			i = len(out)
			out = append(out, fill{Role: s.Role, OS: s.OS, Platform: s.Platform,
				Limit: s.Limit, Least: s.Bytes})
		}
		f := &out[i]
		m := change.Machine{Name: s.Machine, Pool: s.Pool}
		m.AddTo(&f.Machines, &f.Pools)
		f.Least = min(f.Least, s.Bytes)
		if s.Bytes > f.Most {
			f.Most, f.Fullest, f.Own, f.Fields = s.Bytes, s.Machine, s.Own, s.Fields
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Machines, natural)
	}
	slices.SortStableFunc(out, func(a, b fill) int { return b.Percent() - a.Percent() })
	return out
}

// Who returns the names of the machines.
func (f fill) Who() string { return change.Names(f.Machines, f.Pools) }

// Percent returns how full the largest document is, in percent; 0 if there is no limit.
func (f fill) Percent() int { return percent(f.Most, f.Limit) }

// Kiln and Yours return the parts of the bar, in thousandths of the limit; without one there is no
// bar.
func (f fill) Kiln() int  { return min(1000, 1000*(f.Most-f.Own)/f.Limit) }
func (f fill) Yours() int { return min(1000-f.Kiln(), 1000*f.Own/f.Limit) }

// nearlyFull is from which share of the limit a document is marked.
const nearlyFull = 90

// Full reports whether the largest document is nearly full.
func (f fill) Full() bool { return f.Percent() >= nearlyFull }

// Largest returns the largest fields of the user, with their sizes.
func (f fill) Largest() string {
	const most = 3
	var list []string
	for _, field := range f.Fields[:min(most, len(f.Fields))] {
		list = append(list, field.Path+" "+thousands(field.Bytes))
	}
	if more := len(f.Fields) - most; more > 0 {
		list = append(list, "and "+thousands(more)+" more")
	}
	return strings.Join(list, ", ")
}

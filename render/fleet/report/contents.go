package report

import (
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// machineView is a machine, with the place on the page of each of its items.
type machineView struct {
	*change.Machine
	Entries []entry
}

type entry struct {
	*change.Entry
	Anchor string
}

// pathView is a path on machines, with each of its contents once for all machines that have it.
type pathView struct {
	Kind, Name string
	Variants   []variant
}

type variant struct {
	*change.Entry
	Anchor   string
	Machines []string
	Pools    []string
}

// Who returns the names of the machines that have it.
func (v variant) Who() string { return change.Names(v.Machines, v.Pools) }

// Text returns what the page shows of it.
func (v variant) Text() string {
	text := string(v.Content)
	if v.Content == nil {
		text = strings.Join(v.Shown, "\n")
	}
	return wording.Visible(text, "\n\t")
}

// contentsOf returns the contents of all machines by path, and for each machine where they are
// shown.
func contentsOf(c *change.Cluster) (paths []pathView, machines []machineView) {
	places := map[string]int{}
	variants := map[string]int{}
	for _, m := range c.Machines {
		view := machineView{Machine: m}
		for _, item := range m.Entries {
			place := item.Kind + " " + item.ID
			i, ok := places[place]
			if !ok {
				i = len(paths)
				places[place] = i
				paths = append(paths, pathView{Kind: item.Kind, Name: item.ID})
			}
			p := &paths[i]
			key := place + "\x00" + keyOf(item)
			j, ok := variants[key]
			if !ok {
				j = len(p.Variants)
				variants[key] = j
				p.Variants = append(p.Variants, variant{Entry: item,
					Anchor: fmt.Sprintf("f%d-%d", i, j)})
			}
			v := &p.Variants[j]
			m.AddTo(&v.Machines, &v.Pools)
			view.Entries = append(view.Entries, entry{item, v.Anchor})
		}
		machines = append(machines, view)
	}
	slices.SortStableFunc(paths, func(a, b pathView) int { return strings.Compare(a.Name, b.Name) })
	return paths, machines
}

func keyOf(item *change.Entry) string {
	return item.TraitList() + "\x00" + item.Secret + "\x00" + strings.Join(item.Shown, "\n") +
		"\x00" + string(item.Content)
}

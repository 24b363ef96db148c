package main

import (
	"fmt"
	"strings"
)

const (
	chartWidth = 760
	rowHeight  = 22
	labelWidth = 210
	barWidth   = 430
)

// chart draws how long each step of the hook took: a bar from the least to the most seconds of all
// machines of a role, with a mark at the middle.
func chart(p proof) string {
	type bar struct {
		role, step string
		spread
	}
	var bars []bar
	scale := 1.0
	for _, role := range []string{"control-plane", "worker"} {
		names, taken := stepTimes(p, role)
		for _, name := range names {
			b := bar{role, name, spreadOf(taken[name])}
			bars = append(bars, b)
			scale = max(scale, b.most)
		}
	}
	height := rowHeight*(len(bars)+3) + 10
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="13">`+"\n", chartWidth, height)
	fmt.Fprintln(&b, `<title>Seconds of the hook's steps: least, median and most</title>`)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", chartWidth, height)
	y, role := 6, ""
	x := func(seconds float64) float64 { return labelWidth + barWidth*seconds/scale }
	for _, row := range bars {
		if row.role != role {
			role = row.role
			fmt.Fprintf(&b, `<text x="8" y="%d" font-weight="bold">%s, %d machines</text>`+"\n",
				y+15, role, row.count)
			y += rowHeight
		}
		fmt.Fprintf(&b, `<text x="20" y="%d">%s</text>`+"\n", y+15, row.step)
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="12" fill="#9ecae1"/>`+"\n",
			x(row.least), y+5, max(1, x(row.most)-x(row.least)))
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="3" height="18" fill="#08519c"/>`+"\n",
			x(row.middle)-1.5, y+2)
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", labelWidth+barWidth+14, y+15,
			number(row.least)+" / "+number(row.middle)+" / "+number(row.most))
		y += rowHeight
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// stepTimes returns the names of the steps that machines of a role went through, in the order in
// which they appear first, and all times of each. Only machines that passed count.
func stepTimes(p proof, role string) (names []string, taken map[string][]float64) {
	taken = map[string][]float64{}
	for _, r := range p.plan {
		if !r.passed || r.scenario == "negative" {
			continue
		}
		for _, m := range r.machines {
			if m.role != role {
				continue
			}
			for _, s := range m.steps {
				if _, ok := taken[s.name]; !ok {
					names = append(names, s.name)
				}
				taken[s.name] = append(taken[s.name], s.seconds)
			}
		}
	}
	return names, taken
}

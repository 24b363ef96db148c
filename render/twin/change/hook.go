package change

import (
	"cmp"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

// checks compares the hook's checks, NAME|LEVEL|CHECK|REMEDY. It compares level and remedy of
// checks that both sides have.
func (f *List) checks(old, new []byte) {
	read := func(text []byte) (list []setting, others map[string][2]string) {
		others = map[string][2]string{}
		before := ""
		for _, line := range wording.SplitLines(text) {
			name, rest, _ := strings.Cut(line, "|")
			level, rest, _ := strings.Cut(rest, "|")
			check, remedy, _ := strings.Cut(rest, "|")
			remedy = cmp.Or(remedy, before)
			before = remedy
			list = append(list, setting{name, []string{check}})
			others[name] = [2]string{level, remedy}
		}
		return list, others
	}
	a, before := read(old)
	b, after := read(new)
	x, order := collect(a, nil)
	y, order := collect(b, order)
	for _, name := range order {
		if x, y := x[name], y[name]; len(x) == 1 && len(y) == 1 && f.call(name, x[0], y[0]) {
			continue
		}
		f.settings([]setting{{name, x[name]}}, []setting{{name, y[name]}})
	}
	for _, s := range b {
		if was, ok := before[s.name]; ok {
			f.Value(s.name+" level", was[0], after[s.name][0])
			f.Value(s.name+" remedy", was[1], after[s.name][1])
		}
	}
}

// call compares two calls of a function of the hook. It adds the words from the first that differs
// to the last. It reports false for calls of two functions, or with lists of another length, and
// for images, which are compared as a set.
func (f *List) call(name, old, new string) bool {
	a, b := strings.Fields(old), strings.Fields(new)
	if len(a) != len(b) || len(a) == 0 || a[0] != b[0] || a[0] == "images" {
		return false
	}
	from, to := 0, len(a)
	for from < to && a[from] == b[from] {
		from++
	}
	for from < to && a[to-1] == b[to-1] {
		to--
	}
	f.Value(name, strings.Join(a[from:to], " "), strings.Join(b[from:to], " "))
	return true
}

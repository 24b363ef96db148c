package field

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"

	"kiln/render/textdiff"
)

// checks compares the hook's checks, NAME|LEVEL|CHECK|REMEDY. It compares level and remedy of
// checks that both sides have.
func (f *List) checks(old, new []byte) {
	read := func(text []byte) (list []setting, others map[string][2]string) {
		others = map[string][2]string{}
		before := ""
		for _, line := range textdiff.Lines(text) {
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

// maxRoutes is how many routes of a machine are compared one by one at most.
const maxRoutes = 1 << 14

// routes compares routes to machines. A line stands for as many consecutive routes as its last word
// says. If there are too many the caller compares lines.
func (f *List) routes(old, new []byte) {
	a, aOK := expandRoutes(old)
	b, bOK := expandRoutes(new)
	if aOK && bOK {
		f.Set("", a, b)
	}
}

func expandRoutes(text []byte) (out []string, ok bool) {
	for _, line := range textdiff.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, false
		}
		pods, err := netip.ParsePrefix(words[0])
		via, err2 := netip.ParseAddr(words[1])
		n, err3 := strconv.Atoi(words[2])
		if err != nil || err2 != nil || err3 != nil || n > maxRoutes-len(out) {
			return nil, false
		}
		for range n {
			out = append(out, pods.String()+" via "+via.String())
			pods, via = nextPrefix(pods), via.Next()
		}
	}
	return out, true
}

// nextPrefix returns the prefix after p, of the same length.
func nextPrefix(p netip.Prefix) netip.Prefix {
	addr := p.Addr().AsSlice()
	for i, carry := (p.Bits()-1)/8, 1<<(7-(p.Bits()-1)%8); i >= 0 && carry > 0; i-- {
		sum := int(addr[i]) + carry
		addr[i], carry = byte(sum), sum>>8
	}
	next, _ := netip.AddrFromSlice(addr)
	return netip.PrefixFrom(next, p.Bits())
}

package change

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/text/wording"
)

// setting is one flag, directive or assignment. A name may repeat.
type setting struct {
	name   string
	values []string
}

// settings compares values by name. If both sides have a list with several members, it compares the
// members.
func (f *List) settings(old, new []setting) {
	a, order := collect(old, nil)
	b, order := collect(new, order)
	for _, name := range order {
		x, y := a[name], b[name]
		if len(x) == 1 && len(y) == 1 {
			if sep := separator(x[0], y[0]); sep != "" {
				x, y = strings.Split(x[0], sep), strings.Split(y[0], sep)
			} else {
				f.Value(name, quote(x[0]), quote(y[0]))
				continue
			}
		}
		f.Set(name, x, y)
		if len(x) == len(y) && !slices.Equal(x, y) &&
			slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))) {
			f.Value(name, strings.Join(x, " "), strings.Join(y, " "))
		}
	}
}

func collect(list []setting, order []string) (map[string][]string, []string) {
	out, seen := map[string][]string{}, map[string]bool{}
	for _, name := range order {
		seen[name] = true
	}
	for _, s := range list {
		if !seen[s.name] {
			order, seen[s.name] = append(order, s.name), true
		}
		out[s.name] = append(out[s.name], s.values...)
	}
	return out, order
}

// quote returns an empty value as "", because it is not absent.
func quote(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// separator returns the separator of two lists with at least one common member; empty if they are
// no lists.
func separator(old, new string) string {
	for _, sep := range []string{" ", ","} {
		a, b := strings.Split(old, sep), strings.Split(new, sep)
		if len(a)+len(b) > 2 && slices.ContainsFunc(a,
			func(s string) bool { return s != "" && slices.Contains(b, s) }) {
			return sep
		}
	}
	return ""
}

func isCommand(list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, "--") })
}

// flags reads a command line.
func flags(at string, words []string) (out []setting) {
	for i, word := range words {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !strings.HasPrefix(word, "-"):
			out = append(out, setting{strings.TrimSpace(at + " argument " + strconv.Itoa(i)),
				[]string{word}})
		case !ok:
			out = append(out, setting{strings.TrimSpace(at + " " + name), []string{"set"}})
		default:
			out = append(out, setting{strings.TrimSpace(at + " " + name), []string{value}})
		}
	}
	return out
}

// directives reads a unit or another file of systemd. It reads a value with flags as a command
// line.
func directives(text []byte) (out []setting) {
	section := ""
	for _, line := range wording.SplitLines(bytes.ReplaceAll(text, []byte("\\\n"), []byte(" "))) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = line
		case !ok:
			out = append(out, setting{section, []string{line}})
		default:
			at := section + " " + strings.TrimSpace(name)
			if words := strings.Fields(value); isCommand(words) {
				out = append(out, flags(at, words)...)
				continue
			}
			out = append(out, setting{at, []string{strings.TrimSpace(value)}})
		}
	}
	return out
}

// assignments returns the settings of a content of form Settings, and reports false for another
// form.
func assignments(content []byte) (out []setting, ok bool) {
	settings, ok := layout.ReadSettings(content)
	for _, s := range settings {
		out = append(out, setting{s.Name, []string{s.Value}})
	}
	return out, ok
}

// programs reads the list of what a machine fetches (package templates): columns of each program.
func programs(list []byte) (out []setting) {
	for _, line := range wording.SplitLines(list) {
		words := strings.Fields(line)
		for i, name := range []string{"sha256", "version", "", "", "proxy", "url"} {
			if i < len(words) && len(words) > 2 && name != "" {
				out = append(out, setting{words[2] + " " + name, []string{words[i]}})
			}
		}
	}
	return out
}

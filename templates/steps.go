package templates

import (
	_ "embed" // for the sources
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed boot/steps
var stepsSource string

//go:embed boot/etcd
var etcdSource string

//go:embed boot/pool
var poolSource string

//go:embed boot/fetch
var fetchSource string

//go:embed boot/checks
var checksSource string

// functions holds the shell functions that /etc/kiln/steps may have, by name, each without comments
// and indentation.
var functions = parse(stepsSource + etcdSource + poolSource + fetchSource + checksSource)

// mentions holds for each function the other ones whose names occur in its text. That is all that
// it calls, and a little more: a name may also be a word of a message. A function too many costs
// bytes; one too few would stop a machine. TestStepsAreWhole parses the shell and holds both. It is
// computed once, since a cluster may have ten thousand machines.
var mentions = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for name, text := range functions {
		for _, word := range words.FindAllString(text, -1) {
			if _, ok := functions[word]; ok && !slices.Contains(out[name], word) {
				out[name] = append(out[name], word)
			}
		}
	}
	return out
})

// Steps returns /etc/kiln/steps, mode 0600: the functions that the hook needs for these steps and
// for checks of these kinds ("port-free"), and the functions that those call. It panics on a step
// or a kind that does not exist.
func Steps(steps, kinds []string) string {
	wanted := map[string]bool{}
	var want func(name string)
	want = func(name string) {
		if _, ok := functions[name]; !ok {
			panic("templates: no function " + name)
		}
		if wanted[name] {
			return
		}
		wanted[name] = true
		for _, callee := range mentions()[name] {
			want(callee)
		}
	}
	want("step_done")
	want("healthy") // the report calls it
	for _, s := range steps {
		// The hook does the same: step_control for control-plane. It has the step files itself.
		if name, _, _ := cutLast(s, "-"); name != "files" {
			want("step_" + name)
		}
		if s == "name" {
			want("remembered") // the engine calls it
		}
		if s == "node" {
			want("annotate") // the engine calls it
		}
	}
	for _, k := range kinds {
		want("check_" + strings.ReplaceAll(k, "-", "_"))
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		b.WriteString(functions[name])
	}
	return b.String()
}

var (
	words      = regexp.MustCompile(`[a-z_]+`)
	definition = regexp.MustCompile(`^([a-z_0-9]+)\(\) \{`)
)

// parse returns the functions of a source by name. A function begins and ends at the margin.
func parse(source string) map[string]string {
	out := map[string]string{}
	name := ""
	var text strings.Builder
	for line := range strings.Lines(source) {
		if m := definition.FindStringSubmatch(line); m != nil {
			name = m[1]
			text.Reset()
		}
		if name == "" {
			continue
		}
		text.WriteString(line)
		if line == "}\n" || strings.HasSuffix(line, "; }\n") && text.String() == line {
			out[name] = dropComments(text.String(), true)
			name = ""
		}
	}
	return out
}

func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

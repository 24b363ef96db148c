package templates

import (
	_ "embed" // for the sources
	"maps"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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

// commands returns the first word of each command in a part of a program, and the third word of
// "await WHAT COMMAND...".
func commands(part syntax.Node) (names []string) {
	syntax.Walk(part, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		names = append(names, call.Args[0].Lit())
		if call.Args[0].Lit() == "await" {
			names = append(names, call.Args[2].Lit())
		}
		return true
	})
	return names
}

// CheckFunctions returns the functions that a check calls: its first word, and the word that stands
// for a program if that is a function too ("at_least 1024 free_mib var/lib").
func CheckFunctions(call string) (names []string) {
	for i, word := range strings.Fields(call) {
		if _, ok := functions[word]; ok || i == 0 {
			names = append(names, word)
		}
	}
	return names
}

// Steps returns /etc/kiln/steps of a machine for which these conditions hold, mode 0600: the
// functions that the hook needs for these steps, these functions of checks, and the functions that
// those call. It panics on a step or a function that does not exist.
func Steps(holds, steps, checks []string) string {
	texts := map[string]string{}
	var want func(name string)
	want = func(name string) {
		source, ok := functions[name]
		if !ok {
			panic("templates: no function " + name)
		}
		if texts[name] != "" {
			return
		}
		texts[name] = only(source, holds)
		parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
		function, err := parser.Parse(strings.NewReader(texts[name]), name)
		if err != nil {
			panic("templates: " + err.Error())
		}
		for _, command := range commands(function) {
			if functions[command] != "" {
				want(command)
			}
		}
	}
	want("step_done")
	want("finish")  // the engine calls it
	want("healthy") // the report calls it
	for _, s := range steps {
		// The hook does the same: step_control for control-plane. It has the step files itself.
		if name, _, _ := strings.Cut(s, "-"); name != "files" {
			want("step_" + name)
		}
		if s == "name" {
			want("remembered") // the engine calls it
		}
		if s == "node" {
			want("annotate") // the engine calls it
		}
	}
	for _, name := range checks {
		want(name)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b.WriteString(texts[name])
	}
	return b.String()
}

var definition = regexp.MustCompile(`^([a-z_0-9]+)\(\) \{`)

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

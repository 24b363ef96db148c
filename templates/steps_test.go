package templates_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"kiln.dev/kiln/templates"
)

// shellFunctions returns the functions that a shell program defines, by name.
func shellFunctions(t *testing.T, name, program string) map[string]*syntax.FuncDecl {
	t.Helper()
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	file, err := parser.Parse(strings.NewReader(program), name)
	must(t, err)
	functions := map[string]*syntax.FuncDecl{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok {
			functions[f.Name.Value] = f
		}
		return true
	})
	return functions
}

// commands returns the names of the programs and functions that f runs: the first word of each
// command, and the third word of "await WHAT COMMAND...".
func commands(f *syntax.FuncDecl) []string {
	var names []string
	syntax.Walk(f.Body, func(n syntax.Node) bool {
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

// TestStepsAreWhole parses what Steps returns for each step and each kind of check alone. Every
// function of the hook that it calls must be in it or in the engine. Steps looks for names in the
// text, so there may be functions that nothing calls; the test lists where each of them comes from.
func TestStepsAreWhole(t *testing.T) {
	t.Parallel()
	spare := []string{
		"running",                         // of scripts, which says "running NAME"
		"api",                             // of misnamed (apiServer.certSANs) and of admin ($api)
		"checked",                         // of judge, which reads the file checked
		"somebody", "asked", "ask_member", // of step_etcd, which says "somebody who left no name"
	}
	var sources strings.Builder
	for _, name := range []string{"steps", "etcd", "pool", "checks"} {
		text, err := os.ReadFile("boot/" + name)
		must(t, err)
		sources.Write(text)
	}
	all := shellFunctions(t, "sources", sources.String())
	engine := shellFunctions(t, "boot", templates.Boot)

	check := func(name, root, program string) {
		functions := shellFunctions(t, name, program)
		reached := map[string]bool{}
		var follow func(caller, name string)
		follow = func(caller, name string) {
			if all[name] == nil || engine[name] != nil || reached[name] {
				return
			}
			if functions[name] == nil {
				t.Errorf("%s: %s calls %s, which is missing", root, caller, name)
				return
			}
			reached[name] = true
			for _, command := range commands(functions[name]) {
				follow(name, command)
			}
		}
		for _, name := range []string{root, "step_done"} {
			follow("the engine", name)
		}
		follow("the report", "healthy")
		if root == "step_name" {
			follow("the engine", "remembered")
		}
		if root == "step_node" {
			follow("the engine", "annotate")
		}
		for _, name := range slices.Sorted(maps.Keys(functions)) {
			if !reached[name] && !slices.Contains(spare, name) {
				t.Errorf("%s: nothing calls %s", root, name)
			}
		}
	}
	for name := range all {
		if step, ok := strings.CutPrefix(name, "step_"); ok {
			check(name, name, templates.Steps([]string{step}, nil))
		}
	}
	for _, kind := range templates.CheckKinds() {
		root := "check_" + strings.ReplaceAll(kind, "-", "_")
		check(kind, root, templates.Steps(nil, []string{kind}))
	}
}

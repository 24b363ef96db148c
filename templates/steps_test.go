package templates_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mvdan.cc/sh/v3/syntax"

	"kiln.dev/kiln/render/machine/preflight"
	"kiln.dev/kiln/templates"
)

// conditions are all conditions of lines of the hook.
var conditions = []string{
	templates.IfAnnounces, templates.IfBacksUp, templates.IfCloudInit, templates.IfControlPlane,
	templates.IfWorker, templates.IfEtcd, templates.IfCredential, templates.IfNamed,
	templates.IfPool, templates.IfLoads, templates.IfObjects, templates.IfAsks,
	templates.IfRegistries, templates.IfLogins, templates.IfPulls, templates.IfArchive,
	templates.IfMedium, templates.IfDefinitions, templates.IfSwapOff, templates.IfMember,
	templates.IfPeers, templates.IfIPv6,
}

// TestConditions: each condition of a line is a known one, and each known one has a line.
func TestConditions(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, source := range templates.Sources() {
		for _, m := range regexp.MustCompile(`(?m) #if (.*)$`).FindAllStringSubmatch(source, -1) {
			seen[m[1]] = true
		}
		require.Equal(t, strings.Count(source, " #if "), strings.Count(source, "#if"),
			"a condition is not the end of a line")
	}
	want := slices.Sorted(slices.Values(conditions))
	require.Equal(t, want, slices.Sorted(maps.Keys(seen)))
}

// TestCheckedIDs: the checks that a step names are in the catalogue.
func TestCheckedIDs(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, e := range preflight.Catalogue {
		known[e.ID] = true
	}
	count := 0
	named := regexp.MustCompile(` checked (.*); do`)
	for _, source := range templates.Sources() {
		for _, m := range named.FindAllStringSubmatch(source, -1) {
			for id := range strings.FieldsSeq(m[1]) {
				count++
				require.True(t, known[id], "%s: there is no check %s", m[0], id)
			}
		}
	}
	require.GreaterOrEqual(t, count, 6)
}

// sourceFunctions returns the functions of a file of templates/boot, by name.
func sourceFunctions(t *testing.T, name string) map[string]*syntax.FuncDecl {
	t.Helper()
	text, err := os.ReadFile("boot/" + name)
	must(t, err)
	return shellFunctions(t, name, string(text))
}

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

// TestStepsAreWhole parses what Steps returns for each step and each check alone: it has every
// function of the hook that is called, unless the engine has it, and no others.
func TestStepsAreWhole(t *testing.T) {
	t.Parallel()
	all := map[string]*syntax.FuncDecl{}
	for _, name := range []string{"steps", "etcd", "pool", "fetch", "checks"} {
		maps.Copy(all, sourceFunctions(t, name))
	}
	engine := shellFunctions(t, "boot", templates.Boot(conditions))

	check := func(name string, roots []string, program string) {
		functions := shellFunctions(t, name, program)
		reached := map[string]bool{}
		var follow func(caller, name string)
		follow = func(caller, function string) {
			if all[function] == nil || engine[function] != nil || reached[function] {
				return
			}
			if functions[function] == nil {
				t.Errorf("%s: %s calls %s, which is missing", name, caller, function)
				return
			}
			reached[function] = true
			for _, command := range templates.Commands(functions[function]) {
				follow(function, command)
			}
		}
		for _, root := range append(roots, "step_done", "finish") {
			follow("the engine", root)
		}
		follow("the report", "healthy")
		for _, function := range slices.Sorted(maps.Keys(functions)) {
			require.True(t, reached[function], "%s: nothing calls %s", name, function)
		}
	}
	// What the engine calls on a machine that has the step.
	engineCalls := map[string]string{"step_name": "remembered", "step_node": "annotate"}
	for name := range all {
		step, ok := strings.CutPrefix(name, "step_")
		if !ok {
			continue
		}
		roots := []string{name, engineCalls[name]}
		for _, holds := range [][]string{nil, conditions} {
			check(fmt.Sprint(name, holds), roots, templates.Steps(holds, []string{step}, nil))
		}
	}
	for _, row := range checkRows {
		names := templates.CheckFunctions(row.call)
		check(row.call, names, templates.Steps(nil, nil, names))
	}
}

package need

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const top = "../.."

// TestThings: the table has each thing once, in order, and names only tests that exist.
func TestThings(t *testing.T) {
	t.Parallel()
	exist := map[string]bool{}
	for _, file := range testFiles(t) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				exist[f.Name.Name] = true
			}
		}
	}
	var names [2][]string // programs, rights
	for _, thing := range Things {
		kind := map[bool]int{true: 1}[thing.right]
		names[kind] = append(names[kind], strings.ToLower(strings.TrimPrefix(thing.Name, "a ")))
		require.Equal(t, shells[thing.Name] == nil, thing.Tests != nil, thing.Name)
		for _, test := range thing.Tests {
			require.True(t, exist[test], "%s: there is no %s", thing.Name, test)
		}
	}
	for _, list := range names {
		require.True(t, slices.IsSorted(list), list)
		require.Len(t, slices.Compact(slices.Clone(list)), len(list))
	}
}

// everywhere are the programs that tests start without asking: every system where kiln is built has
// them.
var everywhere = []string{"chmod", "go", "mount", "sh", "timeout", "umount", "unshare"}

// own are the files that look for programs or skip tests for reasons of their own: not for want of
// something on this computer.
var own = map[string]string{
	"cmd/kiln/determinism_test.go":  "LookPath", // kiln itself
	"cmd/kiln/term/isolate_test.go": "LookPath", // which must find nothing
	"render/change_test.go":         "Skip",     // a change that a platform has no room for
	"render/fuzz_test.go":           "Skip",     // input that is no case
}

// TestAsked: tests ask this package for what not every computer has. They look for no program, skip
// nothing and start no program by themselves.
func TestAsked(t *testing.T) {
	t.Parallel()
	files := testFiles(t)
	require.Greater(t, len(files), 150)
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		ast.Inspect(files[name], func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fault, kind := unasked(call)
			if fault == "" {
				return true
			}
			if own[name] == kind {
				used[name] = true
				return true
			}
			t.Errorf("%s: %s; ask test/need", name, fault)
			return true
		})
	}
	for name := range own {
		require.True(t, used[name], "%s needs no exception", name)
	}
}

// unasked returns what a call does by itself, and the kind of it.
func unasked(call *ast.CallExpr) (fault, kind string) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	switch f.Sel.Name {
	case "LookPath":
		return "looks for a program", "LookPath"
	case "Skip", "Skipf", "SkipNow":
		return "skips a test", "Skip"
	case "Command", "CommandContext":
		arguments := call.Args
		if f.Sel.Name == "CommandContext" && len(arguments) > 0 {
			arguments = arguments[1:]
		}
		x, isIdent := f.X.(*ast.Ident)
		if !isIdent || x.Name != "exec" || len(arguments) == 0 {
			break
		}
		literal, ok := arguments[0].(*ast.BasicLit)
		if !ok {
			break
		}
		program, _ := strconv.Unquote(literal.Value)
		if !slices.Contains(everywhere, program) {
			return "starts " + program, "Command"
		}
	}
	return "", ""
}

var (
	started = regexp.MustCompile(`(?m)^(?:\[[^\]]*\] )*!? ?(?:exec|code \d) ([a-z0-9-]+)`)
	builtin = regexp.MustCompile(`\[!?exec:`)
)

// TestScriptsAsk: a script that starts a program of the table asks for it, or brings its own.
func TestScriptsAsk(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(top + "/testdata/script/*.txtar")
	require.NoError(t, err)
	require.Greater(t, len(scripts), 30)
	asks := 0
	for _, script := range scripts {
		data, err := os.ReadFile(script)
		require.NoError(t, err)
		text, name := string(data), filepath.Base(script)
		require.NotRegexp(t, builtin, text, "%s: write [here:NAME]", name)
		for _, m := range started.FindAllStringSubmatch(text, -1) {
			program := m[1]
			named := func(thing Thing) bool { return thing.Name == program }
			if !slices.ContainsFunc(Things, named) ||
				strings.Contains(text, "\n-- bin/"+program+" --\n") {
				continue
			}
			asks++
			require.Regexp(t, `(?m)^\[!?here:`+program+`\]`, text, "%s starts it", name)
		}
	}
	require.Positive(t, asks)
}

// testFiles returns the tests of this module by their paths, those of this package excepted.
func testFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	require.NoError(t, fs.WalkDir(os.DirFS(top), ".", func(
		name string, e fs.DirEntry, err error,
	) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			_, err := os.Stat(filepath.Join(top, name, "go.mod"))
			if name != "." && err == nil || e.Name() == ".git" || e.Name() == "testdata" {
				return fs.SkipDir
			}
		case strings.HasSuffix(name, "_test.go") && path.Dir(name) != "test/need":
			file := filepath.Join(top, name)
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil,
				parser.SkipObjectResolution)
			files[name] = parsed
			return err
		}
		return nil
	}))
	return files
}

// TestVariables: env takes the words as variables, and no shell divides them.
func TestVariables(t *testing.T) {
	t.Parallel()
	require.Equal(t, "KILN_FOUND_cloud_init_24_2", variable(CloudInitSchemas))
	names := map[string]bool{}
	for _, thing := range Things {
		names[variable(thing.Name)] = true
	}
	require.Len(t, names, len(Things))
	for _, word := range Variables() {
		require.Regexp(t, `^KILN_FOUND_[A-Za-z0-9_]+=(here|\d+:\d+)$`, word)
	}
}

// TestLook: a program that is not here is wanted by its names, and a shell that never starts the
// programs of PATH is not usable.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	require.Equal(t, found{want: "kiln-x or kiln-y"}, program("kiln-x", "kiln-y")())
	require.Equal(t, found{want: "dash"}, shell("dash")())
	for _, row := range []struct{ text, path, want string }{
		{"exit 127", dir + "/dash", ""},
		{"exit 0", "", "a dash that starts the programs of PATH, not its own"},
	} {
		file := filepath.Join(dir, "dash")
		require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+row.text+"\n"), 0o700))
		require.Equal(t, found{row.path, row.want}, shell("dash")())
	}
	require.Equal(t, dir+"/dash", Basic(t, "dash"))
}

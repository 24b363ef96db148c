package architecture

import (
	"bytes"
	"cmp"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module begins the import path of each package of this module.
var module = func() string {
	out, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out)) + "/"
}()

// maxKnot is how many files of a package may each use names of each other, directly or through
// others.
const maxKnot = 8

// TestRooms: the files of no package make a larger knot than maxKnot. It prints the largest knots.
func TestRooms(t *testing.T) {
	t.Parallel()
	rooms := measure(t)
	require.Greater(t, len(rooms), 15, "packages")
	for _, r := range rooms {
		if len(r.knot) > maxKnot {
			t.Errorf("%s: %d files use each other, want at most %d: %s; move what they share to a "+
				"file that uses none of them, or divide the package", r.path, len(r.knot), maxKnot,
				strings.Join(r.knot, " "))
		}
	}
	slices.SortFunc(rooms, func(a, b room) int {
		return cmp.Or(cmp.Compare(len(b.knot), len(a.knot)), cmp.Compare(b.lines, a.lines))
	})
	for _, r := range rooms[:5] {
		t.Logf("%s: %d lines, %d files use each other: %s", r.path, r.lines, len(r.knot),
			strings.Join(r.knot, " "))
	}
}

// room is a package as it was measured. Paths of this module begin below its own.
type room struct {
	path    string
	dir     string
	files   []string // that this system compiles
	imports []string
	lines   int
	knot    []string // the files of the largest strongly connected part, sorted
}

// listed is what go list says about a package.
type listed struct {
	ImportPath string
	Dir        string
	Export     string // the compiled package, which has its types
	GoFiles    []string
	Imports    []string
	Module     *struct{ Main bool }
}

// measure returns every package of this module that has files other than tests.
func measure(t *testing.T) (rooms []room) {
	t.Helper()
	own, compiled := compile(t)
	for i := range own {
		rooms = append(rooms, measureOne(t, &own[i], compiled))
	}
	return rooms
}

// checked returns the types of every package of this module.
func checked(t *testing.T) (list []*types.Package) {
	t.Helper()
	own, compiled := compile(t)
	for i := range own {
		pkg, _ := check(t, &own[i], compiled)
		list = append(list, pkg)
	}
	return list
}

// compile returns every package of this module that has files other than tests, and what finds the
// types of those that they import.
func compile(t *testing.T) (own []listed, compiled types.Importer) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-export",
		"-json=ImportPath,Dir,Export,GoFiles,Imports,Module", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		require.NoError(t, dec.Decode(&p))
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main && len(p.GoFiles) > 0 {
			own = append(own, p)
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	return own, importer.ForCompiler(token.NewFileSet(), "gc", open)
}

// measureOne measures a package; imports finds the types of others.
func measureOne(t *testing.T, p *listed, imports types.Importer) room {
	t.Helper()
	r := room{path: strings.TrimPrefix(p.ImportPath, module), dir: p.Dir, files: p.GoFiles}
	for _, imported := range p.Imports {
		r.imports = append(r.imports, strings.TrimPrefix(imported, module))
	}
	all, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
	require.NoError(t, err)
	for _, path := range all { // those for other systems too
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		r.lines += bytes.Count(text, []byte("\n"))
	}
	r.knot = knot(p.GoFiles, uses(t, p, imports))
	return r
}

// uses returns the files that each file of a package uses a name of: a package-level name, a
// method or a field.
func uses(t *testing.T, p *listed, imports types.Importer) map[string][]string {
	t.Helper()
	pkg, c := check(t, p, imports)
	set := c.set
	out := map[string][]string{}
	for id, object := range c.Uses {
		if object.Pkg() != pkg {
			continue
		}
		from := filepath.Base(set.Position(id.Pos()).Filename)
		to := filepath.Base(set.Position(object.Pos()).Filename)
		if from != to && !slices.Contains(out[from], to) {
			out[from] = append(out[from], to)
		}
	}
	return out
}

// usage is which names the files of a package use.
type usage struct {
	types.Info
	set   *token.FileSet
	files []*ast.File
}

// check finds the types of a package, and the names that it uses.
func check(t *testing.T, p *listed, imports types.Importer) (*types.Package, *usage) {
	t.Helper()
	u := &usage{
		Info: types.Info{
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		},
		set: token.NewFileSet(),
	}
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		f, err := parser.ParseFile(u.set, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		u.files = append(u.files, f)
	}
	pkg, err := (&types.Config{Importer: imports}).Check(p.ImportPath, u.set, u.files, &u.Info)
	require.NoError(t, err)
	return pkg, u
}

// knot returns the largest strongly connected part of the graph, sorted, by Tarjan's algorithm.
func knot(files []string, uses map[string][]string) (largest []string) {
	index, low := map[string]int{}, map[string]int{}
	var stack []string
	var visit func(file string)
	visit = func(file string) {
		index[file] = len(index) + 1
		low[file] = index[file]
		stack = append(stack, file)
		for _, other := range uses[file] {
			if index[other] == 0 {
				visit(other)
				low[file] = min(low[file], low[other])
			} else if slices.Contains(stack, other) {
				low[file] = min(low[file], index[other])
			}
		}
		if low[file] == index[file] {
			at := slices.Index(stack, file)
			if part := stack[at:]; len(part) > len(largest) {
				largest = slices.Sorted(slices.Values(part))
			}
			stack = stack[:at]
		}
	}
	for _, file := range files {
		if index[file] == 0 {
			visit(file)
		}
	}
	return largest
}

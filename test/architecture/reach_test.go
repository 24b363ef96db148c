package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Functions that open connections or start programs, and those that write files. One that is not
// here is not found: a new way out of the program belongs in these lists.
var (
	connects = []string{
		"(*net/http.Client).Do", "(*net/http.Client).Get", "(*net/http.Client).Post",
		"(*net/http.Server).ListenAndServe", "(*net/http.Server).Serve",
		"(*net/http.Server).ServeTLS", "net/http.Get", "net/http.Post", "net/http.ListenAndServe",
		"(*net.Dialer).Dial", "(*net.Dialer).DialContext", "net.Dial", "net.DialTimeout",
		"(*net.ListenConfig).Listen", "net.Listen", "net.ListenPacket", "net.ListenTCP",
		"crypto/tls.Dial", "crypto/tls.Listen", "os/exec.Command", "os/exec.CommandContext",
	}
	writes = []string{
		"render/folder.Write", "render/folder.Create", "render/folder.Make",
		"render/folder.Rename", "render/folder.OpenAppend",
		"(*render/folder.Folder).Commit", "(*render/folder.Owned).Replace",
		"os.WriteFile", "os.Create",
	}
)

// stop holds functions whose own calls do not count: git reads a repository of this computer.
var stop = []string{"cmd/kiln/vault.gitCommand"}

// TestReach: what the table of verbs in cmd/kiln/reach.go says of a verb's connections and files is
// what the functions do that the verb can call.
func TestReach(t *testing.T) {
	t.Parallel()
	c := readCalls(t)
	says := readReaches(t)
	var found []string
	var visit func(constructor, path string)
	visit = func(constructor, path string) {
		below := c.below(constructor)
		for name, child := range below {
			visit(child, strings.TrimPrefix(path+" "+name, " "))
		}
		reached := c.reached(constructor, slices.Collect(maps.Values(below)))
		said, does := says[path]
		if !does {
			return
		}
		found = append(found, path)
		connection, file := firstOf(reached, connects), firstOf(reached, writes)
		assert.Equal(t, said.network, connection != "",
			"kiln %s: opens a connection or runs a program: %q", path, connection)
		assert.Equal(t, said.files, file != "", "kiln %s: writes a file: %q", path, file)
	}
	visit("cmd/kiln.root", "")
	slices.Sort(found)
	require.Equal(t, slices.Sorted(maps.Keys(says)), found, "verbs")
}

func firstOf(reached map[string]bool, functions []string) string {
	for _, function := range functions {
		if reached[function] {
			return function
		}
	}
	return ""
}

// calls is what the functions and package-level variables of the program use, by their full names.
type calls struct {
	uses  map[string][]string
	verbs map[string]string // the name of the verb that a function makes
}

// readCalls reads the packages of the program.
func readCalls(t *testing.T) *calls {
	t.Helper()
	c := &calls{uses: map[string][]string{}, verbs: map[string]string{}}
	own, compiled := compile(t)
	for i := range own {
		if strings.HasPrefix(own[i].ImportPath, module+"test/") {
			continue
		}
		_, u := check(t, &own[i], compiled)
		for _, file := range u.files {
			for _, decl := range file.Decls {
				c.add(u, decl)
			}
		}
	}
	return c
}

// add reads what a declaration uses, and whether it makes a verb.
func (c *calls) add(u *usage, decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		c.addNode(u, decl, []*ast.Ident{decl.Name})
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok {
				c.addNode(u, value, value.Names)
			}
		}
	}
}

// addNode reads a part of the program that declares these names.
func (c *calls) addNode(u *usage, part ast.Node, names []*ast.Ident) {
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			key, _ := n.Key.(*ast.Ident)
			use, ok := n.Value.(*ast.BasicLit)
			if ok && key != nil && key.Name == "Use" {
				text, _ := strconv.Unquote(use.Value)
				c.verbs[fullName(u.Defs[names[0]])], _, _ = strings.Cut(text, " ")
			}
		case *ast.Ident:
			if used := fullName(u.Uses[n]); used != "" {
				for _, id := range names {
					name := fullName(u.Defs[id])
					c.uses[name] = append(c.uses[name], used)
				}
			}
		}
		return true
	})
}

// fullName returns the name of a function, a method or a package-level variable with that of its
// package; "" for anything else.
func fullName(object types.Object) string {
	switch object := object.(type) {
	case *types.Func:
		return strings.Replace(object.Origin().FullName(), module, "", 1)
	case *types.Var:
		if pkg := object.Pkg(); pkg != nil && pkg.Scope().Lookup(object.Name()) == object {
			return strings.TrimPrefix(pkg.Path(), module) + "." + object.Name()
		}
	}
	return ""
}

// below returns the functions that make the verbs directly below the one that a function makes, by
// the names of the verbs.
func (c *calls) below(constructor string) map[string]string {
	out := map[string]string{}
	for _, used := range c.uses[constructor] {
		if verb := c.verbs[used]; verb != "" && used != constructor {
			out[verb] = used
		}
		if strings.HasSuffix(used, "Command") { // it may call the function that makes the verb
			for _, inner := range c.uses[used] {
				if verb := c.verbs[inner]; verb != "" && c.verbs[used] == "" {
					out[verb] = inner
				}
			}
		}
	}
	return out
}

// reached returns what a function uses, directly or through others, but not through those without.
func (c *calls) reached(function string, without []string) map[string]bool {
	reached := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if reached[name] || slices.Contains(without, name) || slices.Contains(stop, name) {
			return
		}
		reached[name] = true
		for _, used := range c.uses[name] {
			visit(used)
		}
	}
	visit(function)
	return reached
}

// readReaches returns for each row of the table whether its fields have a text.
func readReaches(t *testing.T) map[string]struct{ network, files bool } {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../cmd/kiln/reach.go", nil, 0)
	require.NoError(t, err)
	out := map[string]struct{ network, files bool }{}
	ast.Inspect(file, func(n ast.Node) bool {
		row, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, isString := row.Key.(*ast.BasicLit)
		value, isRow := row.Value.(*ast.CompositeLit)
		if !isString || !isRow {
			return true
		}
		path, err := strconv.Unquote(key.Value)
		require.NoError(t, err)
		says := struct{ network, files bool }{}
		for i, field := range value.Elts {
			named, isNamed := field.(*ast.KeyValueExpr)
			says.network = says.network || isNamed && named.Key.(*ast.Ident).Name == "network" ||
				!isNamed && i == 0
			says.files = says.files || isNamed && named.Key.(*ast.Ident).Name == "files" ||
				!isNamed && i == 1
		}
		out[path] = says
		return false
	})
	return out
}

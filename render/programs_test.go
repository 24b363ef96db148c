package render_test

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/twins"
)

// Forty goldens hold the hook's programs, so these stand once, in testdata/programs, and the
// goldens say which they have: "see testdata/programs/boot", or for steps, which every kind of
// machine has other functions of, "see testdata/programs/steps" and the names of the functions, one
// a line. So a change of a function is one golden, and a function more on some machines is one line
// for each. Where lines depend on the machine, there are variants: boot.b, and step_machine.b in
// steps.b.
const (
	programs = "../testdata/programs"
	see      = "see testdata/programs/"
)

// programNames are the files in /etc/kiln that are programs.
var programNames = []string{"backup", "boot", "report", "steps"}

// isProgram reports whether a file of a twin is a program.
func isProgram(path string) bool {
	return strings.HasSuffix(filepath.Dir(path), "/etc/kiln") &&
		slices.Contains(programNames, filepath.Base(path))
}

var functionStart = regexp.MustCompile(`(?m)^[a-z_0-9]+\(\) \{`)

// functions returns the functions of a program by name. The rest of the program has the empty name.
func functions(program string) map[string]string {
	out := map[string]string{}
	starts := append(functionStart.FindAllStringIndex(program, -1), []int{len(program)})
	out[""] = program[:starts[0][0]]
	for i, at := range starts[:len(starts)-1] {
		name, _, _ := strings.Cut(program[at[0]:], "(")
		out[name] = program[at[0]:starts[i+1][0]]
	}
	return out
}

// program returns one of testdata/programs.
func program(t *testing.T, name string) string {
	t.Helper()
	return read(t, filepath.Join(programs, name))
}

// variant returns the name of the i-th variant of a program or a function.
func variant(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "." + string(rune('a'+i))
}

// unfolded returns the golden twin of a case as a whole, in a folder of its own.
func unfolded(t *testing.T, name string) string {
	t.Helper()
	dir := twins.Expand(t, clusters, name)
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !isProgram(path) {
			return err
		}
		return os.WriteFile(path, []byte(resolved(t, path)), 0o644)
	}))
	return dir
}

// resolved returns the program that a golden stands for.
func resolved(t *testing.T, golden string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(read(t, golden), "\n"), "\n")
	name, found := strings.CutPrefix(lines[0], see)
	require.True(t, found, "%s: it begins with %q; make golden rewrites it", golden, lines[0])
	if len(lines) == 1 {
		return program(t, name)
	}
	out := ""
	for _, line := range lines[1:] {
		function, letter, _ := strings.Cut(line, ".")
		known := functions(program(t, strings.TrimSuffix(name+"."+letter, ".")))
		require.Contains(t, known, function, "%s; make golden rewrites it", golden)
		out += known[function]
	}
	return out
}

// shipped collects the variants of the programs of golden twins: by name, and of steps by
// "steps/FUNCTION".
type shipped map[string][]string

// eachProgram calls visit with each program of a twin and its parts: the functions of steps by
// name, and of the others the whole under the empty name.
func eachProgram(
	t *testing.T, dir string, visit func(path, name string, parts map[string]string),
) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !isProgram(path) {
			return err
		}
		name, parts := filepath.Base(path), map[string]string{"": read(t, path)}
		if name == "steps" {
			parts = functions(parts[""])
			require.Empty(t, parts[""], "%s: it begins with something else than a function", path)
			delete(parts, "")
		}
		visit(path, name, parts)
		return nil
	}))
}

// collect takes the programs of a twin.
func (s shipped) collect(t *testing.T, dir string) {
	t.Helper()
	eachProgram(t, dir, func(_, name string, parts map[string]string) {
		for part, text := range parts {
			key := strings.TrimSuffix(name+"/"+part, "/")
			if !slices.Contains(s[key], text) {
				s[key] = append(s[key], text)
				// The longest is the first.
				slices.SortFunc(s[key], func(a, b string) int {
					return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
				})
			}
		}
	})
}

// fold replaces each program of a twin by the lines that stand for it, when all twins were
// collected.
func (s shipped) fold(t *testing.T, dir string) {
	t.Helper()
	eachProgram(t, dir, func(path, name string, parts map[string]string) {
		var lines []string
		for part, text := range parts {
			if part == "" {
				name = variant(name, slices.Index(s[name], text))
			} else {
				lines = append(lines, variant(part, slices.Index(s[name+"/"+part], text)))
			}
		}
		slices.Sort(lines)
		text := strings.Join(append([]string{see + name}, lines...), "\n") + "\n"
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	})
}

// write writes testdata/programs.
func (s shipped) write(t *testing.T) {
	t.Helper()
	require.NoError(t, os.RemoveAll(programs))
	require.NoError(t, os.MkdirAll(programs, 0o755))
	files := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		name, _, _ := strings.Cut(key, "/")
		for i, text := range s[key] {
			files[variant(name, i)] += text
		}
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte(text), 0o644))
	}
}

// TestPrograms: goldens use every program and function in testdata/programs.
func TestPrograms(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, name := range cases(t) {
		visit := func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && isProgram(path) {
				lines := strings.Split(strings.TrimSuffix(read(t, path), "\n"), "\n")
				used[strings.TrimPrefix(lines[0], see)] = true
				for _, function := range lines[1:] {
					used[function] = true
				}
			}
			return err
		}
		require.NoError(t, filepath.WalkDir(filepath.Join(clusters, name, "want"), visit))
	}
	there, err := os.ReadDir(programs)
	require.NoError(t, err)
	require.Greater(t, len(there), len(programNames))
	for _, e := range there {
		name, letter, _ := strings.Cut(e.Name(), ".")
		if name != "steps" {
			require.True(t, used[e.Name()], "testdata/programs/%s: no golden has it", e.Name())
			continue
		}
		for function := range functions(program(t, e.Name())) {
			function = strings.TrimSuffix(function+"."+letter, ".")
			require.True(t, function == "" || function[0] == '.' || used[function],
				"testdata/programs/%s: no golden has %s", e.Name(), function)
		}
	}
}

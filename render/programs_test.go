package render_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Forty goldens hold the hook's programs, so these stand once, in testdata/programs, and the
// goldens say which they have: "see testdata/programs/boot", or for steps, which every kind of
// machine has other functions of, "see testdata/programs/steps" and the names of the functions, one
// a line. So a change of a function is one golden, and a function more on some machines is one line
// for each.
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

// unfolded returns a golden twin with its programs, in a folder of its own.
func unfolded(t *testing.T, want string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "want")
	require.NoError(t, os.CopyFS(dir, os.DirFS(want)))
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
	text := program(t, name)
	if len(lines) == 1 {
		return text
	}
	known, out := functions(text), ""
	for _, function := range lines[1:] {
		require.Contains(t, known, function, "%s; make golden rewrites it", golden)
		out += known[function]
	}
	return out
}

// shipped collects the programs of golden twins: by name, the functions of steps, and of the others
// the whole under the empty name.
type shipped map[string]map[string]string

// fold replaces each program of a twin by the lines that stand for it.
func (s shipped) fold(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !isProgram(path) {
			return err
		}
		name := filepath.Base(path)
		text, parts := see+name+"\n", map[string]string{"": read(t, path)}
		if name == "steps" {
			parts = functions(parts[""])
			require.Empty(t, parts[""], "%s: it begins with something else than a function", path)
			delete(parts, "")
			text += strings.Join(slices.Sorted(maps.Keys(parts)), "\n") + "\n"
		}
		if s[name] == nil {
			s[name] = map[string]string{}
		}
		for part, is := range parts {
			was, there := s[name][part]
			require.True(t, !there || was == is,
				"%s: another %s %s than on other machines", path, name, part)
			s[name][part] = is
		}
		return os.WriteFile(path, []byte(text), 0o644)
	}))
}

// write writes testdata/programs.
func (s shipped) write(t *testing.T) {
	t.Helper()
	require.NoError(t, os.MkdirAll(programs, 0o755))
	for name, parts := range s {
		text := ""
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			text += parts[part]
		}
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
	for _, name := range programNames {
		require.True(t, used[name], "testdata/programs/%s: no golden has it", name)
	}
	for function := range functions(program(t, "steps")) {
		require.True(t, function == "" || used[function],
			"testdata/programs/steps: no golden has %s", function)
	}
	there, err := os.ReadDir(programs)
	require.NoError(t, err)
	require.Len(t, there, len(programNames))
}

// Package twins keeps the review twins of golden cases as what differs from two base cases: of a
// file that a base has too, with the same content, the twin says so in its file SAME alone. So a
// change of what all machines have is a change of one golden.
package twins

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bases are the cases that the others are told apart from. The first one is whole.
var bases = []string{"single", "ha"}

// same is the file of a twin with a line for each file that is left out: its path, and the base
// that has it; or CASE/PATH, if the base has it under another path.
const same = "SAME"

// Expand returns a whole copy of the twin want of a case in the folder of all cases.
func Expand(t testing.TB, cases, name string) string {
	t.Helper()
	want := filepath.Join(cases, name, "want")
	dir := filepath.Join(t.TempDir(), "want")
	require.NoError(t, os.CopyFS(dir, os.DirFS(want)))
	list, err := os.ReadFile(filepath.Join(dir, same))
	if name == bases[0] {
		require.ErrorIs(t, err, fs.ErrNotExist)
		return dir
	}
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, same)))
	for line := range strings.Lines(string(list)) {
		file, from, _ := strings.Cut(strings.TrimSpace(line), " ")
		base, there, isOther := strings.Cut(from, "/")
		if !isOther {
			there = file
		}
		text, err := os.ReadFile(filepath.Join(cases, base, "want", filepath.FromSlash(there)))
		require.NoError(t, err)
		file = filepath.Join(dir, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, text, 0o644))
	}
	return dir
}

// Fold leaves out of whole twins what a base has too.
func Fold(t testing.TB, cases string, names []string) {
	t.Helper()
	there := map[string][]string{} // paths by content
	order := append(slices.Clone(bases), names...)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for _, name := range slices.Compact(order) {
		fold(t, cases, name, there)
	}
}

// rank is the place of a case in the order of folding: the bases come first.
func rank(name string) int {
	if i := slices.Index(bases, name); i >= 0 {
		return i
	}
	return len(bases)
}

// fold leaves out of a twin what is there, and adds what it keeps if the case is a base.
func fold(t testing.TB, cases, name string, there map[string][]string) {
	t.Helper()
	want := filepath.Join(cases, name, "want")
	var list strings.Builder
	kept := map[string]string{}
	require.NoError(t, filepath.WalkDir(want, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(want, file)
		rel = filepath.ToSlash(rel)
		from := there[string(text)]
		if err != nil || len(from) == 0 || e.Name() == "INDEX" {
			kept[rel] = string(text)
			return err
		}
		nearest := slices.MaxFunc(from, func(a, b string) int {
			return cmp.Or(cmp.Compare(alike(a, rel), alike(b, rel)), strings.Compare(b, a))
		})
		list.WriteString(rel + " " + strings.TrimSuffix(nearest, "/"+rel) + "\n")
		return os.Remove(file)
	}))
	if name != bases[0] {
		text := []byte(list.String())
		require.NoError(t, os.WriteFile(filepath.Join(want, same), text, 0o644))
	}
	if slices.Contains(bases, name) {
		for rel, text := range kept {
			there[text] = append(there[text], path.Join(name, rel))
		}
	}
}

// alike is how many bytes two paths have in common at their ends.
func alike(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page and the chart of testdata anew")

// copyRun returns a copy of testdata/run, in which one string of a file is another one.
func copyRun(t *testing.T, file, old, now string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/run")); err != nil {
		t.Fatal(err)
	}
	if file == "" {
		return folder
	}
	path := filepath.Join(folder, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), old, now, 1)
	if changed == string(text) {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestPage: page and chart of a run with every scenario, a failure and a repetition that did not
// run. Both count as not passed.
func TestPage(t *testing.T) {
	t.Parallel()
	folder := copyRun(t, "", "", "")
	left, err := run(folder)
	if err != nil || left != 2 {
		t.Fatalf("%d have not passed, want 2; %v", left, err)
	}
	for _, name := range []string{"proof.md", "proof-steps.svg"} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		got = []byte(strings.ReplaceAll(string(got), filepath.Base(folder)+"/", "FOLDER/"))
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what testdata has; go test ./proof -update, and read the diff",
				name)
		}
	}
}

// TestRefuses: results of another commit, and results that are not whole, make no page.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ file, old, now, want string }{
		"commit":    {"kills-4/result", "0123", "4567", "is of commit 4567"},
		"no end":    {"kills-4/result", "end\tpassed\t\n", "", "has no end"},
		"after end": {"kills-4/result", "end\tpassed", "end\tpassed\t\nend\tpassed", "is no line"},
		"number":    {"kills-4/result", "12.3", "soon", "soon"},
		"steps":     {"kills-4/result", `"machine":2`, `"machine"`, "machine"},
		"kind":      {"kills-4/result", "fact", "thing", "kind is not known"},
		"plan":      {"plan", "kills 4", "kills", "is no repetition"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(copyRun(t, row.file, row.old, row.now))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q in it", err, row.want)
			}
		})
	}
}

// TestSpread: the middle of an even number of figures lies between two of them.
func TestSpread(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		figures []float64
		want    spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{1, 3, 3, 3}},
		{[]float64{9, 1, 2}, spread{3, 1, 2, 9}},
		{[]float64{4, 1, 2, 9}, spread{4, 1, 3, 9}},
	} {
		if got := spreadOf(row.figures); got != row.want {
			t.Errorf("%v: %v, want %v", row.figures, got, row.want)
		}
	}
}

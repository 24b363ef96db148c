package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/conformance.md anew")

// releases are those of versions.sh, whose official lists are read.
var releases = map[string]string{}

func init() {
	text, err := os.ReadFile("../versions.sh")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		minor, rest, ok := strings.Cut(line, ") parts=(")
		if ok {
			releases[minor], _, _ = strings.Cut(rest, " ")
		}
	}
}

// TestSpecs: each official spec of each minor is in specs.txt, and each name there is official.
// Where Go cannot have the source of a release, the other releases are held to the list alone.
func TestSpecs(t *testing.T) {
	t.Parallel()
	l, err := readLists()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, minor := range minors {
		file, err := officialFile(releases[minor])
		if err != nil {
			t.Logf("NOT CHECKED: the specs of %s: %v", minor, err)
			continue
		}
		if names[minor], _, err = official(file); err != nil {
			t.Fatal(err)
		}
		if len(names[minor]) < 400 {
			t.Errorf("%s has %d specs", minor, len(names[minor]))
		}
		if err := l.check(minor, names[minor]); err != nil {
			t.Error(err)
		}
	}
	if len(names) < len(minors) {
		t.Skipf("the source of %d of %d releases can be had", len(names), len(minors))
	}
	if err := l.checkAbsent(names); err != nil {
		t.Error(err)
	}
}

// officialFile returns the list of a release of Kubernetes, whose source Go keeps or downloads.
func officialFile(release string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@v"+release)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	err = json.Unmarshal(out, &module)
	return filepath.Join(module.Dir, "test/conformance/testdata/conformance.yaml"), err
}

// TestMistakes: each mistake in the lists is found.
func TestMistakes(t *testing.T) {
	t.Parallel()
	const specs, reasons = "all\trun\ta\n1.34,1.36\tslow\tb\n", "slow\tit waits\n"
	good, err := parseLists(specs, reasons)
	if err != nil {
		t.Fatal(err)
	}
	if err := good.check("1.36", []string{"a", "b"}); err != nil {
		t.Error(err)
	}
	for name, row := range map[string]struct{ specs, reasons, want string }{
		"a line without minors": {"run\ta\n", "", "is not minors, what and name"},
		"an unknown reason":     {"all\tfast\ta\n" + specs, reasons, `there is no reason "fast"`},
		"an unknown minor":      {"1.33\trun\tc\n" + specs, reasons, `there is no minor "1.33"`},
		"a spec twice":          {"1.35\tslow\ta\n" + specs, reasons, "a has two lines for 1.35"},
		"a reason without a use": {specs, reasons + "large\tit is\n",
			`no spec has the reason "large"`},
		"a reason twice": {specs, reasons + reasons, "is no key and reason"},
	} {
		_, err := parseLists(row.specs, row.reasons)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
	}
	if err := good.check("1.35", []string{"a", "b"}); err == nil ||
		!strings.Contains(err.Error(), "b is missing, of 1.35") {
		t.Errorf("a spec that is not listed: %v", err)
	}
	err = good.checkAbsent(map[string][]string{"1.34": {"a"}, "1.36": {"a"}})
	if err == nil || !strings.Contains(err.Error(), "no minor has b") {
		t.Errorf("a name that is not official: %v", err)
	}
}

const reportText = `[{"SpecReports": [
  {"ContainerHierarchyTexts": ["[a]", "b"], "LeafNodeText": "passes [Conformance]",
   "State": "passed", "RunTime": 1500000000},
  {"ContainerHierarchyTexts": ["[a]", "b"], "LeafNodeText": "fails", "State": "failed",
   "RunTime": 2000000000, "Failure": {"Message": "not\there\nat all"}},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "was not asked for", "State": "skipped"},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "skips", "State": "skipped",
   "Failure": {"Message": "no disk"}},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "waits", "State": "passed"}]}]`

// TestResults: a report becomes results, a second run mends one of them, and the file keeps all.
func TestResults(t *testing.T) {
	t.Parallel()
	var reports []report
	if err := json.Unmarshal([]byte(reportText), &reports); err != nil {
		t.Fatal(err)
	}
	names := []string{"[a] b passes", "[a] b fails", "[a] was not asked for", "[a] skips",
		"[a] waits"}
	what := map[string]string{}
	for _, name := range names {
		what[name] = run
	}
	what["[a] waits"] = "slow"
	r := results{}.with(map[string]string{"seed": "7"}, reports, what, names)
	want := map[string]spec{
		"[a] b passes":          {state: passed, runs: []int{1}, seconds: 1.5},
		"[a] b fails":           {state: failed, runs: []int{1}, seconds: 2, why: "not here"},
		"[a] was not asked for": {state: noResult},
		"[a] skips":             {state: failed, runs: []int{1}, why: "skipped no disk"},
		"[a] waits":             {state: notRun, why: "slow"},
	}
	if !reflect.DeepEqual(r.specs, want) {
		t.Errorf("the first run: %v, want %v", r.specs, want)
	}
	if err := r.verdict(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("the verdict: %v, want three lines", err)
	}

	for i := range reports[0].SpecReports {
		reports[0].SpecReports[i].State = passed
	}
	reports[0].SpecReports = reports[0].SpecReports[1:]
	r = r.with(map[string]string{"seed": "8"}, reports, what, names)
	if got := r.specs["[a] b fails"]; got.state != passed || numbers(got.runs) != "1,2" {
		t.Errorf("after the second run: %v", got)
	}
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "results.txt")
	if err := r.write(file); err != nil {
		t.Fatal(err)
	}
	again, err := readResults(file)
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("read again: %v, want %v; %v", again, r, err)
	}
}

// TestFits: what is left of one release does not run on another.
func TestFits(t *testing.T) {
	t.Parallel()
	r := results{runs: []map[string]string{{"kubernetes": "v1.36.3"}}}
	if err := r.fits(map[string]string{"kubernetes": "v1.36.3"}); err != nil {
		t.Error(err)
	}
	err := r.fits(map[string]string{"kubernetes": "v1.36.2"})
	if err == nil || !strings.Contains(err.Error(), "of v1.36.3, and this run is of v1.36.2") {
		t.Error(err)
	}
	if err := (results{}).fits(map[string]string{"kubernetes": "v1.36.2"}); err != nil {
		t.Error("the first run:", err)
	}
}

// TestPage: docs/conformance.md is what results, lists and reasons give.
func TestPage(t *testing.T) {
	t.Parallel()
	const file = "../../../docs/conformance.md"
	got, err := page()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the results say: go test ./conformance -update", file)
	}
}

// TestListed: what has passed in the results is in the list to run, and what has a reason there has
// it in specs.txt.
func TestListed(t *testing.T) {
	t.Parallel()
	l, err := readLists()
	if err != nil {
		t.Fatal(err)
	}
	for _, minor := range minors {
		r, err := readResults(resultsOf(minor))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range r.specs {
			what := run
			if s.state == notRun {
				what = s.why
			}
			if l.what[minor][name] != what {
				t.Errorf("%s: %s: %q in the results, and %q in specs.txt", minor, name, what,
					l.what[minor][name])
			}
		}
	}
}

package judges

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
)

// trees is the folder that test/trees has written; KILN_TREES names one that is there already.
var trees string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	klog.LogToStderr(false) // programs tell of their options
	klog.SetOutput(io.Discard)
	if trees = os.Getenv("KILN_TREES"); trees == "" {
		dir, err := os.MkdirTemp("", "judges")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		cmd := exec.Command("go", "run", "./test/trees", dir)
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n%s", cmd, err, out)
			return 1
		}
		trees = dir
	}
	return m.Run()
}

// minor is the minor of Kubernetes that this program was built from, such as v1.36.
const minor = "v" + version.DefaultKubeBinaryVersion

// alone is the minor of go.mod. Its build judges what is the same in every build.
const alone = "v1.36"

// once skips a test that says the same whatever minor it is built from.
func once(t testing.TB) {
	t.Helper()
	if minor != alone {
		t.Skipf("no release is asked; it is for the build from go.mod, which is %s", alone)
	}
}

var treesRead sync.Map

// tree reads one file of trees.
func tree(t testing.TB, minor, name, format string) []*Machine {
	t.Helper()
	path := filepath.Join(trees, minor, name, format+".json")
	read, _ := treesRead.LoadOrStore(path, sync.OnceValues(func() (machines []*Machine, err error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return machines, json.Unmarshal(data, &machines)
	}))
	machines, err := read.(func() ([]*Machine, error))()
	require.NoError(t, err)
	require.NotEmpty(t, machines)
	return machines
}

// cluster returns one case in one format, which a test may change.
func cluster(t testing.TB, name, format string) (machines []*Machine) {
	t.Helper()
	for _, m := range tree(t, minor, name, format) {
		m := *m
		m.Users, m.Dirs = slices.Clone(m.Users), slices.Clone(m.Dirs)
		m.Links, m.Units = slices.Clone(m.Links), slices.Clone(m.Units)
		m.Files = slices.Clone(m.Files)
		for i := range m.Files {
			m.Files[i].Content = bytes.Clone(m.Files[i].Content)
		}
		machines = append(machines, &m)
	}
	return machines
}

// clusters returns every case of a minor in every format, which nobody may change.
func clusters(t testing.TB, minor string) map[string][]*Machine {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(trees, minor, "*", "*.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 20, "golden cases as %s", minor)
	out := map[string][]*Machine{}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		format := strings.TrimSuffix(filepath.Base(path), ".json")
		out[name+"/"+format] = tree(t, minor, name, format)
	}
	return out
}

// TestJudges: every judge is content with every golden case, in both formats. Judges of a release
// see the cases as that release has them; the others see the cases of all releases once.
func TestJudges(t *testing.T) {
	t.Parallel()
	minors := []string{minor}
	if minor == alone {
		entries, err := os.ReadDir(trees)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(entries), 4, "minors")
		minors = nil
		for _, e := range entries {
			minors = append(minors, e.Name())
		}
	}
	for _, of := range minors {
		for name, machines := range clusters(t, of) {
			for _, j := range judges {
				if j.Release && of != minor || !j.Release && minor != alone {
					continue
				}
				t.Run(of+"/"+name+"/"+j.Name, func(t *testing.T) {
					t.Parallel()
					for _, finding := range j.Func(machines) {
						t.Error(finding)
					}
				})
			}
		}
	}
}

package judges

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// cluster reads one case in one format.
func cluster(t testing.TB, name, format string) []*Machine {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(trees, minor, name, format+".json"))
	require.NoError(t, err)
	var machines []*Machine
	require.NoError(t, json.Unmarshal(data, &machines))
	require.NotEmpty(t, machines)
	return machines
}

// clusters returns every case of this minor in every format.
func clusters(t testing.TB) map[string][]*Machine {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(trees, minor, "*", "*.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 20, "golden cases as %s", minor)
	out := map[string][]*Machine{}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		format := strings.TrimSuffix(filepath.Base(path), ".json")
		out[name+"/"+format] = cluster(t, name, format)
	}
	return out
}

// TestJudges: every judge is content with every golden case, in both formats.
func TestJudges(t *testing.T) {
	t.Parallel()
	for name, machines := range clusters(t) {
		for _, j := range judges {
			t.Run(name+"/"+j.Name, func(t *testing.T) {
				t.Parallel()
				for _, finding := range j.Func(machines) {
					t.Error(finding)
				}
			})
		}
	}
}

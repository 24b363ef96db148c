package render_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/test/golden"
)

// What these tests share with those of other packages.
var (
	all         = golden.All
	cases       = golden.Cases
	load        = golden.Load
	fresh       = golden.Fresh
	nodes       = golden.Nodes
	unlikeNodes = golden.UnlikeNodes
	clone       = golden.Clone
	readInputs  = golden.Inputs
)

var sharedDocuments, sharedTwins golden.Shared[map[string][]byte]

// sharedTwin returns the review twin of a golden case. No test may change it.
func sharedTwin(t testing.TB, name string) map[string][]byte {
	t.Helper()
	r, machines := load(t, name), nodes(t, name)
	return sharedTwins.Of(t, name, func() (map[string][]byte, error) { return r.TwinOf(machines) })
}

// specified returns the cluster of a spec. Its first line is the sixth of the cluster.yaml.
func specified(t testing.TB, spec string, files fs.FS) (*render.Cluster, error) {
	t.Helper()
	c, err := config.Parse("cluster.yaml", []byte("apiVersion: kiln.dev/v1alpha1\n"+
		"kind: Cluster\nmetadata: {name: single}\nspec:\n  kubernetesVersion: v1.36.3\n"+spec),
		files)
	if err != nil {
		return nil, err
	}
	return render.New(c, fixture(t))
}

func TestMain(m *testing.M) { golden.Main(m) }

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

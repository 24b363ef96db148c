package render_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

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

func TestMain(m *testing.M) { golden.Main(m) }

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

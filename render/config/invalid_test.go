package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

var update = flag.Bool("update", false, "rewrite the want.err of every invalid case")

// clusters is the folder of the golden cases. The wrong ones begin with invalid-.
const clusters = "../../testdata/clusters"

// TestInvalid parses every wrong cluster.yaml and compares its messages with want.err.
func TestInvalid(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob(filepath.Join(clusters, "invalid-*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(cases), 60)
	for _, dir := range cases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			problems := parseBad(t, dir)
			got := problems.Error() + "\n" + problems.Summary() + "\n"
			want := filepath.Join(dir, "want.err")
			if *update {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
				return
			}
			text, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(text), got)
		})
	}
}

// parseBad returns the problems of the cluster.yaml in dir.
func parseBad(t *testing.T, dir string) config.Problems {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "cluster.yaml"))
	require.NoError(t, err)
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	c, err := config.Parse("cluster.yaml", data, root.FS())
	require.Error(t, err)
	require.Nil(t, c)
	var problems config.Problems
	require.True(t, errors.As(err, &problems))
	return problems
}

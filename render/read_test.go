package render_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

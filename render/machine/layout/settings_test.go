package layout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/machine/layout"
)

// TestReadSettings: both ways to write a value are read, and a file of another form is reported.
func TestReadSettings(t *testing.T) {
	t.Parallel()
	const content = "# comment\n\nnode='cp-1'\npeers='it'\\''s'\nempty=''\n" +
		"vm.max_map_count = 262144\n"
	got, ok := layout.ReadSettings([]byte(content))
	require.True(t, ok)
	require.Equal(t, []layout.Setting{
		{Name: "node", Value: "cp-1"}, {Name: "peers", Value: "it's"}, {Name: "empty"},
		{Name: "vm.max_map_count", Value: "262144"},
	}, got)
	_, ok = layout.ReadSettings([]byte("node='cp-1'\nno setting\n"))
	require.False(t, ok)
}

package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
)

// TestSizes: what the user brought is told from kiln's own files, add-ons too, and no secret is
// among it. Documents with nothing of the user have no share of his.
func TestSizes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ has, lacks []string }{
		"extras": {
			has:   []string{"machines.files[0]", "machines.units[0]"},
			lacks: []string{"machines.files[1]", "addons[0].path"}, // a secret
		},
		"addons": {
			has:   []string{"addons[0].path", "addons[1].path"},
			lacks: []string{"addons[2].path"}, // a Secret
		},
		"ha": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			done := 0
			sizes, err := r.Sizes(func(n int) { done = n })
			require.NoError(t, err)
			require.Len(t, sizes, r.Machines())
			require.Equal(t, r.Machines(), done)
			var fields []string
			for _, f := range sizes[0].Fields {
				require.Positive(t, f.Bytes)
				fields = append(fields, f.Field)
			}
			require.Subset(t, fields, want.has)
			for _, field := range want.lacks {
				require.NotContains(t, fields, field)
			}
			require.Equal(t, len(want.has) > 0, sizes[0].Own > 0)
			require.Less(t, sizes[0].Own, sizes[0].Entry.Bytes/2)
		})
	}
	public, err := render.NewPublic(load(t, "ha").Plan.Config, load(t, "ha").Public)
	require.NoError(t, err)
	none, err := public.Sizes(nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/twin/review"
)

// TestTwinIsReadAsItWasWritten: the state that is read from the twin of a case is the state that
// was written, and it gives the same files again.
func TestTwinIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := load(t, name).State(nil)
			require.NoError(t, err)
			files := review.Write(want)
			got, err := review.Read(files)
			require.NoError(t, err)
			for i, m := range want.Machines { // a twin holds no digest
				require.Equal(t, m.Twin, review.Digest(got.Machines[i]), m.Name)
				got.Machines[i].Twin = m.Twin
			}
			require.Equal(t, want, got)
			require.Equal(t, files, review.Write(got))
		})
	}
}

package target_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
)

// TestReaders: the readers of each platform are of known kinds, from few to many, each with its
// source. A platform has a metadata service if, and only if, its pods can read documents there
// unless security.metadataService closes it.
func TestReaders(t *testing.T) {
	t.Parallel()
	kinds := map[string]int{}
	for i, k := range target.ReaderKinds {
		kinds[k.Name] = i
		require.Regexp(t, "^[ -~]{3,}$", k.Who)
		require.Equal(t, k.Counts, target.Counts(k.Name))
	}
	require.Len(t, kinds, len(target.ReaderKinds))
	require.False(t, target.Counts("nobody"))
	for _, p := range target.Platforms {
		require.Equal(t, target.RootReader, p.Readers[0].Kind, p.Name)
		require.Equal(t, target.HostReader, p.Readers[1].Kind, p.Name)
		last, closable := -1, false
		for _, r := range p.Readers {
			at, known := kinds[r.Kind]
			require.True(t, known, "%s: %s", p.Name, r.Kind)
			require.Greater(t, at, last, "%s: %s", p.Name, r.Kind)
			last = at
			for _, text := range []string{r.Who, r.Source} {
				require.Regexp(t, "^[ -~]{3,}$", text, "%s: %s", p.Name, r.Kind)
			}
			require.Equal(t, r.Setting != "", r.Kind == target.PodReader && p.Name != "vsphere")
			closable = closable || r.Setting != ""
		}
		require.Equal(t, len(p.Metadata) > 0, closable, p.Name)
	}
}

// TestPlatformJSON: the readers are in JSON as data, and in words under the name that they had
// before.
func TestPlatformJSON(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(target.Platforms, func(p target.Platform) bool {
		return p.Name == "hetzner"
	})
	text, err := json.Marshal(target.Platforms[i])
	require.NoError(t, err)
	var got struct {
		Name     string
		Limit    int
		Exposure string
		Readers  []target.Reader
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, "hetzner", got.Name)
	require.Equal(t, 32768, got.Limit)
	require.Equal(t, target.Platforms[i].Readers, got.Readers)
	require.Equal(t, "root on the machine; the administrators of the host; every process on the "+
		"machine, over HTTP without credentials; every pod, in the same way "+
		"(security.metadataService: deny closes it)", got.Exposure)
}

package containerd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/containerd"
)

var own = containerd.Config(containerd.Settings{SandboxImage: "pause:3"})

// TestMerge: tables are merged, and what kiln sets stays.
func TestMerge(t *testing.T) {
	t.Parallel()
	out, err := containerd.Merge(own, "version = 2\n"+
		"[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.kata]\n"+
		"runtime_type = \"io.containerd.kata.v2\"\n")
	require.NoError(t, err)
	require.Contains(t, out, "runtimes.kata]\nruntime_type = 'io.containerd.kata.v2'\n")
	require.Contains(t, out, "runtimes.runc]\nruntime_type = 'io.containerd.runc.v2'\n")
	image, err := containerd.SandboxImage([]byte(out))
	require.NoError(t, err)
	require.Equal(t, "pause:3", image)
}

// TestMergeRefuses has a row for each file that cannot be merged.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = [":           "line 1, column 5: is not TOML: ",
		"version = 3":     "version is 3; write it for version 2",
		"imports = ['x']": "imports: containerd would replace tables of kiln",
		"[plugins.'io.containerd.cri.v1.runtime'.containerd]\na = 1": "is a name of version 3",
		"[plugins.'io.containerd.grpc.v1.cri']\nsandbox_image = 'x'": "plugins." +
			"io.containerd.grpc.v1.cri.sandbox_image is set by kiln",
		"plugins = 1": "plugins is set by kiln",
	} {
		_, err := containerd.Merge(own, text)
		require.ErrorContains(t, err, want, text)
	}
}

package containerd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/machine/containerd"
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

// TestHosts has a row for each kind of URL that mirrors have.
func TestHosts(t *testing.T) {
	t.Parallel()
	for mirror, want := range map[string]struct {
		api     string
		project bool
	}{
		"https://m.example.com":           {"https://m.example.com/v2/", false},
		"https://m.example.com/":          {"https://m.example.com/v2/", false},
		"https://m.example.com/v2":        {"https://m.example.com/v2/", false},
		"https://m.example.com/v2/":       {"https://m.example.com/v2/", false},
		"https://m.example.com/v2/k8s":    {"https://m.example.com/v2/", true},
		"https://m.example.com/v2/k8s/":   {"https://m.example.com/v2/", true},
		"https://m.example.com/v2/k8s/v2": {"https://m.example.com/v2/k8s/v2/", false},
		"https://m.example.com/api/k8s":   {"https://m.example.com/api/k8s/v2/", false},
		"https://m.example.com/a/v2/k8s":  {"https://m.example.com/a/v2/", true},
		"http://v2/k8s":                   {"http://v2/k8s/v2/", false},
		"http://v2:5000":                  {"http://v2:5000/v2/", false},
	} {
		api, project := containerd.API(mirror)
		require.Equal(t, want.api, api, mirror)
		require.Equal(t, want.project, project, mirror)
		text := containerd.Hosts([]string{mirror}, false, containerd.Access{})
		require.Equal(t, want.project, strings.Contains(text, "override_path = true"), mirror)
	}
	require.Equal(t, `server = "https://b.example.com/v2/k8s"
capabilities = ["pull", "resolve"]
override_path = true
[host."https://a.example.com"]
capabilities = ["pull", "resolve"]
`, containerd.Hosts([]string{"https://a.example.com", "https://b.example.com/v2/k8s"}, true,
		containerd.Access{}))
}

// TestAccess: how containerd connects stands at each of its servers.
func TestAccess(t *testing.T) {
	t.Parallel()
	all := containerd.Access{CAFile: "/ca", CertFile: "/crt", KeyFile: "/key", Unverified: true}
	const lines = "ca = \"/ca\"\nclient = [[\"/crt\", \"/key\"]]\nskip_verify = true\n"
	mirrors := []string{"https://a.example.com", "https://b.example.com"}
	require.Equal(t, lines+"[host]\n", containerd.Hosts(nil, false, all))
	for _, only := range []bool{false, true} {
		text := containerd.Hosts(mirrors, only, all)
		require.NoError(t, containerd.RefusedHosts([]byte(text)))
		require.Equal(t, map[bool]int{false: 3, true: 2}[only], strings.Count(text, lines), text)
	}
}

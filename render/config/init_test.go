package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// firstConfig returns the configuration that kiln init writes without flags but the name.
func firstConfig(name string) []byte {
	return config.Init(config.InitOptions{
		Name: name, OS: "ubuntu", Platform: "nocloud", Arch: "amd64", ControlPlanes: 1, Workers: 1,
	})
}

// TestInit: the first configuration is valid for every system and platform that fit each other, and
// for names that YAML would take for something else.
func TestInit(t *testing.T) {
	t.Parallel()
	for _, system := range target.SystemNames(nil) {
		for _, platform := range target.PlatformNames(nil) {
			for _, controlPlanes := range []int{1, 3, 5, 7} {
				o := config.InitOptions{
					Name: "1234", OS: system, Platform: platform,
					Arch: "arm64", ControlPlanes: controlPlanes, Workers: 2, Pool: "on",
				}
				switch controlPlanes {
				case 1:
					o.Workers, o.Pool = 0, ""
				case 3:
					o.Pool = "" // a pool would decide about the pod network
				}
				text := config.Init(o)
				c, err := config.Parse("c.yaml", text, nil)
				require.NoError(t, err, "%+v", o)
				requireExamples(t, text, c.Examples())
			}
		}
	}
	for _, platform := range []string{"metal", "aws"} {
		most := config.InitOptions{
			Name: "most", OS: "debian", Platform: platform, Arch: "amd64", ControlPlanes: 7,
			Workers: 230,
		}
		_, err := config.Parse("c.yaml", config.Init(most), nil)
		require.NoError(t, err)
	}
}

// requireExamples requires a warning for each line with a value that people have to replace.
func requireExamples(t *testing.T, text []byte, warnings config.Problems) {
	t.Helper()
	var want, got []int
	for i, line := range strings.Split(string(text), "\n") {
		value, _, _ := strings.Cut(line, "#")
		if strings.Contains(value, "example.com") || strings.Contains(value, "my-") {
			want = append(want, i+1)
		}
	}
	for _, w := range warnings {
		require.Contains(t, w.Message, "is still the example of kiln init; write your own")
		got = append(got, w.Line)
	}
	require.Equal(t, want, got, string(text))
}

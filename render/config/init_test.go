package config_test

import (
	"bytes"
	"errors"
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
		Addresses: []string{"10.0.0.11", "10.0.0.21"},
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
				requirePlaceholders(t, text)
				_, err := config.Parse("c.yaml", replaced(text), nil)
				require.NoError(t, err, "%+v", o)
			}
		}
	}
	for _, platform := range []string{"metal", "aws"} {
		most := config.InitOptions{
			Name: "most", OS: "debian", Platform: platform, Arch: "amd64", ControlPlanes: 7,
			Workers: 230,
		}
		_, err := config.Parse("c.yaml", replaced(config.Init(most)), nil)
		require.NoError(t, err)
	}
}

// replaced returns a first configuration as somebody leaves it whose machines are those in it.
func replaced(text []byte) []byte { return bytes.ReplaceAll(text, []byte("REPLACE"), nil) }

// requirePlaceholders requires a problem for each line with a mark, one for each line that has a
// name for examples among them, and no other problem.
func requirePlaceholders(t *testing.T, text []byte) {
	t.Helper()
	var want, got []int
	for i, line := range strings.Split(string(text), "\n") {
		value, comment, _ := strings.Cut(line, "#")
		marked := value != "" && strings.Contains(comment, "REPLACE") &&
			strings.TrimSpace(value) != ""
		if marked {
			want = append(want, i+1)
		}
		if strings.Contains(value, "example.com") || strings.Contains(value, "my-") {
			require.True(t, marked, line)
		}
	}
	_, err := config.Parse("c.yaml", text, nil)
	var problems config.Problems
	errors.As(err, &problems)
	for _, p := range problems {
		require.Equal(t, config.Placeholder, p.ID, "%s", p)
		require.Contains(t, p.Message, " is what kiln init writes; write your own, or remove ")
		got = append(got, p.Line)
	}
	require.Equal(t, want, got, string(text))
}

// TestInitValues: what the caller gives stands in place of examples, without a mark.
func TestInitValues(t *testing.T) {
	t.Parallel()
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDPYHr4Z8tYmbYZJHDCMYLWZqQYpVZoMo/Yq7vqvgLCS a"
	for _, platform := range []string{"nocloud", "metal"} {
		text := config.Init(config.InitOptions{
			Name: "a", OS: "ubuntu", Platform: platform, Arch: "amd64", ControlPlanes: 3,
			Workers: 1, Endpoint: "lb.test:6443", SSHKey: key,
			Addresses: []string{"10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4"},
		})
		c, err := config.Parse("c.yaml", text, nil)
		require.NoError(t, err, string(text))
		require.Equal(t, "lb.test:6443", c.Spec.Endpoint)
		require.Nil(t, c.Spec.ControlPlane.VIP)
		require.Equal(t, []string{"10.1.0.4"}, c.Spec.Nodes[3].Addresses)
		require.Equal(t, []string{key}, c.Spec.Machines.SSHAuthorizedKeys)
	}
}

package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/kube/flags"
)

// TestSetByKiln: a message says that kiln sets a flag only if the flag is on a golden command line.
func TestSetByKiln(t *testing.T) {
	t.Parallel()
	// The first two have defaults that kiln relies on. The third is there with another lifetime.
	relied := []string{"secure-port", "bind-address", "cluster-signing-duration"}
	for program, field := range map[string]string{
		flags.APIServer: "apiServer", flags.ControllerManager: "controllerManager",
		flags.Scheduler: "scheduler", flags.Etcd: "etcd",
	} {
		manifest, err := os.ReadFile("../../testdata/clusters/single/want/cp-1/etc/kubernetes/" +
			"manifests/" + program + ".yaml")
		require.NoError(t, err)
		p, ok := flags.FindProgram(program, 36)
		require.True(t, ok)
		var text strings.Builder
		text.WriteString("apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: prod}\n" +
			"spec:\n  kubernetesVersion: v1.36.3\n  machines: {os: ubuntu, platform: nocloud}\n" +
			"  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n" +
			"  controlPlane:\n    " + field + ":\n      extraArgs:\n")
		for _, f := range p.Flags() {
			text.WriteString("      - {name: " + f.Name + ", value: x}\n")
		}
		_, err = config.Parse("cluster.yaml", []byte(text.String()), os.DirFS("."))
		require.ErrorContains(t, err, "is set by kiln")
		for line := range strings.Lines(err.Error()) {
			_, name, _ := strings.Cut(line, `name: "`)
			name, _, isSet := strings.Cut(name, `" is set by kiln`)
			if isSet && !strings.Contains(string(manifest), "--"+name+"=") {
				require.Contains(t, relied, name, line)
			}
		}
	}
}

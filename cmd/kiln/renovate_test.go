package main

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRenovate: the preset for Renovate finds the version in a configuration, under each of its
// names, and its commands are kiln's.
func TestRenovate(t *testing.T) {
	t.Parallel()
	var preset struct {
		CustomManagers []struct {
			ManagerFilePatterns, MatchStrings []string
		}
		PackageRules []struct{ PostUpgradeTasks struct{ Commands []string } }
	}
	data, err := os.ReadFile("../../docs/examples/renovate.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &preset))
	require.Len(t, preset.CustomManagers, 1)
	manager := preset.CustomManagers[0]
	version := regexp.MustCompile(manager.MatchStrings[0])
	for text, want := range map[string]string{
		read(t, "../../docs/examples/first/cluster.yaml"): "v1.36.3",
		output(t, "init"):                 "v1.36.3",
		"kubeletVersion: \"v1.35.4\"\n":   "v1.35.4",
		"{kubernetesVersion: 'v1.37.1'}":  "v1.37.1",
		"kubernetesVersion: # a comment":  "",
		"myKubernetesVersion: v1.36.3 \n": "",
	} {
		found := version.FindStringSubmatch(text)
		if want == "" {
			require.Nil(t, found, text)
			continue
		}
		require.NotNil(t, found, text)
		require.Equal(t, want, found[version.SubexpIndex("currentValue")])
	}
	for _, command := range preset.PackageRules[1].PostUpgradeTasks.Commands {
		requireCommand(t, command)
	}
}

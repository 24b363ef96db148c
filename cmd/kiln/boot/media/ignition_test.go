package media

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/stretchr/testify/require"
)

// TestIgnition holds all configurations to Ignition's own validator of 3.4. Matchbox uses the same
// one, and serves an empty configuration in place of one that the validator refuses.
func TestIgnition(t *testing.T) {
	t.Parallel()
	n := netboot()
	cases["matchbox"](n)
	_, list, err := files(n, fleet())
	require.NoError(t, err)
	seen := 0
	for _, f := range list {
		if !strings.HasSuffix(f.Path, ".ign") {
			continue
		}
		seen++
		config, report, err := ignition.Parse(f.Data)
		require.NoError(t, err, f.Path)
		require.Empty(t, report.Entries, f.Path)
		require.Equal(t, "3.4.0", config.Ignition.Version)
	}
	require.Equal(t, 5+4+4, seen) // documents, installers, Matchbox's
}

// TestMatchbox holds groups and profiles to the form that Matchbox reads (storagepb, v0.11.0): no
// other fields, the file's name as id, a MAC in lower case with colons, and profiles and
// configurations that exist.
func TestMatchbox(t *testing.T) {
	t.Parallel()
	type profile struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Ignition string `json:"ignition_id"`
		Cloud    string `json:"cloud_id"`
		Generic  string `json:"generic_id"`
		Boot     struct {
			Kernel string   `json:"kernel"`
			Initrd []string `json:"initrd"`
			Args   []string `json:"args"`
		} `json:"boot"`
	}
	type group struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Profile  string            `json:"profile"`
		Selector map[string]string `json:"selector"`
		Metadata map[string]any    `json:"metadata"`
	}
	strict := func(data []byte, into any) {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(into))
	}
	n := netboot()
	cases["matchbox"](n)
	_, list, err := files(n, fleet())
	require.NoError(t, err)
	profiles, groups, there := map[string]profile{}, 0, map[string]bool{}
	for _, f := range list {
		there[f.Path] = true
		if strings.HasPrefix(f.Path, "matchbox/profiles/") {
			var p profile
			strict(f.Data, &p)
			require.Equal(t, "matchbox/profiles/"+p.ID+".json", f.Path)
			profiles[p.ID] = p
		}
	}
	for _, f := range list {
		if strings.HasPrefix(f.Path, "matchbox/groups/") {
			var g group
			strict(f.Data, &g)
			groups++
			require.Equal(t, "matchbox/groups/"+g.ID+".json", f.Path)
			require.Contains(t, profiles, g.Profile)
			require.Regexp(t, macAddress, g.Selector["mac"])
		}
	}
	require.Len(t, profiles, 6)
	require.Equal(t, 5, groups) // the pool has none
	for _, p := range profiles {
		require.NotEmpty(t, p.Boot.Kernel)
		for i, initrd := range p.Boot.Initrd {
			require.Equal(t, "initrd="+strings.Fields(initrd)[1], p.Boot.Args[i])
		}
		if p.Ignition != "" {
			require.True(t, there["matchbox/ignition/"+p.Ignition], p.Ignition)
			const query = "/ignition?uuid=${uuid}&mac=${mac:hexhyp}"
			require.Contains(t, p.Boot.Args, "ignition.config.url="+n.Matchbox+query)
		}
	}
}

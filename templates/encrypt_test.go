package templates_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"kiln/templates"
)

// TestLearnEncrypted: where packets of pods are encrypted, learn-routes has every function that it
// calls, none twice, and none of VXLAN.
func TestLearnEncrypted(t *testing.T) {
	t.Parallel()
	plain := shellFunctions(t, "learn-routes", templates.Learn)
	functions := shellFunctions(t, "learn-routes", templates.LearnEncrypted)
	for name := range functions {
		if n := strings.Count("\n"+templates.LearnEncrypted, "\n"+name+"() {"); n != 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	missing := []string{}
	for name := range plain {
		if functions[name] == nil {
			missing = append(missing, name)
		}
	}
	if !slices.Equal(missing, []string{"hardware"}) {
		t.Errorf("it lacks %q", missing)
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		for _, called := range commands(functions[name]) {
			_, base := strings.CutPrefix(called, "plain_")
			if (base || plain[called] != nil) && functions[called] == nil {
				t.Errorf("%s calls %s, which is missing", name, called)
			}
		}
	}
	for text, want := range map[string]int{
		"[0-9a-f.:/ ]": 0, "[0-9A-Za-z+/=.: ]": 1, "plain_take": 2, "plain_enter": 2,
		"type vxlan": 0, "type wireguard": 1,
	} {
		if n := strings.Count(templates.LearnEncrypted, text); n != want {
			t.Errorf("%s is there %d times, want %d", text, n, want)
		}
	}
	if templates.LearnBy(false) != templates.Learn ||
		strings.Contains(templates.Learn+templates.Routes, "kiln-wg") {
		t.Error("machines without encryption have functions for it")
	}
}

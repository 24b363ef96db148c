package kinds_test

import (
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln/render/kinds"
)

// TestKubelet: what testdata/kinds/kubelet.yaml calls refused has one finding at least, and what it
// calls accepted has none. test/judges holds the file to the kubelet's own code.
func TestKubelet(t *testing.T) {
	t.Parallel()
	testPairs(t, "kubelet", map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
	})
}

// testPairs checks the pairs of a file: each a configuration that is refused and one that is
// accepted, both with the fields of base.
func testPairs(t *testing.T, name string, base map[string]any) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/kinds/" + name + ".yaml")
	require.NoError(t, err)
	var pairs []struct {
		Refused, Accepted map[string]any
		By                string
		Since             int
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &pairs))
	for _, p := range pairs {
		for minor := max(34, p.Since); minor <= 37; minor++ {
			check := func(fields map[string]any) []string {
				whole := maps.Clone(base)
				maps.Copy(whole, fields)
				doc, err := yaml.Marshal(whole)
				require.NoError(t, err)
				return lines(kinds.New(minor).Check(doc))
			}
			require.Empty(t, check(p.Accepted), "1.%d, accepted: %v", minor, p.Accepted)
			require.NotEmpty(t, check(p.Refused), "1.%d, refused: %v", minor, p.Refused)
			require.NotContains(t, fmt.Sprint(check(p.Refused)), "no such field")
		}
	}
}

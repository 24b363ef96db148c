package kinds_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/kube/kinds"
)

// TestKubelet: what testdata/kinds/kubelet.yaml calls refused has one finding at least, and what it
// calls accepted has none. test/judges holds the file to the kubelet's own code.
func TestKubelet(t *testing.T) {
	t.Parallel()
	testPairs(t, "kubelet", map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
	})
}

// TestProxy does for testdata/kinds/kube-proxy.yaml what TestKubelet does.
func TestProxy(t *testing.T) {
	t.Parallel()
	testPairs(t, "kube-proxy", map[string]any{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
	})
}

// TestScheduler does for testdata/kinds/kube-scheduler.yaml what TestKubelet does.
func TestScheduler(t *testing.T) {
	t.Parallel()
	testPairs(t, "kube-scheduler", map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
	})
}

// testPairs checks the pairs of a file: each a configuration that is refused and one that is
// accepted, both with the fields of base.
func testPairs(t *testing.T, name string, base map[string]any) {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/kinds/" + name + ".yaml")
	require.NoError(t, err)
	var pairs []struct {
		Refused, Accepted map[string]any
		By                string
		Since, Until      int
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &pairs))
	for _, p := range pairs {
		for minor := max(34, p.Since); minor <= cmp.Or(p.Until, 37); minor++ {
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

// TestCorefile: what testdata/kinds/corefile.yaml calls refused has a finding, and what it calls
// accepted has none.
func TestCorefile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../testdata/kinds/corefile.yaml")
	require.NoError(t, err)
	var pairs []struct{ Refused, Accepted string }
	require.NoError(t, yaml.UnmarshalStrict(text, &pairs))
	for _, p := range pairs {
		require.Empty(t, checkCorefile(t, p.Accepted, false), p.Accepted)
		require.NotEmpty(t, checkCorefile(t, p.Refused, false), p.Refused)
	}
	// CoreDNS starts with these, and answers nothing.
	require.Equal(t, []string{"data.Corefile: no server block has a plugin"},
		checkCorefile(t, "x", false))
	require.Equal(t, []string{
		`data.Corefile: line 2: CoreDNS has no plugin "fanout2"`,
	}, checkCorefile(t, ". {\n  fanout2 . 10.0.0.1\n}\n", false))
	require.Empty(t, checkCorefile(t, ". {\n  fanout2 . 10.0.0.1\n}\n", true))
}

// TestCorefileReleases: each minor has a CoreDNS of its own.
func TestCorefileReleases(t *testing.T) {
	t.Parallel()
	for text, first := range map[string]int{
		". {\n  pprof {\n    block\n  }\n}\n":                          34,
		". {\n  https3\n}\n":                                           36,
		". {\n  proxyproto\n}\n":                                       37,
		". {\n  forward . 10.0.0.1 {\n    max_age 5m\n  }\n}\n":        37,
		". {\n  transfer example.org {\n    source 10.0.0.1\n  }\n}\n": 37,
	} {
		for minor := 34; minor <= 37; minor++ {
			require.Equal(t, minor < first, len(corefileFor(t, text, false, minor)) > 0,
				"%d: %s", minor, text)
		}
	}
}

func checkCorefile(t *testing.T, text string, anyPlugin bool) []string {
	t.Helper()
	return corefileFor(t, text, anyPlugin, 36)
}

func corefileFor(t *testing.T, text string, anyPlugin bool, minor int) []string {
	t.Helper()
	doc, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"Corefile": text},
		"metadata": map[string]any{"name": "coredns", "namespace": "kube-system"},
	})
	require.NoError(t, err)
	c := kinds.New(minor)
	c.AnyPlugin = anyPlugin
	return lines(c.Check(doc))
}

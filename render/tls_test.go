package render_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/plan"
)

// TestTLSMinVersion: with security.tlsMinVersion: VersionTLS13 all servers speak TLS 1.3 alone, and
// none is given suites, with which etcd would not start.
func TestTLSMinVersion(t *testing.T) {
	t.Parallel()
	versions := regexp.MustCompile(`(?i)tls-?min-?version[=:] ?([A-Za-z0-9.]+)`)
	suites := regexp.MustCompile(`(?i)cipher-?suites`)
	for field, want := range map[string]string{
		"": "2",
		"  security: {tlsMinVersion: VersionTLS13}": "3",
	} {
		m := rendered(t, cluster(t, field), "cp-1")
		for _, path := range []string{
			plan.ManifestsDir + "/etcd.yaml", plan.ManifestsDir + "/kube-apiserver.yaml",
			plan.ManifestsDir + "/kube-controller-manager.yaml",
			plan.ManifestsDir + "/kube-scheduler.yaml", plan.KubeletConfig,
		} {
			content := m.file(path).Content
			found := versions.FindSubmatch(content)
			require.NotNil(t, found, path)
			require.Regexp(t, want+"$", string(found[1]), path)
			require.Equal(t, want == "2", suites.Match(content), path)
		}
	}
}

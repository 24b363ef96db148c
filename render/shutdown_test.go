package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/plan"
)

// TestShutdown: logind waits as long as the kubelet needs, by default and with each setting of the
// kubelet.
func TestShutdown(t *testing.T) {
	t.Parallel()
	const file = "/etc/systemd/logind.conf.d/90-kiln.conf"
	for _, row := range []struct {
		kubelet string
		want    string // seconds; none: logind is left as it is
	}{
		{"", "60"},
		{"shutdownGracePeriod: 90s, shutdownGracePeriodCriticalPods: 30s", "90"},
		{"shutdownGracePeriod: 0s", ""},
		{"shutdownGracePeriodByPodPriority: [" +
			"{priority: 0, shutdownGracePeriodSeconds: 30}, " +
			"{priority: 2000000000, shutdownGracePeriodSeconds: 15}]", "45"},
	} {
		const worker = "  - {name: worker-1, role: worker, addresses: [10.0.0.21], kubelet: {"
		r := cluster(t, worker+row.kubelet+"}}")
		m := rendered(t, r, "worker-1")
		own := strings.Contains(string(m.file(plan.KubeletConfig).Content),
			"shutdownGracePeriod: 60s")
		require.Equal(t, row.kubelet == "", own)
		if row.want == "" {
			require.Nil(t, m.n.File(file))
			continue
		}
		require.Equal(t, "[Login]\nInhibitDelayMaxSec="+row.want+"\n", string(m.file(file).Content))
	}
}

package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/plan"
)

// TestShutdown: logind waits as long as the kubelet needs, whoever says how long that is.
func TestShutdown(t *testing.T) {
	t.Parallel()
	const file = "/etc/systemd/logind.conf.d/90-kiln.conf"
	class := func(priority, seconds int) any {
		return map[string]any{"priority": priority, "shutdownGracePeriodSeconds": seconds}
	}
	for _, row := range []struct {
		kubelet map[string]any
		want    string // seconds; none: logind is left as it is
	}{
		{nil, "60"},
		{map[string]any{"shutdownGracePeriod": "90s", "shutdownGracePeriodCriticalPods": "30s"}, "90"},
		{map[string]any{"shutdownGracePeriod": "0s"}, ""},
		{map[string]any{"shutdownGracePeriodByPodPriority": []any{class(0, 30), class(2000000000, 15)}}, "45"},
	} {
		r := load(t, "ha")
		r.Plan.Machines[0].Settings.Kubelet = row.kubelet
		m := rendered(t, r, "cp-1")
		require.Equal(t, row.kubelet == nil, strings.Contains(string(m.file(plan.KubeletConfig).Content), "shutdownGracePeriod: 60s"))
		if row.want == "" {
			require.Nil(t, m.n.File(file))
			continue
		}
		require.Equal(t, "[Login]\nInhibitDelayMaxSec="+row.want+"\n", string(m.file(file).Content))
	}
}

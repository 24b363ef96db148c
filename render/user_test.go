package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render"
	"kiln/render/cloudinit"
	"kiln/render/config"
)

// TestMountsHideNothing: what cloud-init mounts may not lie over a file of the document.
func TestMountsHideNothing(t *testing.T) {
	t.Parallel()
	for folder, hidden := range map[string]string{"/var/lib/kubelet": "/var/lib/kubelet/", "/etc/": "/etc/", "/": "/etc/", "/var/lib/kubelets": "", "none": "", "/var/lib/etcd": ""} {
		c, b := inputs(t, "disks")
		c.Spec.Nodes[0].CloudConfig = map[string]any{"mounts": []any{[]any{"LABEL=a", folder}}}
		r, err := render.New(c, b)
		require.NoError(t, err)
		_, err = r.Node(0)
		if hidden == "" {
			require.NoError(t, err, folder)
		} else {
			require.ErrorContains(t, err, "cloudConfig: mounts: what is mounted at "+folder+" hides "+hidden)
		}
	}
}

// TestCloudKeys: the keys that the configuration takes are those that are passed on.
func TestCloudKeys(t *testing.T) {
	t.Parallel()
	require.Equal(t, cloudinit.Passed, config.CloudKeys())
}

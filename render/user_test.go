package render_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/pack/cloudinit"
)

// TestMountsHideNothing: cloud-init must not mount anything over a file of the document, unless
// what it hides is moved into the mount.
func TestMountsHideNothing(t *testing.T) {
	t.Parallel()
	for folder, hidden := range map[string]string{
		"/var/lib/kubelet":  "",
		"/var/lib":          "/var/lib/",
		"/etc/":             "/etc/",
		"/":                 "/etc/",
		"/var/lib/kubelets": "",
		"none":              "",
		"/var/lib/etcd":     "",
	} {
		c, b := inputs(t, "disks")
		c.Spec.Nodes[0].CloudConfig = map[string]any{"mounts": []any{[]any{"LABEL=a", folder}}}
		r, err := render.New(c, b)
		require.NoError(t, err)
		_, err = r.Node(0)
		if hidden == "" {
			require.NoError(t, err, folder)
			c.Spec.Nodes[0].Delivery = config.Delivery{
				Mode: "lean", URL: "https://example.com/{node}",
			}
			r, err = render.New(c, b)
			require.NoError(t, err)
			_, err = r.Node(0)
			require.Equal(t, folder == "/var/lib/kubelet", err != nil, folder)
		} else {
			require.ErrorContains(t, err, "nodes[0].cloudConfig.mounts[0]: hides "+hidden)
			require.ErrorContains(t, err, "mounts "+folder+";")
		}
	}
}

// TestCloudKeys: the cloudConfig keys that the configuration takes are the keys that are passed on.
func TestCloudKeys(t *testing.T) {
	t.Parallel()
	require.Equal(t, cloudinit.Passed, config.CloudKeys())
}

// TestButaneWrites: a snippet's files lie where Ignition can write them. Otherwise the machine
// would never start.
func TestButaneWrites(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		os, path string
		refused  bool
	}{
		{"flatcar", "/opt/bin/agent", false},
		{"flatcar", "/usr/local/bin/agent", true},
		{"fedora-coreos", "/usr/local/bin/agent", false},
		{"fedora-coreos", "/usr/lib/agent", true},
		{"microos", "/usr/local/bin/agent", false},
		{"microos", "/data/agent", false}, // the snippet may mount it
	} {
		c, b := inputs(t, "extras")
		c.Spec.Nodes[0].OS = row.os
		c.Spec.Nodes[0].Butane = "variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: " +
			row.path + ", contents: {inline: x}}]}\n"
		r, err := render.New(c, b)
		require.NoError(t, err)
		_, err = r.Node(0)
		if row.refused {
			require.ErrorContains(t, err,
				"nodes[0].butane: writes "+row.path+", which is in a read-only folder on "+row.os)
		} else {
			require.NoError(t, err)
		}
	}
}

// TestSecretStaticPod: of a static pod that is a secret, no message shows a value, a key or a line.
func TestSecretStaticPod(t *testing.T) {
	t.Parallel()
	const text = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: single}
spec:
  kubernetesVersion: v1.36.3
  machines:
    os: ubuntu
    platform: nocloud
    files:
    - {path: /etc/kubernetes/manifests/a.yaml, mode: "0600", contentFrom: pod, secret: true}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
`
	_, b := inputs(t, "single")
	for pod, refused := range map[string]bool{
		"{restartPolicy: hunter2, hunter2: x, containers: [{name: a, image: \"b:1\"}]}": true,
		"{restartPolicy: Always, containers: [{name: a, image: \"b:1\"}]}":              false,
	} {
		c, err := config.Parse("cluster.yaml", []byte(text), fstest.MapFS{"pod": {Data: []byte(
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: kube-system}\nspec: " + pod,
		)}})
		require.NoError(t, err)
		r, err := render.New(c, b)
		require.NoError(t, err)
		if err = r.Try(nil); !refused {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "cluster.yaml:10:7: machines.files[0]: "+
			"/etc/kubernetes/manifests/a.yaml: is not what its reader takes; kiln shows nothing "+
			"of a secret: validate it once with example values, without secret and in another "+
			"folder")
	}
}

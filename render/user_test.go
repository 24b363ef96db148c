package render_test

import (
	"strings"
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

// TestOwnStaticPod: where the user brings a static pod, the kubelet reads the folder, also on a
// machine that has no static pod of kiln's.
func TestOwnStaticPod(t *testing.T) {
	t.Parallel()
	const pod = "/etc/kubernetes/manifests/a.yaml"
	const text = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: kube-system}, " +
		"spec: {containers: [{name: a, image: 'b:1'}]}}"
	for name, bring := range map[string]func(*config.Node){
		"none": nil,
		"files": func(n *config.Node) {
			n.Files = []config.File{{Path: pod, Mode: "0600", Content: text}}
		},
		"butane": func(n *config.Node) {
			n.OS = "flatcar"
			n.Butane = "variant: flatcar\nversion: 1.1.0\nstorage: {files: [{path: " + pod +
				", mode: 0600, contents: {inline: \"" + text + "\"}}]}\n"
		},
	} {
		c, b := inputs(t, "single")
		if bring != nil {
			bring(&c.Spec.Nodes[1])
		}
		r, err := render.New(c, b)
		require.NoError(t, err, name)
		n, err := r.Node(1)
		require.NoError(t, err, name)
		settings := string(n.File("/var/lib/kubelet/config.yaml").Content)
		require.Equal(t, bring != nil,
			strings.Contains(settings, "staticPodPath: /etc/kubernetes/manifests\n"), name)
	}
}

// TestSecretStaticPod: of a static pod that is a secret, no message shows a value, a key or a line.
func TestSecretStaticPod(t *testing.T) {
	t.Parallel()
	const text = `  machines:
    os: ubuntu
    platform: nocloud
    files:
    - {path: /etc/kubernetes/manifests/a.yaml, mode: "0600", contentFrom: pod, secret: true}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
`
	for pod, refused := range map[string]bool{
		"{restartPolicy: hunter2, hunter2: x, containers: [{name: a, image: \"b:1\"}]}": true,
		"{restartPolicy: Always, containers: [{name: a, image: \"b:1\"}]}":              false,
	} {
		r, err := specified(t, text, fstest.MapFS{"pod": {Data: []byte(
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: kube-system}\nspec: " + pod,
		)}})
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

// TestKubeletDropIns: the fields of drop-ins are those of kubelet, so that all that follows from
// these follows from them. Nothing of a secret is shown.
func TestKubeletDropIns(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
	parse := func(files string) (*render.Cluster, error) {
		return specified(t, `  machines:
    os: ubuntu
    kubelet: {maxPods: 40, systemReserved: {cpu: 200m}}
    files:
`+files+`  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: worker-1, role: worker, addresses: [10.0.0.21], kubelet: {maxPods: 30}}
`, fstest.MapFS{
			"a": {Data: []byte(head +
				"maxPods: 50\nfailSwapOn: false\nsystemReserved: {memory: 1Gi}\n")},
			"b": {Data: []byte(head + "maxPods: 60\n")},
			"c": {Data: []byte(head + "syncFrequency: hunter2\n")},
		})
	}
	r, err := parse("    - {path: /etc/kubernetes/kubelet.conf.d/20-b.conf, contentFrom: b}\n" +
		"    - {path: /etc/kubernetes/kubelet.conf.d/10-a.conf, contentFrom: a}\n")
	require.NoError(t, err)
	for i, want := range []string{"maxPods: 60\n", "maxPods: 30\n"} {
		n, err := r.Node(i)
		require.NoError(t, err)
		text := string(n.File("/var/lib/kubelet/config.yaml").Content)
		require.Contains(t, text, want)
		require.Contains(t, text, "failSwapOn: false\n")
		require.Contains(t, text, "systemReserved:\n  cpu: 200m\n")
		require.Contains(t, text, "  memory: 1Gi\n")
		require.NotContains(t, string(n.File("/etc/kiln/steps").Content), "*.swap")
	}
	_, err = parse("    - {path: /etc/kubernetes/kubelet.conf.d/c.conf, contentFrom: c, " +
		"secret: true, mode: \"0600\"}\n")
	require.ErrorContains(t, err, "machines.files[0]: a drop-in of the kubelet's configuration "+
		"holds no secret")
	require.NotContains(t, err.Error(), "hunter2")
}

// TestSysctlProfile: a machine has the settings of its profile. Those of its own win, and a
// narrower layer may have none.
func TestSysctlProfile(t *testing.T) {
	t.Parallel()
	r, err := specified(t, `  machines:
    os: ubuntu
    sysctlProfile: busy
    sysctls: {vm.max_map_count: "65530"}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: worker-1, role: worker, addresses: [10.0.0.21], sysctlProfile: none}
`, nil)
	require.NoError(t, err)
	for i, busy := range []bool{true, false} {
		n, err := r.Node(i)
		require.NoError(t, err)
		text := string(n.File("/etc/sysctl.d/90-kiln.conf").Content)
		require.Equal(t, busy, strings.Contains(text, "fs.inotify.max_user_watches = 524288\n"))
		require.Contains(t, text, "vm.max_map_count = 65530\n")
		require.Equal(t, 1, strings.Count(text, "max_map_count"))
	}
}

package render_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// lockedCase is the golden case whose lock has images.
const lockedCase = "images-locked"

// sidecar has settings that bring three images: a patch, the balancer and a static pod. guard has
// the entries of the lock for them.
const (
	sidecar = `  workers:
    localBalancer: {}
    machines:
      files:
      - path: /etc/kubernetes/manifests/own.yaml
        content: |
          apiVersion: v1
          kind: Pod
          metadata: {name: own, namespace: kube-system}
          spec: {containers: [{name: own, image: "registry.example.com:5000/own:v1"}]}
  controlPlane:
    patches:
    - patch: |
        apiVersion: v1
        kind: Pod
        metadata: {name: kube-scheduler, namespace: kube-system}
        spec: {containers: [{name: guard, image: "registry.example.com:5000/guard:v1"}]}
  addons:
`
	guard = `- name: "registry.example.com:5000/guard:v1"
  digest: "sha256:4e26c9f7abe7af630580f01c656e5d3b5cb4c4b6d3452fe85f7c105d4f1d4ba5"
- name: "registry.example.com:5000/own:v1"
  digest: "sha256:52a2b7ad3a6a42f3a2cf1d4ee3bfb3a9ca1bbb2b31dfb4cb0a2b39b9f1ad5a1e"
- name: "docker.io/library/haproxy:3.2.23-alpine"
  digest: "sha256:b4c966ead3aed881a07e82b5a5c442fd5da44fd3f3d2b5e72f88388637b7f3f7"
`
)

// withLock returns lockedCase with a sidecar and another lock.
func withLock(t *testing.T, change func(lock string) string) (*render.Cluster, error) {
	t.Helper()
	files := fstest.MapFS{}
	root := os.DirFS(filepath.Join(clusters, lockedCase))
	for _, name := range []string{"cluster.yaml", "cluster.lock.yaml", "addons/web.yaml"} {
		data, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		if name == "cluster.lock.yaml" {
			data = []byte(change(string(data) + guard))
		}
		data = []byte(strings.Replace(string(data), "  addons:\n", sidecar, 1))
		files[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	c, err := config.Parse("cluster.yaml", files["cluster.yaml"].Data, files)
	require.NoError(t, err)
	_, b := inputs(t, lockedCase)
	return render.New(c, b)
}

// TestUnpinned: every image that is not in the lock is a problem at the field that brings it, and
// so is one that has another digest there. All come in one run.
func TestUnpinned(t *testing.T) {
	t.Parallel()
	const missing = "not in cluster.lock.yaml, which lists all images that machines may run; " +
		"kiln lock adds it"
	none := "registry.example.com:5000/first"
	_, err := withLock(t, func(lock string) string {
		before, _, _ := strings.Cut(lock, "images:")
		return before + "images: []\n"
	})
	require.EqualError(t, err, strings.Join([]string{
		"cluster.yaml:7:22: kubernetesVersion: etcd: image registry.k8s.io/etcd:3.6.11-0: ",
		"cluster.yaml:7:22: kubernetesVersion: coredns: image " +
			"registry.k8s.io/coredns/coredns:v1.14.2: ",
		"cluster.yaml:7:22: kubernetesVersion: pause: image registry.k8s.io/pause:3.10.2: ",
		"cluster.yaml:7:22: kubernetesVersion: kube-proxy: image " +
			"registry.k8s.io/kube-proxy:v1.36.3: ",
		"cluster.yaml:7:22: kubernetesVersion: kube-apiserver: image " +
			"registry.k8s.io/kube-apiserver:v1.36.3: ",
		"cluster.yaml:7:22: kubernetesVersion: kube-controller-manager: image " +
			"registry.k8s.io/kube-controller-manager:v1.36.3: ",
		"cluster.yaml:7:22: kubernetesVersion: kube-scheduler: image " +
			"registry.k8s.io/kube-scheduler:v1.36.3: ",
		"cluster.yaml:7:22: kubernetesVersion: haproxy: image " +
			"docker.io/library/haproxy:3.2.23-alpine: ",
		"cluster.yaml:7:22: kubernetesVersion: flannel: image " +
			"ghcr.io/flannel-io/flannel:v0.28.10: ",
		"cluster.yaml:7:22: kubernetesVersion: flannel-cni-plugin: image " +
			"ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3: ",
		"cluster.yaml:26:7: controlPlane.patches[0]: static pod kube-scheduler: guard: image " +
			"registry.example.com:5000/guard:v1: ",
		"cluster.yaml:18:9: workers.machines.files[0]: static pod workers.machines.files[0]: " +
			"own: image registry.example.com:5000/own:v1: ",
		"cluster.yaml:32:11: addons[0].path: Deployment web: nginx: image nginx:1.29: ",
		"cluster.yaml:32:11: addons[0].path: Deployment web: data: image " +
			"registry.example.com:5000/data:v2: ",
		"cluster.yaml:33:14: addons[0].images[0]: listed by the add-on: image " +
			"registry.example.com:5000/web-worker:v3: ",
	}, missing+"\n")+missing)

	other := "sha256:" + strings.Repeat("2", 64)
	_, err = withLock(t, func(lock string) string {
		return lock + "- {name: \"" + none + "\", digest: \"" + other + "\"}\n"
	})
	require.ErrorContains(t, err, "addons[0].path: Deployment web: first: image "+none+
		"@sha256:"+strings.Repeat("0", 62)+"f1: cluster.lock.yaml has another digest for "+none+
		", "+other+"; correct one of them")

	_, err = withLock(t, func(lock string) string {
		before, _, _ := strings.Cut(lock, "images:")
		return before
	})
	require.NoError(t, err, "a lock without images pins none")
}

// TestPinned: every image that kiln lists has a digest, and a value on a machine says that it comes
// from the lock.
func TestPinned(t *testing.T) {
	t.Parallel()
	r, err := withLock(t, func(lock string) string { return lock })
	require.NoError(t, err)
	images, err := r.Images()
	require.NoError(t, err)
	require.Len(t, images, 16)
	for _, image := range images {
		require.Regexp(t, `@sha256:[0-9a-f]{64}$`, image.Reference)
		require.Equal(t, []string{"amd64"}, image.Arches, image.User)
	}
	worker, err := r.Node(1)
	require.NoError(t, err)
	own := worker.File(plan.ManifestsDir + "/own.yaml")
	require.Contains(t, string(own.Content), "own:v1@sha256:")
	for _, row := range []struct{ file, key string }{
		{plan.ManifestsDir + "/kube-apiserver.yaml", "spec.containers[0].image"},
		{plan.ManifestsDir + "/kube-scheduler.yaml", "spec.containers[0].image"},
	} {
		explained, err := r.Explain("cp-1", row.file+":"+row.key)
		require.NoError(t, err)
		require.Contains(t, explained.String(), "cluster.lock.yaml", row.file)
	}
}

package target_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
)

// TestStoredImage: containerd's names, by the cases of github.com/distribution/reference.
func TestStoredImage(t *testing.T) {
	t.Parallel()
	for reference, want := range map[string]string{
		"busybox":                              "docker.io/library/busybox:latest",
		"busybox:1.37":                         "docker.io/library/busybox:1.37",
		"team/app":                             "docker.io/team/app:latest",
		"docker.io/busybox":                    "docker.io/library/busybox:latest",
		"index.docker.io/team/app:1":           "docker.io/team/app:1",
		"localhost/app":                        "localhost/app:latest",
		"Registry/app":                         "Registry/app:latest",
		"registry.example.com:5000/app":        "registry.example.com:5000/app:latest",
		"registry.example.com:5000/team/app":   "registry.example.com:5000/team/app:latest",
		"registry.k8s.io/coredns/coredns:v1":   "registry.k8s.io/coredns/coredns:v1",
		"registry.k8s.io/pause:3.10@sha256:1":  "registry.k8s.io/pause@sha256:1",
		"registry.k8s.io/pause@sha256:1":       "registry.k8s.io/pause@sha256:1",
		"busybox@sha256:1":                     "docker.io/library/busybox@sha256:1",
		"registry.example.com:5000/a@sha256:1": "registry.example.com:5000/a@sha256:1",
	} {
		require.Equal(t, want, target.StoredImage(reference), reference)
	}
}

// TestWithoutTag: the port of a registry is no tag.
func TestWithoutTag(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a":                    "a",
		"a:1":                  "a",
		"registry.test:5000/a": "registry.test:5000/a",
		"r.test:5000/b/a:1":    "r.test:5000/b/a",
	} {
		require.Equal(t, want, target.WithoutTag(name))
	}
}

package kinds

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImage has names that the kubelet accepts, and names that it calls InvalidImageName.
func TestImage(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{
		"b", "nginx", "nginx:1.27", "library/nginx", "registry.k8s.io/kube-proxy:v1.36.3",
		"localhost:5000/a/b_c/d__e/f--g.h:Tag_1", "[::1]:5000/a", "Registry/a",
		"ghcr.io/a/b@sha256:" + digest, "ghcr.io/a/b:v1@sha256:" + digest,
	} {
		require.Empty(t, image(ref), ref)
	}
	for _, ref := range []string{
		"Foo Bar", " nginx", "Nginx", "registry.example.com/Web:v1", "a//b", "a/", "a_",
		"a:b:c/d e", "https://registry.example.com/a", "-a",
	} {
		require.NotEmpty(t, image(ref), ref)
	}
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

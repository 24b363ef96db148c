package change

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/"

// TestIdentity: an object is its path in the API without the version. Names that no file's name has
// stay apart, and of a bootstrap token the path says nothing that lasts.
func TestIdentity(t *testing.T) {
	t.Parallel()
	of := func(file, path string) Object {
		return Object{&Entry{Key: Key{"file", ObjectsDir + file}}, path}
	}
	require.NotEqual(t, of("001-a.yaml", roles+"a@x").Identity(),
		of("002-a.yaml", roles+"a+x").Identity())
	require.Equal(t, of("001-a.yaml", "/apis/g/v1beta1/namespaces/n/xs/a").Identity(),
		of("1002-n_a.yaml", "/apis/g/v1/namespaces/n/xs/a").Identity())
	const token = "/api/v1/namespaces/kube-system/secrets/bootstrap-token-<id of token/p g"
	require.Equal(t, of("001-secret-p.yaml", token+"1>").Identity(),
		of("1002-secret-p.yaml", token+"2>").Identity())
	require.NotEqual(t, of("001-a.yaml", "").Identity(), of("001-b.yaml", "").Identity())
	require.Negative(t, of("999-a.yaml", "").Before(of("1000-a.yaml", "")))
}

// TestWords: what kubectl is told, and nothing that a shell or kubectl takes for something else.
func TestWords(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][3]string{
		"/api/v1/namespaces/n":                     {"", "namespaces", "n"},
		"/api/v1/namespaces/n/secrets/s":           {"n", "secrets", "s"},
		"/apis/apps/v1/namespaces/n/deployments/d": {"n", "deployments.apps", "d"},
		roles + "system:x": {"", "clusterroles.rbac.authorization.k8s.io",
			"system:x"},
		"/api/v1/namespaces/--all/secrets/s": {},
		roles + "x;y":                        {},
		"/api/v1/namespaces/n/secrets/bootstrap-token-<id of x g1>": {},
		"/apis/apps/v1":                      {},
		"":                                   {},
		"/api/v1/namespaces/n/pods/p/status": {},
	} {
		namespace, resource, name, ok := Object{Path: path}.Words()
		require.Equal(t, want, [3]string{namespace, resource, name}, path)
		require.Equal(t, want[2] != "", ok, path)
	}
}

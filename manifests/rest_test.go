package manifests_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	crd := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: oxen.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Ox, plural: oxen}}
---
`
	for name, row := range map[string]struct{ doc, want string }{
		"core": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}",
			"/api/v1/namespaces/b/configmaps/a"},
		"default": {"{apiVersion: v1, kind: Service, metadata: {name: a}}",
			"/api/v1/namespaces/default/services/a"},
		"group": {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, " +
			"namespace: b}}", "/apis/apps/v1/namespaces/b/deployments/a"},
		"cluster": {"{apiVersion: v1, kind: Namespace, metadata: {name: a}}",
			"/api/v1/namespaces/a"},
		"policy": {"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: " +
			"{name: a, namespace: b}}",
			"/apis/networking.k8s.io/v1/namespaces/b/networkpolicies/a"},
		"class": {"{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: " +
			"{name: a}}", "/apis/networking.k8s.io/v1/ingressclasses/a"},
		"mutating": {"{apiVersion: admissionregistration.k8s.io/v1, kind: " +
			"MutatingAdmissionPolicy, metadata: {name: a.b}}",
			"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/a.b"},
		"mutating's": {"{apiVersion: admissionregistration.k8s.io/v1, kind: " +
			"MutatingAdmissionPolicyBinding, metadata: {name: a.b}}",
			"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/a.b"},
		"validating": {"{apiVersion: admissionregistration.k8s.io/v1, kind: " +
			"ValidatingAdmissionPolicy, metadata: {name: a.b}}",
			"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/a.b"},
		"validating's": {"{apiVersion: admissionregistration.k8s.io/v1, kind: " +
			"ValidatingAdmissionPolicyBinding, metadata: {name: a.b}}",
			"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/a.b"},
		"endpoints": {"{apiVersion: v1, kind: Endpoints, metadata: {name: a, namespace: b}}",
			"/api/v1/namespaces/b/endpoints/a"},
		"namespace of none": {"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, " +
			"metadata: {name: a, namespace: b}}",
			"/apis/rbac.authorization.k8s.io/v1/clusterroles/a"},
		"colon": {"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, " +
			"metadata: {name: 'a:b'}}", "/apis/rbac.authorization.k8s.io/v1/clusterroles/a:b"},
		"inert": {"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: " +
			"{name: 'a..b?c d#', namespace: e}}",
			"/apis/rbac.authorization.k8s.io/v1/namespaces/e/roles/a..b%3Fc%20d%23"},
		"request": {"{apiVersion: certificates.k8s.io/v1, kind: " +
			"CertificateSigningRequest, metadata: {name: 'A:b'}}",
			"/apis/certificates.k8s.io/v1/certificatesigningrequests/A:b"},
		"service": {"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: " +
			"{name: v1.example.com}}",
			"/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com"},
		"another's": {"{apiVersion: example.com/v1beta1, kind: Thing, metadata: {name: " +
			"'Upper_Case'}}", "/apis/example.com/v1beta1/Thing/Upper_Case"},
		"custom": {crd + "{apiVersion: example.com/v1, kind: Ox, metadata: {name: a}}",
			"/apis/example.com/v1/oxen/a"},
		"comments before": {"# a comment\n---\n# another\n{apiVersion: v1, kind: Node, metadata: " +
			"{name: a}}", "/api/v1/nodes/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := manifests.Read([]byte(row.doc))
			require.NoError(t, err)
			require.Equal(t, row.want, objects[len(objects)-1].Path)
		})
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ doc, want string }{
		"not YAML": {"a: [", "line 1: "},
		"scalar":   {"hello", "line 1: not an object"},
		"no kind":  {"apiVersion: v1", "line 1: apiVersion or kind is missing"},
		"no name":  {"{apiVersion: v1, kind: Pod}", "line 1: Pod has no metadata.name"},
		"list":     {"{apiVersion: v1, kind: List}", "line 1: List has no metadata.name, nor it"},
		"item": {"# roles\n---\napiVersion: v1\nkind: List\nitems:\n- kind: Pod\n- {apiVersion: " +
			"v1, kind: Pod, metadata: {name: a}}\n", "line 6: apiVersion or kind is missing"},
		"comment": {"---\n\n# a\n---\n# b\n\nkind: Pod\n", "line 7: apiVersion"},
		"twice":   {"---\nkind: Pod\nkind: Pod\n", `line 3: key "kind" already set in map`},
		"second": {"{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\nhello",
			"line 3: not an object"},
		"slash": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a/b}}",
			`line 1: ConfigMap "a/b": the API takes no name that is`},
		"parent": {"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: " +
			"{name: ..}}", `Role "..": the API takes no name`},
		"percent": {"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: " +
			"{name: a%2fb}}", `the API takes no name`},
		"escape": {
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: "a\e[2J"}}`,
			`Role "a\x1b[2J": the name has a character that cannot be seen`},
		"bidi": {`{apiVersion: example.com/v1, kind: Thing, metadata: {name: "a\u202eb"}}`,
			`cannot be seen`},
		"upper case": {"{apiVersion: v1, kind: Secret, metadata: {name: Token}}",
			`Secret "Token": the name is not a DNS subdomain`},
		"long": {"{apiVersion: example.com/v1, kind: Thing, metadata: {name: " +
			strings.Repeat("a", 254) + "}}", "the name has 254 characters"},
		"a dotted one": {"{apiVersion: v1, kind: Namespace, metadata: {name: a.b}}",
			"the name is not a DNS label"},
		"namespace": {"{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, " +
			"namespace: ../b}}", `the namespace "../b" is not a DNS label`},
		"api version": {"{apiVersion: ../../v1, kind: Thing, metadata: {name: a}}",
			`apiVersion "../../v1" is not valid`},
		"version": {"{apiVersion: 'v1 x', kind: Thing, metadata: {name: a}}",
			`apiVersion "v1 x" is not valid`},
		"kind": {"{apiVersion: v1, kind: 'a/../b', metadata: {name: a}}",
			`kind "a/../b" is not valid`},
		"plural": {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, " +
			"metadata: {name: x.example.com}, spec: {group: example.com, names: {kind: X, " +
			"plural: ../x}}}", `spec.names.plural "../x"`},
		"several": {"{apiVersion: v1, kind: Pod, metadata: {name: a/b}}\n---\n{apiVersion: " +
			"v1, kind: Pod, metadata: {name: ..}}", `line 3: Pod ".."`},
		"large": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: " +
			strings.Repeat("x", 2<<20) + "}}", "etcd takes no object above"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifests.Read([]byte(row.doc))
			require.ErrorContains(t, err, row.want)
		})
	}
}

// TestReadLists: the items of lists are objects of their own, with the version and kind of the list
// if they name none; what only looks like a list is an object.
func TestReadLists(t *testing.T) {
	t.Parallel()
	const stream = `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}, data: {n: "1"}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleList
  items:
  - metadata: {name: b, namespace: x}
---
apiVersion: example.com/v1
kind: AllowList
metadata: {name: c, namespace: x}
spec: {items: 12345678901234567890}
`
	objects, err := manifests.Read([]byte(stream))
	require.NoError(t, err)
	var paths []string
	for _, o := range objects {
		paths = append(paths, o.Path)
	}
	require.Equal(t, []string{
		"/api/v1/namespaces/x/configmaps/a",
		"/apis/rbac.authorization.k8s.io/v1/namespaces/x/roles/b",
		"/apis/example.com/v1/namespaces/x/AllowList/c",
	}, paths)
	unpacked := manifests.Unpack([]byte(stream))
	again, err := manifests.Read(unpacked)
	require.NoError(t, err)
	require.Len(t, again, 3)
	require.Equal(t, unpacked, manifests.Unpack(unpacked))
	alone := []byte("# a comment\nkind: Pod\n")
	require.Equal(t, alone, manifests.Unpack(alone))
}

// TestReadAsks: the API server says what the kinds of other programs are called.
func TestReadAsks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		head, metadata, path string
		asked                bool
	}{
		{"{apiVersion: operator.tigera.io/v1, kind: Installation, ", "",
			"/apis/operator.tigera.io/v1/Installation/a", true},
		{"{apiVersion: example.com/v1, kind: Thing, ", ", namespace: b",
			"/apis/example.com/v1/namespaces/b/Thing/a", true},
		{"{apiVersion: apps/v1, kind: Deployment, ", "",
			"/apis/apps/v1/namespaces/default/deployments/a", false},
	} {
		objects, err := manifests.Read([]byte(row.head + "metadata: {name: a" + row.metadata +
			"}}"))
		require.NoError(t, err)
		require.Equal(t, row.path, objects[0].Path)
		require.Equal(t, row.asked, objects[0].Asked, row.path)
	}
}

package patches_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/patches"
)

const stream = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: kube-system, labels: {app: web}}
spec:
  containers:
  - {name: a, image: one, command: [run, --x=1]}
  - {name: b, image: two}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
metadata: {name: kubelet}
maxPods: 1
`

func TestApply(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text   string
		target *patches.Target
		want   string
	}{
		"strategic merge finds the container by its name": {
			"{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: kube-system}, spec: " +
				"{containers: [{name: b, image: three}]}}", nil, "image: one"},
		"strategic merge with a target": {
			"{apiVersion: v1, kind: Pod, metadata: {name: any}, spec: {hostNetwork: true}}",
			&patches.Target{Kind: "Pod"}, "hostNetwork: true"},
		"operations": {
			`[{"op": "add", "path": "/spec/containers/0/command/-", "value": "--y=2"}]`,
			&patches.Target{Kind: "Pod", Name: "w.*"}, "- --y=2"},
		"operations as YAML": {
			"- op: replace\n  path: /maxPods\n  value: 5\n",
			&patches.Target{Kind: "KubeletConfiguration"}, "maxPods: 5"},
		"a label selects": {
			"- op: remove\n  path: /spec/containers/1\n", &patches.Target{LabelSelector: "app=web"},
			"name: a"},
		"deletion": {
			"{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: kube-system}, spec: " +
				"{containers: [{name: a, $patch: delete}]}}", nil, "name: b"},
		"a configuration without a schema": {
			"{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, metadata: " +
				"{name: kubelet}, evictionHard: {memory.available: 5%}}", nil,
			"memory.available: 5%"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := patches.New(name, row.text, row.target)
			require.NoError(t, err)
			require.True(t, p.Matches([]byte(stream)))
			out, err := patches.Apply([]byte(stream), p)
			require.NoError(t, err)
			require.Contains(t, string(out), row.want)
			again, err := patches.Apply([]byte(stream), p)
			require.NoError(t, err)
			require.Equal(t, string(out), string(again))
		})
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text   string
		target *patches.Target
	}{
		"another name": {
			"{apiVersion: v1, kind: Pod, metadata: {name: webb, namespace: kube-system}}", nil},
		"another namespace": {"{apiVersion: v1, kind: Pod, metadata: {name: web}}", nil},
		"names are whole":   {"[]", &patches.Target{Name: "we"}},
		"another group":     {"[]", &patches.Target{Group: "apps", Name: "web"}},
		"another label":     {"[]", &patches.Target{LabelSelector: "app!=web", Kind: "Pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := patches.New(name, row.text, row.target)
			require.NoError(t, err)
			require.False(t, p.Matches([]byte(stream)))
		})
	}
}

// TestMatchesAsApplied holds Matches to what kustomize does with the same patch.
func TestMatchesAsApplied(t *testing.T) {
	t.Parallel()
	const objects = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
`
	const annotate = "- {op: add, path: /metadata/annotations, value: {seen: yes}}"
	plain, err := patches.Apply([]byte(objects))
	require.NoError(t, err)
	for name, row := range map[string]struct {
		text   string
		target *patches.Target
		want   bool
	}{
		"an object without a namespace is in default": {
			annotate, &patches.Target{Namespace: "default", Kind: "ConfigMap"}, true},
		"and in no other": {
			annotate, &patches.Target{Namespace: "kube-.*"}, false},
		"a cluster-wide object is in no namespace": {
			annotate, &patches.Target{Namespace: "default", Kind: "ClusterRole"}, false},
		"a merge patch in default": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default, " +
				"annotations: {seen: yes}}}", nil, true},
		"a namespace that means nothing": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: " +
				"{name: reader, namespace: any, annotations: {seen: yes}}}", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := patches.New(name, row.text, row.target)
			require.NoError(t, err)
			require.Equal(t, row.want, p.Matches([]byte(objects)))
			out, err := patches.Apply([]byte(objects), p)
			require.NoError(t, err)
			require.Equal(t, row.want, string(out) != string(plain))
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text   string
		target *patches.Target
		want   string
	}{
		"not YAML":                 {"a: [", nil, "not YAML"},
		"empty":                    {"# nothing", nil, "the patch is empty"},
		"operations need a target": {"[]", nil, "need a target"},
		"no name": {"{apiVersion: v1, kind: Pod}", nil,
			"needs metadata.name of the object"},
		"a scalar":           {"hello", nil, "neither a strategic merge patch nor"},
		"a wrong expression": {"[]", &patches.Target{Name: "("}, "target"},
		"a wrong selector": {"[]", &patches.Target{LabelSelector: "a in"},
			"labelSelector"},
		"operations and a document": {"[]\n---\n{a: 1}", &patches.Target{Kind: "Pod"},
			"the only document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := patches.New("patches/x.yaml", row.text, row.target)
			require.ErrorContains(t, err, row.want)
			require.ErrorContains(t, err, "patches/x.yaml")
		})
	}
}

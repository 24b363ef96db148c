package patches_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/patches"
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

// TestApply has patches, and what is in the stream then. A patch of an object that is not in the
// stream wants nothing.
func TestApply(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text   string
		target *patches.Target
		want   string
	}{
		"another name": {
			"{apiVersion: v1, kind: Pod, metadata: {name: webb, namespace: kube-system}}", nil, ""},
		"another namespace": {"{apiVersion: v1, kind: Pod, metadata: {name: web}}", nil, ""},
		"names are whole":   {"[]", &patches.Target{Name: "we"}, ""},
		"another group":     {"[]", &patches.Target{Group: "apps", Name: "web"}, ""},
		"another label":     {"[]", &patches.Target{LabelSelector: "app!=web", Kind: "Pod"}, ""},
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
			require.Equal(t, row.want != "", p.Matches([]byte(stream)))
			if row.want == "" {
				return
			}
			out, err := patches.Apply([]byte(stream), p)
			require.NoError(t, err)
			require.Contains(t, string(out), row.want)
			again, err := patches.Apply([]byte(stream), p)
			require.NoError(t, err)
			require.Equal(t, string(out), string(again))
		})
	}
}

// TestMergeWithTarget: with a target, a strategic merge needs neither apiVersion nor kind nor name,
// and none of its fields is lost.
func TestMergeWithTarget(t *testing.T) {
	t.Parallel()
	const annotations = "metadata: {annotations: {a: b}}\n"
	const spec = "spec: {hostNetwork: true}\n"
	for name, text := range map[string]string{
		"fields alone":       annotations + spec,
		"in brackets":        "{metadata: {annotations: {a: b}}, spec: {hostNetwork: true}}",
		"behind a separator": "---\n" + annotations + spec,
		"before a separator": annotations + spec + "---\n",
		"kind alone":         "kind: Pod\n" + annotations + spec,
		"apiVersion alone":   "apiVersion: v1\n" + annotations + spec,
		"name alone":         "metadata: {name: x, annotations: {a: b}}\n" + spec,
		"empty head":         "kind:\nmetadata: {name: ~, annotations: {a: b}}\n" + spec,
		"comments in brackets": "{spec: # one\n {hostNetwork: true # two\n}, # three\n" +
			" metadata: {annotations: {a: b}}}",
		"an alias": "spec: {hostNetwork: true, template: {metadata: &m {annotations: {a: b}}}}\n" +
			"metadata: *m\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := patches.New(name, text, &patches.Target{Kind: "Pod"})
			require.NoError(t, err)
			out, err := patches.Apply([]byte(stream), p)
			require.NoError(t, err)
			require.Contains(t, string(out), "  annotations:\n    a: b\n")
			require.Contains(t, string(out), "  hostNetwork: true\n")
			require.Contains(t, string(out), "  name: web\n  namespace: kube-system\n")
			require.Contains(t, string(out), "apiVersion: v1\nkind: Pod\n")
		})
	}
}

// TestMergeKeepsValues: with a target and without one, a strategic merge means the same, however
// its values are written.
func TestMergeKeepsValues(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"folded lines":      "spec:\n  x: >\n    a\n    b\n\n    c\n",
		"literal lines":     "spec:\n  x:\n  - |1\n     a\n    b\n  y: |+\n    c\n\n",
		"null in brackets":  "{spec: {hostNetwork: , priority: , x: ~, y: ''}}",
		"words and numbers": "spec: {a: yes, b: 010, c: 1.0, d: 12345678901234567, e: 1e3}\n",
		"quotes":            "spec: {a: 'it''s', b: \"x\\ty\", c: 'null', d: '5', e: 2020-01-01}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const metadata = "metadata: {name: web, namespace: kube-system}"
			whole := "apiVersion: v1\nkind: Pod\n" + metadata + "\n" + text
			if fields, ok := strings.CutPrefix(text, "{"); ok {
				whole = "{apiVersion: v1, kind: Pod, " + metadata + ", " + fields
			}
			without, err := patches.New(name, whole, nil)
			require.NoError(t, err)
			with, err := patches.New(name, text, &patches.Target{Kind: "Pod"})
			require.NoError(t, err)
			want, err := patches.Apply([]byte(stream), without)
			require.NoError(t, err)
			got, err := patches.Apply([]byte(stream), with)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
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
		"a value of a Secret": {"stringData: {a: !!int hunter2}", &patches.Target{Kind: "Secret"},
			"cannot decode !!str a value as a !!int"},
		"a key of null": {"stringData: {~: hunter2}", &patches.Target{Kind: "Secret"},
			"a key is not a string; write quotation marks around it"},
		"a scalar":           {"hello", nil, "neither a strategic merge patch nor"},
		"a wrong expression": {"[]", &patches.Target{Name: "("}, "target"},
		"a wrong selector": {"[]", &patches.Target{LabelSelector: "a in"},
			"labelSelector"},
		"operations and a document": {"[]\n---\n{a: 1}", &patches.Target{Kind: "Pod"},
			"the only document"},
		"two documents and a target": {"a: 1\n---\na: 2", &patches.Target{Kind: "Pod"},
			"a strategic merge patch with a target must be the only document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := patches.New("patches/x.yaml", row.text, row.target)
			require.ErrorContains(t, err, row.want)
			require.ErrorContains(t, err, "patches/x.yaml")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestFailure: an operation that does not fit is found, with its line and with what the object has.
func TestFailure(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"no such key", "- {op: add, path: /metadata/x, value: 1}\n" +
			"- {op: replace, path: /spec/conts/0, value: x}\n", 2,
			`replace /spec/conts/0 does not fit Pod web: /spec has no "conts"; ` +
				`there are containers`},
		{"replaces what is not there", "- {op: replace, path: /spec/x, value: y}\n", 1,
			`replace /spec/x does not fit Pod web: /spec has no "x"; there are containers`},
		{"no such element", "- {op: remove, path: /spec/containers/7}\n", 1,
			`remove /spec/containers/7 does not fit Pod web: /spec/containers has no "7"; ` +
				`the list has 2 elements, from 0 on`},
		{"below a value", "- {op: add, path: /kind/x, value: y}\n", 1,
			`add /kind/x does not fit Pod web: `},
		{"copied from nowhere", "- {op: copy, from: /spec/a, path: /spec/b}\n", 1,
			`copy /spec/b does not fit Pod web: /spec has no "a"; there are containers`},
		{"a test that fails", "- {op: test, path: /kind, value: Node}\n", 1,
			`test /kind does not fit Pod web: `},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, err := patches.New(row.name, row.text, &patches.Target{Kind: "Pod"})
			require.NoError(t, err)
			_, err = patches.Apply([]byte(stream), p)
			var failure *patches.Failure
			require.ErrorAs(t, err, &failure)
			require.Contains(t, failure.Message, row.want)
			require.Equal(t, row.line, failure.Line)
		})
	}
}

// TestFieldsAlone: with a target, a merge patch may hold nothing but fields.
func TestFieldsAlone(t *testing.T) {
	t.Parallel()
	p, err := patches.New("fields", "maxPods: 5\n", &patches.Target{Kind: "Kubelet.*"})
	require.NoError(t, err)
	out, err := patches.Apply([]byte(stream), p)
	require.NoError(t, err)
	require.Contains(t, string(out), "kind: KubeletConfiguration\n")
	require.Contains(t, string(out), "maxPods: 5\n")
}

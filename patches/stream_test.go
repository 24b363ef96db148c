package patches_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/patches"
)

// cluster is a stream with objects of several kinds, which refer to each other.
const cluster = stream + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: kube-system, annotations: {a: "1"}}
data: {x: "010", y: "yes"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  template:
    spec:
      containers:
      - {name: a, image: one, env: [{name: A, value: a}], ports: [{containerPort: 80}]}
      volumes:
      - {name: v, configMap: {name: settings}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {list: [{name: a}, {name: b}], n: 1.50, big: 12345678901234567890}
`

// TestStream: a stream is what kustomize makes of it in a run for each patch.
func TestStream(t *testing.T) {
	t.Parallel()
	all := &patches.Target{Name: ".*"}
	configMaps := &patches.Target{Kind: "ConfigMap"}
	var list []*patches.Patch
	for i, row := range []struct {
		text   string
		target *patches.Target
	}{
		{"metadata: {labels: {x: y}}", all},
		{"spec: {template: {spec: {containers: [{name: a, env: [{name: B, value: b}]}]}}}",
			&patches.Target{Kind: "Deployment"}},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  z: |\n    a\n",
			nil},
		{"apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: kube-system}\n" +
			"spec: {containers: [{name: b, $patch: delete}, {name: c, image: three}]}\n---\n" +
			"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: web}\n" +
			"spec: {list: [{name: c}], n: null}\n", nil},
		{"metadata: {name: other, namespace: other}\nkind: Other\ndata: {x: null}", configMaps},
		{"data: {x: 5, y: true}", configMaps},
		{"metadata: {annotations: {config.kubernetes.io/local-config: 'true'}}",
			&patches.Target{Kind: "ConfigMap", Namespace: "default"}},
		{"metadata: {annotations: {config.kubernetes.io/local-config: 'false'}}", configMaps},
		{"$patch: delete", &patches.Target{Kind: "Widget"}},
		{"$patch: replace\nspec: {containers: [{name: z}]}", &patches.Target{Kind: "Pod"}},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: kube-system}, " +
			"$patch: delete}", nil},
		{"[{op: add, path: /metadata/labels, value: {app: other}}]", configMaps},
		{"[{op: replace, path: /metadata/name, value: renamed}]",
			&patches.Target{Kind: "ConfigMap", Namespace: "default"}},
		{"[{op: move, from: /spec/n, path: /spec/m}, {op: remove, path: /spec/list/0}]",
			&patches.Target{Kind: "Widget"}},
		{"[{op: add, path: /metadata/annotations, value: " +
			"{config.kubernetes.io/local-config: 'true'}}]", &patches.Target{Kind: "Deployment"}},
		{"metadata: {labels: {app: web}}", &patches.Target{LabelSelector: "app=other"}},
		{"maxPods: 2\nx: &x [1, {a: 1e3}]\ny: *x", &patches.Target{Kind: "KubeletConfiguration"}},
	} {
		p, err := patches.New(fmt.Sprintf("patch %d", i), row.text, row.target)
		require.NoError(t, err)
		list = append(list, p)
	}
	base, err := patches.Apply([]byte(cluster))
	require.NoError(t, err)
	// apply applies a patch to a stream, and compares that with a run of kustomize.
	once := map[string]string{}
	apply := func(s *patches.Stream, before string, p *patches.Patch) string {
		want, failed := before, ""
		if p.Matches([]byte(before)) {
			key := p.Name + before
			if _, ok := once[key]; !ok {
				next, err := patches.Apply([]byte(before), p)
				if once[key] = string(next); err != nil {
					once[key] = "error: " + err.Error()
				}
			}
			if want = once[key]; strings.HasPrefix(want, "error: ") {
				want, failed = before, want
			}
		}
		is, err := s.Apply(p)
		if failed != "" {
			require.EqualError(t, err, strings.TrimPrefix(failed, "error: "))
		} else {
			require.NoError(t, err)
			require.Equal(t, patches.Effect{
				Matched: p.Matches([]byte(before)), Changed: before != want,
			}, is, p.Text)
		}
		text, err := s.Bytes()
		require.NoError(t, err)
		require.Equal(t, want, string(text), p.Text)
		return want
	}
	for i := range list {
		for step := range 5 { // itself, and some others
			s, err := patches.Read(base)
			require.NoError(t, err)
			apply(s, apply(s, string(base), list[i]), list[(i+3*step)%len(list)])
		}
	}
	require.Greater(t, len(once), 80)
}

// TestStreamParts: of an object that patches have walked through before, kustomize gets a part, and
// the stream is still what kustomize makes of the whole.
func TestStreamParts(t *testing.T) {
	t.Parallel()
	base, err := patches.Apply([]byte(stream + `---
apiVersion: v1
kind: Pod
metadata:
  {name: odd, labels: {a: "yes", n: "1"}, annotations: {x: "010", config.kubernetes.io/path: y}}
spec:
  nodeSelector: {a: "on", b: ""}
  securityContext: {}
  affinity: {nodeAffinity: {}, podAffinity: null}
  hostAliases: [{ip: 10.0.0.1}, {ip: 10.0.0.1, hostnames: [a]}, {hostnames: [b]}]
  containers:
  - {name: a, env: [{name: A, value: "1"}, {name: A, value: "2"}], ports: [{containerPort: 80}]}
  - {name: b, ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Foo, plural: foos, shortNames: [f, f]}
  versions: [{name: v1, schema: {openAPIV3Schema: {type: object, nullable: null}}}]
---
apiVersion: example.com/v1
kind: Foo
metadata: {name: a}
spec: {template: {apiVersion: v1, kind: Pod, spec: {containers: [{name: a}, {name: a, x: 1}]}}}
`))
	require.NoError(t, err)
	var list []*patches.Patch
	for i, text := range []string{
		"metadata: {labels: {x: y}}", "metadata: {labels: {x: null, z: 'no'}}",
		"metadata: {labels: {x: other, a: 'off'}}", "metadata: {annotations: {x: '1'}}",
		"metadata: {annotations: null}", "metadata: {annotations: {y: '2'}, labels: null}",
		"metadata: {annotations: {$patch: replace, only: this}}",
		"spec: {nodeSelector: {a: null}}", "spec: {nodeSelector: {c: d}, securityContext: null}",
		"spec: {containers: [{name: b, image: c}], affinity: {podAffinity: {}}}",
		"spec: {hostAliases: [{ip: 10.0.0.1, $patch: delete}]}",
		"spec: {names: {listKind: FooList}}",
		"spec: {template: {spec: {containers: [{name: b}]}}}", "data: {a: b}", "data: {}",
		"spec: {template: {apiVersion: v1, kind: Pod}}",
		"# {\"type\": \"object\"}\nspec: {affinity: {nodeAffinity: {x: {}}}}",
	} {
		p, err := patches.New(fmt.Sprintf("patch %d", i), text, &patches.Target{Name: ".*"})
		require.NoError(t, err)
		list = append(list, p)
	}
	for _, text := range []string{
		"metadata: {name: odd, annotations: {z: z}}",
		"metadata: {name: odd}\nspec: {nodeSelector: {e: f}}",
	} {
		p, err := patches.New("named", "apiVersion: v1\nkind: Pod\n"+text, nil)
		require.NoError(t, err)
		list = append(list, p)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		s, err := patches.Read(base)
		require.NoError(t, err)
		want := base
		var names []string
		for range 8 {
			p := list[random.IntN(len(list))]
			names = append(names, p.Text)
			next, failure := patches.Apply(want, p)
			is, err := s.Apply(p)
			require.Equal(t, failure == nil, err == nil, "%q: %v, %v", names, failure, err)
			if err == nil {
				require.Equal(t, string(want) != string(next), is.Changed, "%q", names)
				want = next
			}
			text, err := s.Bytes()
			require.NoError(t, err)
			require.Equal(t, string(want), string(text), "%q", names)
		}
	}
}

// TestStreamBounds: patches are refused that kustomize would apply for long, and the message says
// what to do. What few objects have is allowed.
func TestStreamBounds(t *testing.T) {
	t.Parallel()
	lines := func(n int, format string) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, format, i)
		}
		return out.String()
	}
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n---\n"
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\n---\n"
	hosts := "spec:\n  hostAliases:\n" + lines(450, "  - {ip: 10.0.0.%d}\n")
	definition := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
		"metadata: {name: NAME}\nspec:\n  versions:\n  - name: v1\n    schema:\n" +
		"      openAPIV3Schema:\n        properties:\n" +
		lines(1500, "          f%d: {type: string, description: a}\n") + "---\n"
	for name, row := range map[string]struct {
		stream, patch string
		times         int
		want          string // "" is no error
	}{
		"many objects and patches": {lines(900, configMap), "data: {a: b}", 9,
			"(6300 objects, counted for each patch; the longest list here has 0 elements)"},
		"many objects, few patches": {lines(900, configMap), "data: {a: b}", 3, ""},
		"a long list in many pods": {lines(5, pod), hosts, 1,
			"the longest list here has 450 elements); write one patch instead of several"},
		"a long list in two pods": {lines(2, pod), hosts, 1, ""},
		"a long list often":       {lines(1, pod), hosts, 2, "(2 objects, counted for each patch"},
		"a long list in one pod":  {lines(1, pod), hosts, 1, ""},
		"a list of its own": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n" +
			"  hostAliases:\n" + strings.Repeat("  - {ip: 10.0.0.1}\n", 1000) +
			"  containers:\n  - name: a\n    env:\n" + lines(1000, "    - {name: A%d}\n") +
			"  - name: b\n    env:\n" + lines(1000, "    - {name: A%d}\n"),
			"metadata: {labels: {a: b}}", 1, "the longest list here has 1000 elements"},
		"operations": {lines(4, pod), lines(450, "- {op: add, path: /metadata/labels, "+
			"value: {a: b%d}}\n"), 2, ""},
		"operations on a large object": {
			"apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec: {texts: [" +
				lines(900, strings.Repeat("a", 900)+"%d, ") + "]}\n",
			"- {op: add, path: /metadata/labels, value: {a: b}}", 4, "(3 objects, counted"},
		"long lists that are replaced": {
			"apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\n---\n" +
				"apiVersion: example.com/v1\nkind: A\nmetadata: {name: b}\n", hosts, 20, ""},
		"many bytes": {lines(9, configMap), "data: {a: '" + strings.Repeat("a", 30_000) + "'}", 4,
			"have 1080468 bytes, counted for each object"},
		"labels of large definitions": {
			strings.ReplaceAll(definition, "NAME", "a") +
				strings.ReplaceAll(definition, "NAME", "b"),
			"metadata: {labels: {a: b}}", 100, ""},
		"a list in a kind that an unknown kind holds": {
			"apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec:\n  template:\n" +
				"    apiVersion: v1\n    kind: Pod\n    spec:\n      hostAliases:\n" +
				lines(900, "      - {ip: 10.0.0.%d}\n"),
			"spec: {x: y}", 8, "the longest list here has 900 elements"},
		"a kind that a patch names": {
			"apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec:\n  template:\n" +
				"    spec:\n      hostAliases:\n" + lines(900, "      - {ip: 10.0.0.%d}\n"),
			"spec: {template: {apiVersion: v1, kind: Pod}}", 8, "the longest list here has 900"},
		"one object": {lines(1, configMap), "data: {a: '" + strings.Repeat("a", 500_000) + "'}", 4,
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := patches.Read([]byte(row.stream))
			require.NoError(t, err)
			p, err := patches.New("p", row.patch, &patches.Target{Name: ".*"})
			require.NoError(t, err)
			for range row.times {
				if _, err = s.Apply(p); err != nil {
					break
				}
			}
			if row.want == "" {
				require.NoError(t, err)
				return
			}
			tooMuch := &patches.TooMuch{}
			require.ErrorAs(t, err, &tooMuch)
			require.ErrorContains(t, err, row.want)
		})
	}
}

// TestStreamDocuments: the lists of all documents of a patch count.
func TestStreamDocuments(t *testing.T) {
	t.Parallel()
	var pods, text strings.Builder
	for i := range 5 {
		head := fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\n", i)
		pods.WriteString(head)
		text.WriteString(head + "spec:\n")
		if i > 0 {
			text.WriteString("  hostAliases:\n" + strings.Repeat("  - {ip: 10.0.0.1}\n", 450))
		}
	}
	s, err := patches.Read([]byte(pods.String()))
	require.NoError(t, err)
	p, err := patches.New("p", text.String(), nil)
	require.NoError(t, err)
	_, err = s.Apply(p)
	require.ErrorContains(t, err, "the longest list here has 450 elements")
}

// TestInternals: annotations by which kustomize talks to itself are refused. One of them renames a
// Secret by the hash of its values, which a review would show.
func TestInternals(t *testing.T) {
	t.Parallel()
	const annotation = "internal.config.kubernetes.io/needsHashSuffix"
	target := &patches.Target{Kind: "Secret"}
	for name, text := range map[string]string{
		"a merge":   "metadata: {annotations: {" + annotation + ": enabled}}",
		"an escape": `{"metadata": {"annotations": {"\x69nternal.config.kubernetes.io/a": b}}}`,
		"a value":   "- {op: add, path: /metadata/annotations, value: {" + annotation + ": a}}",
		"a path": "- {op: add, path: /metadata/annotations/internal.config.kubernetes.io~1a, " +
			"value: b}",
		"its own file": "a: 1\nmetadata: {annotations: {" + annotation + ": enabled}}",
	} {
		_, err := patches.New("p", text, target)
		require.EqualError(t, err, "p: annotations of internal.config.kubernetes.io are "+
			"kustomize's own; remove them", name)
	}
	_, err := patches.Read([]byte("apiVersion: v1\nkind: Secret\n" +
		"metadata: {name: a, annotations: {" + annotation + ": enabled}}\n"))
	require.ErrorContains(t, err, "Secret a: annotations of internal.config.kubernetes.io")
}

// TestLostObjects: no patch makes an object disappear that it does not delete.
func TestLostObjects(t *testing.T) {
	t.Parallel()
	base := []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for _, row := range []struct {
		text   string
		target *patches.Target
		want   string
	}{
		{head + "$patch: delete\n---\n" + head + "data: {x: y}\n", nil, "there is no such object"},
		{"- {op: replace, path: /kind, value: ConfigMapList}\n- {op: add, path: /items, value: []}",
			&patches.Target{Name: "a"}, "an operation makes a list of an object"},
	} {
		s, err := patches.Read(base)
		require.NoError(t, err)
		p, err := patches.New("p", row.text, row.target)
		require.NoError(t, err)
		_, err = s.Apply(p)
		require.ErrorContains(t, err, row.want)
		text, err := s.Bytes()
		require.NoError(t, err)
		require.Contains(t, string(text), "name: a")
	}
}

// parse returns the root of a document.
func parse(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(text), &document))
	return document.Content[0]
}

// TestDivide: a merge gets what the patch names and what a merge before it has changed, and the
// rest comes back.
func TestDivide(t *testing.T) {
	t.Parallel()
	const object = "{a: 1, b: {c: 2, d: 3}, e: [x, y]}\n"
	for name, row := range map[string]struct{ patch, merged, want, whole string }{
		"what it names": {"b: {c: 3}", object, "{b: {c: 2}}\n",
			"{b: {c: 2, d: 3}, a: 1, e: [x, y]}\n"},
		"a whole map": {"b: x", object, "{b: {c: 2, d: 3}}\n",
			"{b: {c: 2, d: 3}, a: 1, e: [x, y]}\n"},
		"a new field": {"f: x", object, "{}\n", object},
		"a directive": {"b: {$patch: replace}", object, "{b: {c: 2, d: 3}}\n", ""},
		"what has changed": {"f: x", "{a: 1, b: {c: 2, d: 4}, e: [x]}\n",
			"{b: {c: 2, d: 4}, e: [x]}\n", "{b: {c: 2, d: 4}, e: [x], a: 1}\n"},
		"another style": {"f: x", "{a: 1, b: {c: 2, d: 3}, e: [x, \"y\"]}\n",
			"{e: [x, \"y\"]}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			merged, still := parse(t, row.merged), patches.Still{}
			patches.Fields{}.Note(parse(t, object), merged, still)
			reduced, rest := patches.FieldsOf(parse(t, row.patch)).Divide(merged, still)
			is := func(want string, n *yaml.Node) {
				text, err := yaml.Marshal(n)
				require.NoError(t, err)
				require.Equal(t, want, string(text))
			}
			is(row.want, reduced)
			is(row.merged, merged)
			require.True(t, rest.PutBack(reduced))
			if row.whole != "" {
				is(row.whole, reduced)
			}
		})
	}
	require.Nil(t, patches.FieldsOf(parse(t, "{$patch: replace, a: b}")))
	require.Nil(t, patches.Fields{"a": nil}.And(nil))
}

// TestPutBack: what has no place any more cannot be put back.
func TestPutBack(t *testing.T) {
	t.Parallel()
	object, still := parse(t, "{a: {b: {c: 1, d: 2}}}"), patches.Still{}
	patches.Fields{}.Note(object, object, still)
	_, rest := patches.FieldsOf(parse(t, "{a: {b: {c: null}}}")).Divide(object, still)
	for text, want := range map[string]bool{
		"{a: {b: {}}}": true, "{a: {}}": false, "{a: {b: 1}}": false, "{}": false,
	} {
		require.Equal(t, want, rest.PutBack(parse(t, text)), text)
	}
}

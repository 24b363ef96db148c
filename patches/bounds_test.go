package patches

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// TestBounds: what would take kustomize minutes is refused before it begins.
func TestBounds(t *testing.T) {
	t.Parallel()
	deep := "a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200)
	_, err := New("p.yaml", deep, &Target{Kind: "Pod"})
	require.ErrorContains(t, err, "p.yaml:1:1: more than 200 levels")

	_, err = build("a", map[string][]byte{
		"a/kustomization.yaml": []byte("resources: [deep.yaml]\n"), "a/deep.yaml": []byte(deep),
	})
	require.ErrorContains(t, err, "a/deep.yaml:1:1: more than 200 levels")

	_, err = build("a", map[string][]byte{
		"a/kustomization.yaml": []byte("resources: [a.yaml]\n"),
		"a/a.yaml":             []byte("stringData: {password: *hunter2}"),
	})
	require.ErrorContains(t, err, "a/a.yaml:1:1: the file is not valid YAML")
	require.NotContains(t, err.Error(), "hunter2")

	// Each folder has the one below it twice.
	files := map[string][]byte{
		"a/0/kustomization.yaml": []byte("resources: [a.yaml]\n"), "a/0/a.yaml": []byte(namespace),
	}
	for i := range 30 {
		files[fmt.Sprintf("a/%d/kustomization.yaml", i+1)] = fmt.Appendf(nil,
			"resources: [l, r]\n")
		for _, side := range []string{"l", "r"} {
			files[fmt.Sprintf("a/%d/%s/kustomization.yaml", i+1, side)] = fmt.Appendf(nil,
				"namePrefix: %s\nresources: [../../%d]\n", side, i)
		}
	}
	_, err = build("a/30", files)
	require.Error(t, err)
	files["a/kustomization.yaml"] = []byte("resources: ['30']\n")
	_, err = build("a", files)
	require.ErrorContains(t, err, "a: kustomize would make more than 1000 objects")
}

// TestSizes: what kustomize would need long for is refused before it begins, with the figure.
func TestSizes(t *testing.T) {
	t.Parallel()
	pods := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\n", i)
		}
		return out.String()
	}
	maps := func(n int) string { return strings.Repeat("  - {name: a}\n", n) }
	copies := func(n int) string {
		text := "- {op: add, path: /a, value: " + strings.Repeat("x", 100_000) + "}\n"
		for i := range n {
			text += fmt.Sprintf("- {op: copy, from: /a, path: /b%d}\n", i)
		}
		return text
	}
	long := strings.Repeat("x", 600_000)
	for _, row := range []struct {
		name, patch, stream, want string
	}{
		{"copies", copies(10), pods(1), ""},
		{"a copy more", copies(11), pods(1), "copy /b10 does not fit Pod p0: the copies have " +
			"1100022 bytes up to here; at most 1 MiB (1048576)"},
		{"copies in two objects", copies(6), pods(2), "copy /b4 does not fit Pod p1: the copies"},
		{"a large patch of one object", "a: " + long, pods(1), ""},
		{"a large patch of two objects", "a: " + long, pods(2), "it has 600003 bytes and changes " +
			"2 objects"},
		{"a patched list", "a: b", pods(1) + "spec:\n  x:\n" + maps(1000), ""},
		{"a long patched list", "a: b", pods(1) + "spec:\n  x:\n" + maps(1001),
			"apply patch a long patched list to a stream of objects: 7:3: a list of 1001 maps"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, err := New(row.name, row.patch, &Target{Kind: "Pod"})
			require.NoError(t, err)
			_, err = Apply([]byte(row.stream), p)
			if row.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, row.want)
		})
	}
	_, err := New("p.yaml", "a:\n"+maps(501), &Target{Kind: "Pod"})
	require.ErrorContains(t, err, "p.yaml:2:3: a list of 501 maps")

	_, err = build("a", map[string][]byte{
		"a/kustomization.yaml": []byte("configMapGenerator: [{name: x, envs: [e]}]\n"),
		"a/e":                  []byte(strings.Repeat("a=b\n", 5001)),
	})
	require.ErrorContains(t, err, "a/kustomization.yaml:1:22: configMapGenerator[0]: has 5001 keys")
	_, err = build("a", map[string][]byte{
		"a/kustomization.yaml": []byte("patches:\n- patch: |\n    a: &a " +
			strings.Repeat("x", 40_000) + "\n    b: *a\n    c: *a\n"),
	})
	require.ErrorContains(t, err, "a/kustomization.yaml:2:10: patches[0].patch: "+
		"line 3, column 4 of it: aliases stand for 80000 bytes")
}

// TestBuildWork: a folder is refused if kustomize would need long for what its kustomizations do
// with all objects together. A large one with few patches is not.
func TestBuildWork(t *testing.T) {
	t.Parallel()
	lines := func(n int, format string) string {
		var out strings.Builder
		for i := range n {
			out.WriteString(strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
		}
		return out.String()
	}
	const patch = "- {patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: x, " +
		"annotations: {a: b}}}', target: {kind: ConfigMap, name: NAME}}\n"
	broad := strings.ReplaceAll(patch, "NAME", ".*")
	narrow := strings.ReplaceAll(patch, "NAME", "c1")
	for name, row := range map[string]struct {
		objects int
		text    string
		levels  int // of folders around it
		refused bool
	}{
		"patches":             {990, "patches:\n" + lines(9, broad), 0, true},
		"narrow patches":      {300, "patches:\n" + lines(40, narrow), 0, false},
		"many narrow patches": {990, "patches:\n" + lines(30, narrow), 0, true},
		"some patches":        {150, "patches:\n" + lines(20, broad), 0, false},
		"labels":              {990, "labels:\n" + lines(400, "- pairs: {a%d: b}\n"), 0, true},
		"fields of a label": {990, "labels:\n- pairs: {a: b}\n  fields:\n" +
			lines(400, "  - {path: a/b%d, create: true}\n"), 0, true},
		"images": {990, "images:\n" + lines(400, "- {name: a%d, newTag: '1'}\n"), 0,
			true},
		"one of each": {900, "namePrefix: a-\nnamespace: b\nlabels: [{pairs: {a: b}}]\n", 0,
			false},
		"replacements": {900, "replacements:\n" + lines(400, "- source: {kind: ConfigMap, name: "+
			"c%d}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]\n"), 0, true},
		"folders":              {300, "namePrefix: a-\n", 60, true},
		"few folders":          {100, "namePrefix: a-\n", 5, false},
		"references":           {100, "namePrefix: a-\n", 0, true},
		"references that stay": {100, "", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resources := "resources: [c.yaml]\n"
			if strings.HasPrefix(name, "references") {
				resources = "resources: [c.yaml, refs.yaml]\n"
			}
			files := map[string][]byte{
				"a/kustomization.yaml": []byte(resources + row.text),
				"a/c.yaml": []byte(lines(row.objects,
					"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n")),
				"a/refs.yaml": []byte(lines(12, "---\napiVersion: v1\nkind: Pod\nmetadata: "+
					"{name: refs%d}\nspec:\n  volumes:\n"+
					strings.Repeat("  - {name: v, configMap: {name: c1}}\n", 900))),
			}
			root := "a"
			for i := range row.levels {
				files[fmt.Sprintf("l%d/kustomization.yaml", i)] = fmt.Appendf(nil,
					"namePrefix: b-\nresources: [../%s]\n", root)
				root = fmt.Sprintf("l%d", i)
			}
			files["kustomization.yaml"] = []byte("resources: [" + root + "]\n")
			err := read(".", files, func(string) bool { return false }).err()
			if !row.refused {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "kustomize would take too long for its ")
		})
	}
}

// TestTree: operations change a tree as the library changes the object.
func TestTree(t *testing.T) {
	t.Parallel()
	const object = `{"a": {"b": 1, "c/d": [1, {"e": "f"}, null]}, "l": []}`
	for _, text := range []string{
		`{"op": "add", "path": "/a/x", "value": {"y": [1]}}`,
		`{"op": "add", "path": "/a/b", "value": null}`,
		`{"op": "add", "path": "/a/c~1d/0", "value": 2}`,
		`{"op": "add", "path": "/a/c~1d/-", "value": 2}`,
		`{"op": "add", "path": "/a/c~1d/3", "value": 2}`,
		`{"op": "add", "path": "/a/c~1d/4", "value": 2}`,
		`{"op": "add", "path": "/a/c~1d/-1", "value": 2}`,
		`{"op": "add", "path": "/a/c~1d/x", "value": 2}`,
		`{"op": "add", "path": "/l/-", "value": 2}`,
		`{"op": "remove", "path": "/a/b"}`,
		`{"op": "remove", "path": "/a/c~1d/1"}`,
		`{"op": "remove", "path": "/a/c~1d/1/e"}`,
		`{"op": "remove", "path": "/x"}`,
		`{"op": "replace", "path": "/a/c~1d/1/e", "value": [2]}`,
		`{"op": "replace", "path": "/a/c~1d/2", "value": {}}`,
		`{"op": "move", "from": "/a/b", "path": "/l/0"}`,
		`{"op": "move", "from": "/a/c~1d/0", "path": "/a/c~1d/2"}`,
		`{"op": "move", "from": "/a", "path": "/x/y"}`,
		`{"op": "copy", "from": "/a", "path": "/l/-"}`,
		`{"op": "copy", "from": "/a", "path": "/a/z"}`,
		`{"op": "copy", "from": "", "path": "/a/z"}`,
		`{"op": "test", "path": "/a/b", "value": 1}`,
		`{"op": "test", "path": "/a/b", "value": 2}`,
		`{"op": "test", "path": "/a/c~1d/1", "value": {"e": "f"}}`,
		`{"op": "test", "path": "", "value": {}}`,
		`{"op": "append", "path": "/l", "value": 2}`,
	} {
		patch, err := jsonpatch.DecodePatch([]byte("[" + text + "]"))
		require.NoError(t, err)
		want, failure := patch.Apply([]byte(object))
		var op operation
		require.NoError(t, json.Unmarshal([]byte(text), &op))
		var is tree
		require.NoError(t, json.Unmarshal([]byte(object), &is.root))
		why := is.apply(op)
		require.Equal(t, failure == nil, why == "", "%s: %v; %s", text, failure, why)
		if failure == nil {
			got, err := json.Marshal(is.root)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got), text)
		}
	}
}

// TestTwoObjects: what an operation adds to one object is not what later operations made of it in
// the object before.
func TestTwoObjects(t *testing.T) {
	t.Parallel()
	p, err := New("p", `
- {op: add, path: /metadata/labels, value: {a: b}}
- {op: test, path: /metadata/labels, value: {a: b}}
- {op: add, path: /metadata/labels/c, value: d}
- {op: remove, path: /metadata/labels/a}
`, &Target{Kind: "Namespace"})
	require.NoError(t, err)
	stream := namespace + "---\n" + strings.ReplaceAll(namespace, "name: ", "name: x")
	out, err := Apply([]byte(stream), p)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(out), "c: d"), "%s", out)
	require.Nil(t, p.failure([]byte(stream)))
}

// TestFlow: operations may be written between brackets, in YAML as well as in JSON.
func TestFlow(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[{op: add, path: /metadata/labels, value: {a: b}}]",
		`[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]`,
		" [{op: add, path: /metadata/labels, value: {a: b}}]",
	} {
		p, err := New("p", text, &Target{Kind: "Namespace"})
		require.NoError(t, err)
		out, err := Apply([]byte(namespace), p)
		require.NoError(t, err)
		require.Contains(t, string(out), "a: b")
	}
}

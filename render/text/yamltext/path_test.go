package yamltext_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

const pod = `kind: Pod
metadata:
  annotations: {kiln.dev/sum: a, kiln: {dev: b}}
spec:
  containers:
  - name: app
    command: [app, --v=2, --gate=a, --gate=b, -x]
    env: [{name: HOME, value: /root}]
  - name: other
    image: other:1
  rules: [{verbs: [get]}, {verbs: [list]}]
`

// TestDocumentPath holds every way to name a value to the value, and to its path: that one leads to
// the value in another version of the document too.
func TestDocumentPath(t *testing.T) {
	t.Parallel()
	docs := yamltext.Documents([]byte(pod + "---\n# empty\n---\nkind: Other\n"))
	require.Len(t, docs, 2)
	for _, row := range []struct {
		path, read string
		value      any
		line       int
	}{
		{"kind", "kind", "Pod", 1},
		{"metadata.annotations.kiln.dev/sum", "metadata.annotations.kiln.dev/sum", "a", 3},
		{"metadata.annotations.kiln.dev", "metadata.annotations.kiln.dev", "b", 3},
		{"spec.containers[1].image", "spec.containers[other].image", "other:1", 10},
		{"spec.containers[app].env.HOME", "spec.containers[app].env.HOME", "/root", 8},
		{"spec.containers[app].env[0].value", "spec.containers[app].env[HOME].value", "/root", 8},
		{"spec.containers[0].command[1]", "spec.containers[app].command[1]", "--v=2", 7},
		{"spec.containers[0].command[--v]", "spec.containers[app].command[--v]", "2", 7},
		{"--v", "spec.containers[app].command[--v]", "2", 7},
		{"--gate", "spec.containers[app].command[--gate]", []any{"a", "b"}, 7},
		{"spec.containers[0].command[3]", "spec.containers[app].command[3]", "--gate=b", 7},
		{"spec.rules[1].verbs", "spec.rules[1].verbs", []any{"list"}, 11},
	} {
		p, unknown := docs[0].Path(row.path)
		require.Nil(t, unknown, row.path)
		require.Equal(t, row.read, p.String())
		value, ok := docs[0].Value(p)
		require.True(t, ok, row.path)
		require.Equal(t, row.value, value, row.path)
		line, _, steps := docs[0].Position(p)
		require.Equal(t, row.line, line, row.path)
		require.Len(t, p, steps)
	}

	// The container has moved, and the flag in it: the path finds both.
	p, unknown := docs[0].Path("spec.containers[0].command[1]")
	require.Nil(t, unknown)
	const changed = `spec:
  containers:
  - name: first
  - name: app
    command: [app, --a=1, --v=3]
`
	moved := yamltext.Documents([]byte(changed))[0]
	value, ok := moved.Value(p)
	require.True(t, ok)
	require.Equal(t, "--v=3", value)
	_, _, steps := moved.Position(append(p, p...))
	require.Equal(t, len(p), steps, "as far as it leads")

	for _, row := range []struct{ path, want string }{
		{"kid", `there is no "kid"; did you mean "kind"?`},
		{"metadata.labels", `there is no "labels" below metadata; there is annotations`},
		{"spec.containers[2]", `there is no "2" below spec.containers; there is app, other`},
		{
			"spec.containers[ap].image",
			`there is no "ap" below spec.containers; did you mean "app"?`,
		},
		{"kind.of", `there is no "of" below kind`},
		{"--gates", `there is no flag --gates; did you mean "--gate"?`},
		{
			"spec.containers[0].command[-1",
			`there is no "[-1" below spec.containers[app].command; there is --v, --gate`,
		},
	} {
		_, unknown := docs[0].Path(row.path)
		require.NotNil(t, unknown, row.path)
		require.Equal(t, row.want, unknown.Error())
	}
}

// TestDocumentAlias holds paths out of aliases: one that leads back to itself would have no end.
func TestDocumentAlias(t *testing.T) {
	t.Parallel()
	doc := yamltext.Documents([]byte("a: &a\n  b: [*a]\n"))[0]
	_, unknown := doc.Path("--flag")
	require.NotNil(t, unknown)
	_, unknown = doc.Path("a.b[0].b")
	require.NotNil(t, unknown)
}

// TestLocation reads paths of a document, and holds them to the values and positions there.
func TestLocation(t *testing.T) {
	t.Parallel()
	const text = `spec:
  list:
  - name: a
  - {name: b}
  labels: {example.com/zone: x, example: {com/zone: y}}
`
	var doc yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
	root := doc.Content[0]
	spec := new(yamltext.Location).Key("spec").Omit()
	for _, row := range []struct {
		path, read   string
		found        bool
		line, column int
	}{
		{"list[1].name", "list[1].name", true, 4, 12},
		{"list[0]", "list[0]", true, 3, 5},
		{"list", "list", true, 2, 3},
		{"labels.example.com/zone", "labels.example.com/zone", true, 5, 30},
		{"list[7].name", "list[7].name", false, 2, 3},
		{"gone.far", "gone.far", false, 1, 1},
		{"list[x].name", "list", true, 2, 3},
	} {
		at := yamltext.Locate(root, spec, row.path)
		require.Equal(t, row.read, at.String(), row.path)
		value, _ := yamltext.Find(root, at)
		require.Equal(t, row.found, value != nil, row.path)
		line, column := yamltext.Position(root, at)
		require.Equal(t, [2]int{row.line, row.column}, [2]int{line, column}, row.path)
	}
	require.Equal(t, "spec", spec.String())
	require.Equal(t, 3, spec.Key("list").Index(0).Depth())
	require.Equal(t, "", spec.Parent().String())
	require.Nil(t, spec.Parent().Parent())
}

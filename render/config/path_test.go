package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/config"
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

// TestDocumentPath: every way to name a value leads to it, and the path that comes of it leads there in another version of the document too.
func TestDocumentPath(t *testing.T) {
	t.Parallel()
	docs := config.Documents([]byte(pod + "---\n# empty\n---\nkind: Other\n"))
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
	moved := config.Documents([]byte("spec:\n  containers:\n  - name: first\n  - name: app\n    command: [app, --a=1, --v=3]\n"))[0]
	value, ok := moved.Value(p)
	require.True(t, ok)
	require.Equal(t, "--v=3", value)
	_, _, steps := moved.Position(append(p, p...))
	require.Equal(t, len(p), steps, "as far as it leads")

	for path, want := range map[string]string{
		"kid":                           `there is no "kid"; did you mean "kind"?`,
		"metadata.labels":               `there is no "labels" below metadata; there is annotations`,
		"spec.containers[2]":            `there is no "2" below spec.containers; there is app, other`,
		"spec.containers[ap].image":     `there is no "ap" below spec.containers; did you mean "app"?`,
		"kind.of":                       `there is no "of" below kind`,
		"--gates":                       `there is no flag --gates; did you mean "--gate"?`,
		"spec.containers[0].command[-1": `there is no "[-1" below spec.containers[app].command; there is --v, --gate`,
	} {
		_, unknown := docs[0].Path(path)
		require.NotNil(t, unknown, path)
		require.Equal(t, want, unknown.Error())
	}
}

// TestDocumentAlias: no path leads through an alias, so one that leads back to itself does no harm.
func TestDocumentAlias(t *testing.T) {
	t.Parallel()
	doc := config.Documents([]byte("a: &a\n  b: [*a]\n"))[0]
	_, unknown := doc.Path("--flag")
	require.NotNil(t, unknown)
	_, unknown = doc.Path("a.b[0].b")
	require.NotNil(t, unknown)
}

// TestExplainLayers: a setting is what its layers make of it; each is told that said something of it, the narrowest first.
func TestExplainLayers(t *testing.T) {
	t.Parallel()
	c := parse(t, header+`  endpoint: api.example.com
  network: {cni: none}
  machines:
    os: flatcar
    kubelet: {evictionHard: {memory.available: 100Mi}}
    proxy: {http: "http://a.example.com:1"}
  workers: {machines: {kubelet: {evictionHard: {memory.available: 200Mi}}}}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
  - {name: w-1, role: worker, addresses: [10.0.0.21], kubelet: {evictionHard: null}, proxy: {}}
`, nil)
	for path, want := range map[string]string{
		"kubelet.evictionHard": "kubelet.evictionHard: null\n  set by cluster.yaml:15:79 nodes[1].kubelet.evictionHard\n" +
			"  before: {\"memory.available\":\"200Mi\"} by cluster.yaml:12:48 workers.machines.kubelet.evictionHard\n" +
			"  before: {\"memory.available\":\"100Mi\"} by cluster.yaml:10:29 machines.kubelet.evictionHard\n",
		"kubelet.evictionHard.memory.available": "kubelet.evictionHard.memory.available: not set\n  removed by cluster.yaml:15:79 nodes[1].kubelet.evictionHard.memory.available\n" +
			"  before: 200Mi by cluster.yaml:12:67 workers.machines.kubelet.evictionHard.memory.available\n" +
			"  before: 100Mi by cluster.yaml:10:48 machines.kubelet.evictionHard.memory.available\n",
		"proxy.http":             "proxy.http: not set\n  removed by cluster.yaml:15:93 nodes[1].proxy.http\n  before: http://a.example.com:1 by cluster.yaml:11:19 machines.proxy.http\n",
		"arch":                   "arch: amd64\n  set by default of kiln (arch)\n",
		"controlPlane.scheduler": "controlPlane.scheduler: not set\n  nobody sets it; what that means: kiln explain controlPlane.scheduler\n",
	} {
		settings, err := c.Explain("w-1", path)
		require.NoError(t, err, path)
		require.Len(t, settings, 1, path)
		require.Equal(t, want, settings[0].String())
	}
}

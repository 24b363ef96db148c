package running_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/fleet/running"
)

const twin = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"

// node returns a Node with these annotations, as JSON.
func node(name, twin, hook string) string {
	return `{"kind":"Node","metadata":{"name":"` + name + `","annotations":{"kiln.dev/twin":"` +
		twin + `","kiln.dev/hook":"` + hook + `"}},"spec":{"taints":[{"key":"a","value":"b",` +
		`"effect":"NoSchedule"}]},"status":{"conditions":[{"type":"Ready","status":"True"}],` +
		`"nodeInfo":{"kubeletVersion":"v1.36.3"}}}`
}

// TestParse: a list, a Node and both one after the other are read, in the order of names.
func TestParse(t *testing.T) {
	t.Parallel()
	const roots = " ca: g2 issue since 2026-01-01T00:00:00Z; x: g1; etcd-ca: what"
	a := node("a", twin+roots, "done done")
	b := node("b", "ABC", "waiting pods")
	const other = `{"apiVersion":"v1","kind":"ConfigMap",` +
		`"metadata":{"name":"kiln","namespace":"default"},"data":{"objects":"1"}}`
	marker := strings.NewReplacer("default", "kube-system", `"1"`, `"23"`).Replace(other)
	for text, objects := range map[string]string{
		`{"kind":"List","items":[` + b + `,` + other + `,` + a + `,` + marker + `]}`:      "23",
		`{"kind":"NodeList","items":[` + b + `,` + a + "]}\n" + marker:                    "23",
		`{"kind":"NodeList","items":[` + b + `,` + a + "]}\n" + `{"kind":"ConfigMap"}`:    "",
		`{"kind":"NodeList","items":[` + b + `,` + a + "]}\n" + `{"kind":"X","spec":[1]}`: "",
		b + "\n" + a: "",
	} {
		r, err := running.Parse(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, objects, r.Objects)
		list := r.Nodes
		require.Len(t, list, 2)
		require.Equal(t, "a", list[0].Name)
		require.Equal(t, twin, list[0].Twin)
		require.Len(t, list[0].Roots, 1)
		require.Equal(t, pki.Issue, list[0].Roots[pki.RootCA].Stage)
		require.True(t, list[0].SaysDone())
		require.True(t, list[0].Ready)
		require.Equal(t, []string{"a=b:NoSchedule"}, list[0].Taints)
		require.Empty(t, list[1].Twin, "not a digest")
		require.Equal(t, "waiting pods", list[1].Hook)
	}
}

// TestParsePart: the rest of a list would be taken for absent.
func TestParsePart(t *testing.T) {
	t.Parallel()
	_, err := running.Parse(strings.NewReader(`{"kind":"NodeList","metadata":{"continue":"x"},` +
		`"items":[` + node("a", twin, "done done") + `]}`))
	require.ErrorContains(t, err, "only the first part of a list")
}

// FuzzParse: no list ends the program, and no name in a result could be more than a name in a
// command for a shell.
func FuzzParse(f *testing.F) {
	f.Add(node("a", twin, "done done"))
	f.Add(`{"kind":"List","items":[` + node("a", "", "") + `]}`)
	f.Add(`{"kind":"Node","metadata":{"name":"a b"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := running.Parse(strings.NewReader(text))
		require.Equal(t, err != nil, r == nil)
		if r == nil {
			return
		}
		require.NotEmpty(t, r.Nodes)
		for _, n := range r.Nodes {
			require.NotContains(t, n.Name, " ")
			require.NotContains(t, n.Name, ";")
			require.True(t, n.Twin == "" || len(n.Twin) == 64)
		}
	})
}

// TestSaid: what a machine says of itself commands no terminal and fills no page.
func TestSaid(t *testing.T) {
	t.Parallel()
	long := "waiting \u202eEDOC\\n\\nkubectl delete node cp-1" + strings.Repeat("x", 9999)
	r, err := running.Parse(strings.NewReader(node("a", "", long)))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(r.Nodes[0].Hook, `waiting \u202eEDOC\u000a\u000akubectl`))
	require.Less(t, len(r.Nodes[0].Hook), 400)
}

// TestParseBounds: what is kept of a list has a bound, and a list of other objects has no Nodes.
func TestParseBounds(t *testing.T) {
	t.Parallel()
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	labels := many(90_000, `,"l-%d":""`)
	for name, row := range map[string]struct{ text, want string }{
		"no Nodes": {`{"kind":"NodeList","items":[{},{}` + strings.Repeat(",{}", 1<<20) + `]}`,
			`"" is no name of a Node`},
		"labels": {`{"kind":"NodeList","items":[{"kind":"X"}` + many(20,
			`,{"metadata":{"name":"n%d","labels":{"a":""`+labels+`}}}`) + `]}`,
			"more than 32 MiB of labels and taints"},
		"taints": {`{"kind":"NodeList","items":[{"kind":"X"}` + many(20,
			`,{"metadata":{"name":"n%d"},"spec":{"taints":[{}`+strings.Repeat(",{}", 90_000)+
				`]}}`) + `]}`, "more than 32 MiB of labels and taints"},
		"other objects, kind last": {`{"items":[{"metadata":{"name":"a"}}],"kind":"PodList"}`,
			"there is no Node; make it with: kubectl get nodes -o json"},
		"too many": {`{"kind":"NodeList","items":[{"kind":"X"}` +
			many(20_001, `,{"metadata":{"name":"n%d"}}`) + `]}`, "more than 20000 objects"},
		"no object": {`[]`, "not an object of Kubernetes; make it with: kubectl get nodes -o json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := running.Parse(strings.NewReader(row.text))
			require.EqualError(t, err, row.want)
		})
	}
}

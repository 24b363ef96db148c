package patches

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBounds: what would take kustomize minutes is refused before it begins.
func TestBounds(t *testing.T) {
	t.Parallel()
	deep := "a: " + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	require.ErrorContains(t, CheckBounds([]byte("b: c\n---\n"+deep)), "3:1: more than 200 levels")
	_, err := New("p.yaml", deep, &Target{Kind: "Pod"})
	require.ErrorContains(t, err, "p.yaml:1:1: more than 200 levels")
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 {}\n")
	for i := range maxDepth {
		fmt.Fprintf(&aliases, "a%d: &a%d {b: *a%d}\n", i+1, i+1, i)
	}
	require.ErrorContains(t, CheckBounds([]byte(aliases.String())), "levels lie in each other")
	require.NoError(t, CheckBounds([]byte("a: &a {b: *a}")))
	require.NoError(t, CheckBounds([]byte("a: "+strings.Repeat("[", maxDepth-10)+
		strings.Repeat("]", maxDepth-10))))

	require.ErrorContains(t, CheckBounds([]byte("a: b\nc: \"1e-999999999\"")),
		"2:4: a number with so many digits, or so small an exponent")
	require.NoError(t, CheckBounds([]byte("a: 1e-300\nb: 1e999999999\nc: 12e-12-34\nd: a1e-9999")))

	_, err = build("a", map[string][]byte{
		"a/kustomization.yaml": []byte("resources: [deep.yaml]\n"), "a/deep.yaml": []byte(deep),
	})
	require.ErrorContains(t, err, "a/deep.yaml:1:1: more than 200 levels")

	err = checkAliases([]byte("stringData: {password: *hunter2}"))
	require.ErrorContains(t, err, "not YAML: ")
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

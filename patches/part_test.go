package patches_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/patches"
)

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

package manifests_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/manifests"
)

// TestReadDivided: no object of a stream gets lost, whatever ends its lines and whatever stands
// behind the marks of documents. Who looks for Secrets sees all of them.
func TestReadDivided(t *testing.T) {
	t.Parallel()
	const first = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	const second = "{apiVersion: v1, kind: Secret, metadata: {name: b}}"
	for name, stream := range map[string]string{
		"behind the mark":    "--- " + first + "\n--- " + second + "\n",
		"behind a tab":       first + "\n---\t" + second,
		"lines of Windows":   first + "\r\n---\r\n" + second + "\r\n",
		"an old Macintosh":   first + "\r---\r" + second + "\r",
		"a break of Unicode": first + "\u2028---\u2028" + second,
		"an end":             first + "\n...\n" + second,
	} {
		objects, err := manifests.Read([]byte(stream))
		require.NoError(t, err, name)
		require.Len(t, objects, 2, name)
		require.True(t, objects[1].Secret, name)
	}
}

// TestReadNumbers: a name may be written as a number, as for the API server's own client.
func TestReadNumbers(t *testing.T) {
	t.Parallel()
	objects, err := manifests.Read([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: 5}}"))
	require.NoError(t, err)
	require.Equal(t, "/api/v1/namespaces/default/configmaps/5", objects[0].Path)
}

// TestSort: namespaces come first, then definitions of custom resources, then the others as they
// stood. Custom kinds with the same names are among the others.
func TestSort(t *testing.T) {
	t.Parallel()
	objects, err := manifests.Read([]byte(`apiVersion: example.com/v1
kind: Ox
metadata: {name: a}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: farm}}
---
{apiVersion: example.com/v1, kind: Namespace, metadata: {name: c}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: oxen.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Ox, plural: oxen}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: farm}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: barn}}
`))
	require.NoError(t, err)
	manifests.Sort(objects)
	var names []string
	for _, o := range objects {
		names = append(names, o.Name)
	}
	require.Equal(t, []string{"farm", "barn", "oxen.example.com", "a", "b", "c"}, names)
}

// TestJSON: the JSON of an object is one line, and says the same as its YAML.
func TestJSON(t *testing.T) {
	t.Parallel()
	doc := "kind: X\nb: 9007199254740993\na: [1.5, true, null, '<&>']\n" +
		"data:\n  file: |\n    a\n    b\n"
	got := string(manifests.JSON([]byte(doc)))
	require.Equal(t, `{"a":[1.5,true,null,"<&>"],"b":9007199254740993,`+
		`"data":{"file":"a\nb\n"},"kind":"X"}`+"\n", got)
	back, err := yaml.YAMLToJSON([]byte(got))
	require.NoError(t, err)
	want, err := yaml.YAMLToJSON([]byte(doc))
	require.NoError(t, err)
	require.Equal(t, string(want), string(back))
}

// TestJSONCharacters: the API server, which reads YAML, finds each character of a string.
func TestJSONCharacters(t *testing.T) {
	t.Parallel()
	var want, doc strings.Builder
	for r := rune(0); r <= 0x10010; r++ {
		if utf8.ValidRune(r) {
			want.WriteRune(r)
			fmt.Fprintf(&doc, `\U%08x`, r)
		}
	}
	got := manifests.JSON([]byte(`data: "` + doc.String() + `"`))
	require.True(t, json.Valid(got))
	var read map[string]string
	require.NoError(t, yaml.Unmarshal(got, &read))
	require.True(t, want.String() == read["data"])
}

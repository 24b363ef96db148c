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

package node_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
)

// notInShape are the fields that change no document, or a content of a file alone.
var notInShape = []string{".Name", ".Role", ".NetworkConfig", ".Files[0].Content",
	".Files[0].Secret", ".Files[0].Why", ".Files[0].From", ".Files[0].Shown"}

// TestShape: every field of a node changes its shape, but for those that no document depends on and
// the contents of files. A new field has to be put into Shape, or into the list here.
func TestShape(t *testing.T) {
	t.Parallel()
	n := &node.Node{
		Users:          []node.User{{}},
		Dirs:           []node.Dir{{}},
		Files:          []node.File{{Secret: "a"}},
		Links:          []node.Link{{}},
		Units:          []node.Unit{{}},
		AuthorizedKeys: []string{""},
		Remote:         &node.Remote{},
	}
	plain := string(n.Shape(n.Files))
	fields := 0
	var visit func(v reflect.Value, at string)
	visit = func(v reflect.Value, at string) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				visit(v.Field(i), at+"."+v.Type().Field(i).Name)
			}
			return
		case reflect.Pointer:
			visit(v.Elem(), at)
		}
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int:
			v.SetInt(v.Int() + 1)
		case reflect.Uint32:
			v.SetUint(v.Uint() + 1)
		case reflect.Pointer:
			v.SetZero()
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i), fmt.Sprintf("%s[%d]", at, i))
			}
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		default:
			t.Fatalf("%s: %s", at, v.Kind())
		}
		fields++
		if slices.Contains(notInShape, at) {
			require.Equal(t, plain, string(n.Shape(n.Files)), at)
		} else {
			require.NotEqual(t, plain, string(n.Shape(n.Files)), at)
		}
		v.Set(before)
	}
	visit(reflect.ValueOf(n).Elem(), "")
	require.Equal(t, plain, string(n.Shape(n.Files)))
	require.Greater(t, fields, 40)
	n.Files[0].Secret = ""
	require.NotEqual(t, plain, string(n.Shape(n.Files)), "a file that is no secret any more")
}

// TestShapeOfWords: words that run together differently have different shapes.
func TestShapeOfWords(t *testing.T) {
	t.Parallel()
	seen := map[string]node.Link{}
	words := []string{"", "a", "1:a", "a1:", "0:", "3#", "a3#4:linka", "4:link0:0:"}
	for _, path := range words {
		for _, target := range words {
			n := &node.Node{Links: []node.Link{{Path: path, Target: target}}}
			shape := string(n.Shape(nil))
			require.NotContains(t, seen, shape, "%q %q", path, target)
			seen[shape] = n.Links[0]
		}
	}
}

package yamltext_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// TestFind has the mistakes that no row of testdata/mistakes makes in a configuration.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"no comma", "{a: b c: d}", "1:7: a comma is missing before this key; " +
			`or put a value that contains ": " into quotes`},
		{"the wrong bracket", "a: [b}", "1:4: the [ is not closed; write ] behind its last item"},
		{"an inner bracket", "a: [{b: [c}]", "1:9: the [ is not closed; " +
			"write ] behind its last item"},
		{"a bracket in lines", "a: [b,\n  c\nd: e\n", "1:4: the [ is not closed; " +
			"write ] behind its last item"},
		{"more behind brackets", "a: [b] c\n", "1:8: more stands behind the closing bracket; " +
			"remove it"},
		{"a key in a list", "a:\n  - b\n  c: d\n", "3:3: a key stands among the items of a list; " +
			`write "- " before it, or indent it like the keys of the item above`},
		{"an item in a map", "a:\n  b: c\n  - d\n", "3:3: an item of a list stands among the " +
			"keys of a map; indent it like the other items, or write its key on the line " +
			"before it"},
		{"a word that nobody knows", "a: b\nhunter2\n", `2:1: has no key; write it like ` +
			`"key: value", or indent it deeper than the key above if it belongs to its value`},
		{"the first key without its colon", "a b\nc: d\n", `1:1: the colon is missing; ` +
			`write "a: " before the value`},
		{"the first key of an item without its colon", "- c\n- a b\n  c: d\n",
			`2:3: the colon is missing; write "a: " before the value`},
		{"the first key of a map without its space", "c:\n  a:b\n  c: d\n",
			`2:3: the space behind the colon is missing; write "a: " before the value`},
		{"characters of several bytes", "{é: [ü, ö }\n", "1:5: the [ is not closed; " +
			"write ] behind its last item"},
		{"the second document", "a: b\n---\na: b\nc d\n", `4:1: has no key; write it like ` +
			`"key: value", or indent it deeper than the key above if it belongs to its value`},
		{"a correct document", "a: b\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f, ok := yamltext.FindFault([]byte(row.text), []string{"a"})
			got := ""
			if ok {
				got = fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Message)
			}
			require.Equal(t, row.want, got)
		})
	}
}

// TestSuspectsNothing: the lines of a correct document show no fault. The parser, which Find asks
// as well, would only hide that.
func TestSuspectsNothing(t *testing.T) {
	t.Parallel()
	root, read := filepath.Join("..", "..", ".."), 0
	visit := func(path string, e fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "bin"):
			return fs.SkipDir
		case e.IsDir() || ext != ".yaml" && ext != ".yml":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !isYAML(text) || bytes.Contains(text, []byte("\n?")) {
			return err
		}
		read++
		if f := yamltext.Suspect(text); f != nil {
			t.Errorf("%s:%d:%d: %s", path, f.Line, f.Column, f.Message)
		}
		return nil
	}
	require.NoError(t, filepath.WalkDir(root, visit))
	require.Greater(t, read, 100)
}

// isYAML reports whether the parser reads a whole stream of documents.
func isYAML(text []byte) bool {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		if err := documents.Decode(new(yaml.Node)); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// FuzzFind: Find returns a place that the document has.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{
		"a: b\nc: [d, {e: f}\n", "- a\n  - \"b\\d\"\n", "a: |\nb", "a: 'b\n\tc", "&a *b: !c d\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fault, ok := yamltext.FindFault(text, nil)
		if !ok {
			return
		}
		lines := strings.Split(string(text), "\n")
		require.LessOrEqual(t, fault.Line, len(lines))
		require.Positive(t, fault.Column)
		require.LessOrEqual(t, fault.Column, len([]rune(lines[fault.Line-1]))+1)
	})
}

// TestTemplate: a template of Helm is known by what stands between its braces.
func TestTemplate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		"a: b\nc: {{ .Values.x }}\n":      {2, 4},
		"{{- if .Values.on }}\n":          {1, 1},
		"x:\n  {{- include \"y\" . }}\n":  {2, 3},
		"a: {{ .Alert }}\n":               {},
		"a: {b: {c: d}}\n":                {},
		"é: {{ $.Release.Name | quote }}": {1, 4},
	} {
		f, ok := yamltext.Template([]byte(text))
		require.Equal(t, want[0] > 0, ok, text)
		require.Equal(t, want, [2]int{f.Line, f.Column}, text)
	}
}

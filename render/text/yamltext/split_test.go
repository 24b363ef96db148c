package yamltext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/text/yamltext"
)

// all returns the values of all documents of a stream as YAML's decoder reads them, empty ones left
// out, and false if one cannot be read.
func all(stream string) (values []string, ok bool) {
	decoder := yaml.NewDecoder(strings.NewReader(stream))
	for {
		var value any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values, true
		}
		text, jsonErr := json.Marshal(value)
		if err != nil || jsonErr != nil {
			return nil, false
		}
		if value != nil {
			values = append(values, string(text))
		}
	}
}

// each returns the values of documents that are read one by one: of each the first.
func each(documents []string) (values []string) {
	for _, doc := range documents {
		var value any
		if err := yaml.Unmarshal([]byte(doc), &value); err != nil {
			values = append(values, "not YAML: "+err.Error())
			continue
		}
		text, _ := json.Marshal(value)
		if value != nil {
			values = append(values, string(text))
		}
	}
	return values
}

func split(stream string) (documents []string) {
	for _, doc := range yamltext.Split([]byte(stream)) {
		documents = append(documents, string(doc))
	}
	return documents
}

// TestSplit: a stream is divided as YAML's decoder divides it, and nothing of it is left out.
func TestSplit(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stream string
		want   []string
	}{
		"behind the mark":    {"--- {a: 1}\n--- {b: 2}\n", []string{`{"a":1}`, `{"b":2}`}},
		"behind a tab":       {"a: 1\n---\t{b: 2}\n", []string{`{"a":1}`, `{"b":2}`}},
		"a text":             {"--- |\n x\n---\na: 1\n", []string{`"x\n"`, `{"a":1}`}},
		"a comment":          {"--- # x\na: 1\n---   \nb: 2", []string{`{"a":1}`, `{"b":2}`}},
		"Windows":            {"a: 1\r\n---\r\nb: 2\r\n", []string{`{"a":1}`, `{"b":2}`}},
		"an old Macintosh":   {"a: 1\r---\rb: 2\r", []string{`{"a":1}`, `{"b":2}`}},
		"a break of Unicode": {"a: 1\u2028---\u2028b: 2", []string{`{"a":1}`, `{"b":2}`}},
		"an end":             {"a: 1\n...\nb: 2\n", []string{`{"a":1}`, `{"b":2}`}},
		"an end and a mark":  {"a: 1\n...\n---\nb: 2\n", []string{`{"a":1}`, `{"b":2}`}},
		"a byte order mark":  {"\ufeff--- {a: 1}\n", []string{`{"a":1}`}},
		"no marks": {"a: |\n ---\n ...\nb: ---x\n",
			[]string{`{"a":"---\n...\n","b":"---x"}`}},
		"empty ones":           {"---\n---\n# x\n---\na: 1\n---\n", []string{`{"a":1}`}},
		"a mark without blank": {"a:\n---b: 2\n", []string{"not YAML: x"}},
	} {
		got := each(split(row.stream))
		if strings.HasPrefix(row.want[0], "not") {
			require.Contains(t, got[0], `"---b"`, name)
			continue
		}
		require.Equal(t, row.want, got, name)
		if whole, ok := all(row.stream); ok { // the decoder wants --- behind ...
			require.Equal(t, whole, got, name)
		}
	}
}

// TestDividedAlike: whatever YAML's decoder reads, Split divides alike, and of what passes the door
// for streams kustomize leaves nothing out.
func TestDividedAlike(t *testing.T) {
	t.Parallel()
	kustomize := regexp.MustCompile(`\n---.*\n`) // of kio.ByteReader in kyaml 0.21
	words := []string{
		"---", "...", "---", "\n", "\n", "\n", " ", "\t", "\r\n", "\r", "\u0085", "\u2028", "# x",
		"a: 1", "b: 2", "{c: 3}", "- d", "|", "\"e\"", "--- ", "---f", "\"\n", "'", " g",
	}
	random := rand.New(rand.NewPCG(1, 2))
	read, passed := 0, 0
	for range 30_000 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(words[random.IntN(len(words))])
		}
		stream := b.String()
		whole, ok := all(stream)
		if !ok || !bytes.Contains([]byte(stream), []byte(":")) {
			continue
		}
		read++
		require.Equal(t, whole, each(split(stream)), "%q", stream)
		if yamltext.Addon.Check([]byte(stream)) != nil || strings.Contains(stream, "\r\r") {
			continue
		}
		passed++
		// It replaces the ends of lines of Windows before.
		text := "\n" + strings.ReplaceAll(stream, "\r\n", "\n") + "\n"
		got := each(kustomize.Split(strings.TrimSuffix(text, "\n"), -1))
		got = slices.DeleteFunc(got, func(value string) bool { // it says so
			return strings.HasPrefix(value, "not YAML")
		})
		require.Equal(t, whole, got, "%q", stream)
	}
	require.Greater(t, read, 1000)
	require.Greater(t, passed, 250)
}

// TestUnclearEnd: a document behind a line of ... is refused, whatever follows.
func TestUnclearEnd(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stream string
		line   int // of the excess; 0 is none
	}{
		"at the end":             {"a: 1\n...\nb: 2\n", 2},
		"before another":         {"a: 1\n...\nb: 2\n---\nc: 3\n", 2},
		"behind a comment":       {"a: 1\n...\n# x\nb: 2\n---\nc: 3\n", 2},
		"behind another":         {"a: 1\n---\nb: 2\n...\nc: 3\n", 4},
		"a comment alone":        {"a: 1\n...\n# x\n\n---\nb: 2\n", 0},
		"nothing":                {"a: 1\n...\n", 0},
		"many, and nothing else": {"a: 1\n" + strings.Repeat("...\n", 200_000), 0},
	} {
		e := yamltext.Resource.Find([]byte(row.stream))
		if row.line == 0 {
			require.Nil(t, e, name)
			continue
		}
		require.NotNil(t, e, name)
		require.Equal(t, row.line, e.Line, name)
		require.Contains(t, e.Message, "a document begins behind a line of ...", name)
	}
}

// TestSecondValue: what a parser would not read is refused: a value behind another one, and text
// that is not UTF-8.
func TestSecondValue(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stream, want string
	}{
		"JSON behind JSON":      {"{a: 1}\n{b: 2}\n", "the document that begins here is two"},
		"in one line":           {"{a: 1} {b: 2}\n", "the document that begins here is two"},
		"behind a comment":      {"# x\n\n# y\n{a: 1}\n{b: 2}\n", "the document that begins here"},
		"in another document":   {"a: 1\n---\n{a: 1}\n{b: 2}\n", "the document that begins here"},
		"behind a tag":          {"!!map {a: 1}\n{b: 2}\n", "the document that begins here is two"},
		"UTF-16":                {"\xff\xfea\x00:\x00 \x001\x00\n\x00", "the file is not UTF-8"},
		"one value":             {"{a: 1}\n", ""},
		"one value, a comment":  {"# x\n{a: 1} # y\n# z\n", ""},
		"a key in quotes":       {"\"a\": 1\nb: 2\n", ""},
		"two, with a separator": {"{a: 1}\n---\n{b: 2}\n", ""},
		"comments alone":        {"# x\n---\n# y\n", ""},
	} {
		e := yamltext.Addon.Find([]byte(row.stream))
		if row.want == "" {
			require.Nil(t, e, name)
			continue
		}
		require.NotNil(t, e, name)
		require.Contains(t, e.Message, row.want, name)
	}
	e := yamltext.Addon.Find([]byte("a: 1\n---\n{a: 1}\n{b: 2}\n"))
	require.Equal(t, 3, e.Line)
}

// TestDivision: no reader that divides a text in its own way gets a part that was not counted.
func TestDivision(t *testing.T) {
	t.Parallel()
	kustomize := regexp.MustCompile(`\n---.*\n`) // of kio.ByteReader in kyaml 0.21
	bomb := "a: &a " + strings.Repeat("x", 100_000) + "\n" + strings.Repeat("? *a\n", 30)
	for _, text := range []string{
		"z: \"\n---bar\n" + bomb + "x: #\"\n", "--- |\n " + strings.ReplaceAll(bomb, "\n", "\n "),
		"a: |\n x\n---\t|\n " + strings.ReplaceAll(bomb, "\n", "\n "), "---\r\n" + bomb,
		"a\r---\n" + bomb, "a\u2028---\u2028" + bomb, "---#\n" + bomb, "\ufeff---\n" + bomb,
	} {
		divisions := [][]string{kustomize.Split(text, -1), strings.Split(text, "\n---")}
		for _, doc := range yamltext.Split([]byte(text)) {
			divisions = append(divisions, []string{string(doc)})
		}
		for _, part := range slices.Concat(divisions...) {
			if yamltext.Object.Check([]byte(part)) != nil {
				require.Error(t, yamltext.Object.Check([]byte(text)), "%.40q", text)
			}
		}
	}
}

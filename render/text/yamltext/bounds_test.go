package yamltext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// numbered returns a format with each number from 0 on, n times.
func numbered(n int, format string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

// aliases is a map of n aliases of a string.
func aliases(n, length int) string {
	return "a: &a " + strings.Repeat("x", length) + "\n" + numbered(n, "b%d: *a\n")
}

// doubled is n lists, each of which has the one before it nine times.
func doubled(n int) string {
	text := "l0: &l0 [x]\n"
	for i := 1; i < n; i++ {
		text += fmt.Sprintf("l%d: &l%d [%s*l%d]\n", i, i,
			strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 8), i-1)
	}
	return text
}

// TestFind: each bound holds, the last thing within it is allowed, and the place is that of the
// excess.
func TestFind(t *testing.T) {
	t.Parallel()
	small := Use{Documents: 3, Values: 1000, Keys: 500, Elements: 450, Added: 1000, Levels: 200}
	brackets := func(n int) string {
		return "a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n"
	}
	for _, row := range []struct {
		name, text, want string
	}{
		{"levels", brackets(199), ""},
		{"a level more", "b: c\n---\n" + brackets(200), "3:1: more than 200 levels"},
		{"levels in maps", "\n" + strings.Repeat("{a: ", 250) + strings.Repeat("}", 250),
			"2:201: more than 200 levels"},
		{"levels of dashes", strings.Repeat("- ", 200) + "a", "1:1: more than 200 levels"},
		{"levels that the parser refuses", "a: b\nc: " + strings.Repeat("[", 20_000),
			"2:1: more than 200 levels"},
		{"levels that the parser refuses in the first line", strings.Repeat("- ", 20_000),
			"1:1: more than 200 levels"},
		{"documents", "a\n---\nb\n---\nc", ""},
		{"a document more", "a\n---\nb\n---\nc\n---\n", "6:1: more than 3 documents"},
		{"values", "[" + strings.Repeat("a,", 1000) + "]", ""},
		{"a value more", "[" + strings.Repeat("a,", 1001) + "]", "1:2002: more than 1000 values"},
		{"keys", numbered(500, "a%d: b\n"), ""},
		{"a key more", numbered(501, "a%d: b\n"), "1:1: a map of 501 keys"},
		{"elements", "a:\n" + numbered(450, "- {b: %d}\n"), ""},
		{"an element more", "a:\n" + numbered(451, "- {b: %d}\n"), "2:1: a list of 451 maps"},
		{"strings in a list", "a:\n" + numbered(600, "- b%d\n"), ""},
		{"bytes of aliases", aliases(10, 100), ""},
		{"a byte more", aliases(10, 101), "11:5: aliases stand for 1010 bytes up to here; " +
			"at most 1000; write the values out"},
		{"values of aliases", doubled(9), "4:30: aliases stand for 1049 values up to here"},
		{"an anchor without use", "a: &a " + strings.Repeat("x", 2000), ""},
		{"a merge of maps", "a: &a {b: " + strings.Repeat("x", 600) + "}\nc: {<<: *a}\nd: {<<: *a}",
			"3:9: aliases stand for 1202 bytes"},
		{"a circle", "a: &a {b: *a}", "1:11: an alias stands for a value that contains itself"},
		{"a tiny number", "a: b\nc: \"1e-999999999\"", "2:4: a number with so many digits"},
		{"a long number", "a: " + strings.Repeat("9", 10_001), "1:4: a number with so many digits"},
		{"other numbers", "a: 1e-300\nb: 1e999999999\nc: 12e-12-34\nd: a1e-9999", ""},
		{"a small text that is not YAML", "a: [", ""},
		{"behind what is not YAML", "a: [\n---\n" + aliases(10, 101), "13:5: aliases"},
		{"not YAML behind aliases", aliases(200, 100) + "...\n@\n", "203:1: a value that begins"},
		{"an unknown anchor", aliases(10, 1) + "c: *hunter2\n",
			"1:1: the file is not valid YAML; correct it"},
		{"a tiny number before what is not YAML", "n: 1e-999999999\nz: \"foo\n---bar\"\n",
			"2:4: the quote is not closed"},
		{"a string that some divide", aliases(2, 1) + "z: |\n a\n---bar\n",
			"6:1: a line of --- has more than a comment behind it"},
		{"a comment behind dashes", "a: *a\n--- # b\n---\t\n", "1:1: the file is not valid"},
		{"no value behind dashes", "a: &a b\nb: *a\n--- # b\na: b\n---\t\r\n", ""},
		{"a string behind dashes", "--- |\n a: &a [x]\n b: *a\n", "1:1: a line of --- has more"},
		{"no comment behind dashes", "a: *a\n---# b\n", "1:1: "},
		{"a text in UTF-16", "\xff\xfe" + strings.ReplaceAll(strings.Repeat("- ", 900)+"a", "",
			"\x00")[1:], ": more than 200 levels"},
		{"JSON", `{"a": [` + strings.Repeat("1,", 1001) + "1]}", "1:2006: more than 1000 values"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := small.Check([]byte(row.text))
			if row.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, row.want)
		})
	}
	require.ErrorContains(t, Object.Check([]byte(strings.Repeat("a: b\n", 5<<20))),
		"1:1: 26214400 bytes are more than can be read; at most 24 MiB")
	require.ErrorContains(t, Object.Check([]byte("["+strings.Repeat("1,", maxMarks))),
		"1:1: the document has about 600001 lines and elements of lists")
}

// TestUnread: what the parser cannot read to its end switches no bound off, wherever it stops.
func TestUnread(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{
		"@\n", "...\n@\n", "...\n\t", "...\n%", "\r---\t\"\n\t", "z: \"foo\n---bar\"\n",
		"--- \"\n\t", "c: *hunter2\n",
	} {
		for name, text := range map[string]string{
			"bytes": aliases(30, 100_000), "values": doubled(9), "number": "n: 1e-999999999\n",
			"levels": strings.Repeat("[", 500) + strings.Repeat("]", 500) + "\n",
		} {
			for _, use := range []Use{Object, Bundle} {
				require.Error(t, use.Check([]byte(text+tail)), "%s %q", name, tail)
				err := use.Check([]byte(tail + text))
				require.Error(t, err, "%q %s", tail, name)
				require.NotContains(t, err.Error(), "hunter2")
			}
		}
	}
}

// TestNoAlias: a use that allows no added bytes takes no alias, however little it stands for.
func TestNoAlias(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"{}", `""`, "[]", "", "b"} {
		require.EqualError(t, Bundle.Check([]byte("a: &a "+value+"\nb: *a")),
			"2:4: an alias; write the value in its place", value)
	}
}

// TestLineBreaks: each line break of YAML counts once.
func TestLineBreaks(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029"} {
		require.Equal(t, 3, countMarks([]byte(strings.Repeat("-"+end, 3))), "%q", end)
		require.False(t, isSmall([]byte("a:"+end+strings.Repeat("- ", 40)+"b")), "%q", end)
		require.ErrorContains(t, Object.Check([]byte(strings.Repeat("-"+end, maxMarks+1))),
			"1:1: the document has about 600001 lines")
	}
}

// TestCount: the size of what aliases stand for is that of the document with each alias written
// out, and it ends before numbers do.
func TestCount(t *testing.T) {
	t.Parallel()
	c := &count{use: Use{Values: most, Added: most, Levels: 200}, sizes: map[*yaml.Node]size{}}
	var root yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(doubled(5)), &root))
	s := c.node(root.Content[0])
	require.Nil(t, c.excess)
	// Each list is 1 more than nine times the one before.
	require.Equal(t, int64(1+2+19+172+1549+13942), s.values)
	require.Equal(t, int64(1+9+81+729+6561+5*len("l0")), s.bytes)

	require.NoError(t, yaml.Unmarshal([]byte(doubled(60)), &root))
	c = &count{use: Use{Values: most, Added: most, Levels: 200}, sizes: map[*yaml.Node]size{}}
	require.Equal(t, int64(most), c.node(root.Content[0]).values)
}

// TestReal: texts like those that people bring are within the bounds.
func TestReal(t *testing.T) {
	t.Parallel()
	var definition strings.Builder
	definition.WriteString("kind: CustomResourceDefinition\nspec:\n  properties:\n")
	for i := range 400 { // a definition of 1 MiB
		fmt.Fprintf(&definition, "    p%d:\n      properties:\n", i)
		for j := range 25 {
			fmt.Fprintf(&definition, "        q%d:\n          description: %s\n"+
				"          type: string\n", j, strings.Repeat("word ", 12))
		}
	}
	require.Greater(t, definition.Len(), 1<<20)
	require.NoError(t, Object.Check([]byte(definition.String())))
	require.NoError(t, Resource.Check([]byte(definition.String())))
	require.NoError(t, Object.Check([]byte(strings.Repeat("---\n"+definition.String(), 8))),
		"a bundle of 8 MiB")
	require.NoError(t, Object.Check([]byte("data:\n  a: \""+strings.Repeat("1,", 250_000)+"\"")))
	require.NoError(t, Patch.Check([]byte("spec:\n  containers:\n  - env:\n"+
		numbered(500, "    - {name: A%d, value: b}\n"))))
	require.NoError(t, Butane.Check([]byte("storage:\n  files:\n"+
		numbered(500, "  - {path: /a%d, contents: {inline: b}}\n"))))
}

// TestSmall: a text that is let through without a parser has no excess.
func TestSmall(t *testing.T) {
	t.Parallel()
	require.True(t, isSmall([]byte("a: [b]\n")))
	for _, text := range []string{
		"*", strings.Repeat("[", smallDepth+1), strings.Repeat("- ", smallDepth/2+1) + "a",
		"a: 1e-999", strings.Repeat("a", smallBytes+1), strings.Repeat("a\n", smallMarks+1),
	} {
		require.False(t, isSmall([]byte(text)), text)
	}
	for _, use := range []Use{Object, Resource, Patch, Butane} {
		require.Less(t, smallMarks, use.Keys)
		require.Less(t, 2*smallDepth+smallDepth, maxLevels)
	}
}

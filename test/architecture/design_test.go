package architecture

import (
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the table of wings in docs/design.md")

// TestDesign: the table of wings in docs/design.md has each package with the first sentence of its
// comment. With -update it writes the table.
func TestDesign(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/design.md", "| wing | folder | |\n|---|---|---|\n", "\n\n"
	var rows strings.Builder
	rooms := measure(t)
	slices.SortFunc(rooms, func(a, b room) int { return strings.Compare(a.path, b.path) })
	for i, w := range wings {
		name := "`" + w.name + "`"
		for _, r := range rooms {
			if wingOf(r.path) != i {
				continue
			}
			fmt.Fprintf(&rows, "| %s | `%s` | %s |\n", name, r.path, says(t, r))
			name = ""
		}
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "%s has no table of wings", page)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s ends with the table of wings", page)
	want := before + begin + strings.TrimSuffix(rows.String(), "\n") + end + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "go test ./test/architecture -run TestDesign -update")
}

// says returns the first sentence of a package's comment, without the package's name.
func says(t *testing.T, r room) string {
	t.Helper()
	for _, name := range r.files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(r.dir, name), nil,
			parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		if file.Doc == nil {
			continue
		}
		sentence := new(doc.Package).Synopsis(file.Doc.Text())
		for _, begin := range []string{
			"Package " + file.Name.Name + " ", "Command kiln ",
		} {
			sentence = strings.TrimPrefix(sentence, begin)
		}
		return strings.ReplaceAll(strings.TrimSuffix(sentence, "."), "|", `\|`)
	}
	t.Errorf("%s has no comment", r.path)
	return ""
}

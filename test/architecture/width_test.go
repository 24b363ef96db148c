package architecture

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// maxWidth is the most columns that a line may have; a tab counts as tabWidth.
const (
	maxWidth = 100
	tabWidth = 4
)

// wide lists the folders that still have lines of more columns. A folder without such lines must be
// taken off the list, so that it stays that way.
var wide = []string{
	"docs",
	"manifests/objects",
	"templates/boot",
	"test/boot",
}

// TestWidth: no line of a source is wider than maxWidth, but for the folders that are not yet done.
func TestWidth(t *testing.T) {
	t.Parallel()
	found := map[string][]string{} // wide lines by folder
	root := filepath.Join("..", "..")
	visit := func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == ".git" || name == "bin" || e.Name() == "testdata" ||
			name == "nodes" || name == "review"): // make example writes these
			return fs.SkipDir
		case !e.Type().IsRegular() || !counts(name) || strings.HasSuffix(name, ".secrets.yaml"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil && !generated.Match(text) {
			folder := path.Dir(name)
			found[folder] = append(found[folder], wideLines(name, string(text))...)
		}
		return err
	}
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", visit))
	require.Greater(t, len(found), 30, "folders")
	for _, folder := range wide {
		if len(found[folder]) == 0 {
			t.Errorf("%s has no wide line: take it off the list wide", folder)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		if slices.Contains(wide, folder) {
			continue
		}
		for _, line := range found[folder] {
			t.Errorf("%s, want at most %d", line, maxWidth)
		}
	}
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// counts reports whether a file is one that people read as a source: Go, shell, Markdown, YAML, the
// Makefile, a unit of systemd.
func counts(name string) bool {
	switch path.Ext(name) {
	case ".go", ".sh", ".md", ".yaml", ".yml", ".service", ".timer", ".socket":
		return true
	case ".conf": // a drop-in
		return strings.HasSuffix(path.Dir(name), ".d")
	}
	return name == "Makefile" || path.Dir(name) == ".ci" || path.Dir(name) == "templates/boot" ||
		strings.HasPrefix(name, "test/boot/rootfs/etc/initramfs-tools/scripts/")
}

// wideLines returns the place and width of each line that is too wide and could be broken.
func wideLines(name, text string) (out []string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		width := utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
		if width > maxWidth && !unbreakable(name, line) {
			out = append(out, fmt.Sprintf("%s:%d: %d columns", name, n, width))
		}
	}
	return out
}

var (
	// onlyURL is a line with nothing but a URL, in a comment, a list or quotes.
	onlyURL = regexp.MustCompile(`^[\s/#*>-]*["'<]?https?://[^\s]+$`)
	// onlyImport is a line of Go with nothing but the path of a package.
	onlyImport = regexp.MustCompile(`^\t([a-z0-9]+ )?"[^" ]+"$`)
	// onlyLink is a line of Markdown with nothing but a link, or the definition of one.
	onlyLink = regexp.MustCompile(`^[\s*-]*\[[^\]]*\](\([^)\s]*\)[.,;:]?|: +\S+)$`)
)

// unbreakable reports whether a wide line may stay: a URL or an import alone, and in Markdown a row
// of a table or a link alone.
func unbreakable(name, line string) bool {
	if onlyURL.MatchString(line) || path.Ext(name) == ".go" && onlyImport.MatchString(line) {
		return true
	}
	row := strings.HasPrefix(strings.TrimSpace(line), "|")
	return path.Ext(name) == ".md" && (row || onlyLink.MatchString(line))
}

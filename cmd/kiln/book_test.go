package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const docsIndex = "../../docs/README.md"

// TestDocsIndex: every page of docs/ is linked from docs/README.md, and begins with a title and a
// paragraph, which says for whom the page is.
func TestDocsIndex(t *testing.T) {
	t.Parallel()
	index := read(t, docsIndex)
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		name := filepath.Base(page)
		if page != docsIndex {
			require.Contains(t, index, "]("+name+")", "docs/README.md leads to every page")
		}
		require.Regexp(t, `^# .+\n\n([^\n]+\n)+`, firstWords(read(t, page)), name)
	}
}

// firstWords is a page without the comment that says how it is generated.
func firstWords(page string) string {
	return regexp.MustCompile(`(?s)<!--.*?-->\n\n`).ReplaceAllString(page, "")
}

// TestLinks: every relative link in a Markdown file leads to a file or folder of the repository,
// and its anchor to a heading there.
func TestLinks(t *testing.T) {
	t.Parallel()
	followed := 0
	for _, page := range markdownFiles(t) {
		for _, link := range links(read(t, page)) {
			if strings.Contains(link, ":") {
				continue // another site's
			}
			followed++
			file, anchor, hasAnchor := strings.Cut(link, "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", page, link)
			if hasAnchor {
				require.Contains(t, anchors(read(t, target)), anchor, "%s links to %s", page, link)
			}
		}
	}
	require.Greater(t, followed, 50)
}

// markdownFiles returns every Markdown file of the repository, test data excepted.
func markdownFiles(t *testing.T) (files []string) {
	t.Helper()
	visit := func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".git")):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md"):
			files = append(files, name)
		}
		return nil
	}
	require.NoError(t, filepath.WalkDir("../..", visit))
	return files
}

var (
	codeBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inlineLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	namedLink   = regexp.MustCompile(`(?m)^\[[^]]+\]: (\S+)$`)
	pictureLink = regexp.MustCompile(`(?:src|srcset)="([^"]+)"`)
	heading     = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// links returns the target of every link and picture of a page.
func links(page string) (targets []string) {
	page = codeBlock.ReplaceAllString(page, "")
	for _, form := range []*regexp.Regexp{inlineLink, namedLink, pictureLink} {
		for _, m := range form.FindAllStringSubmatch(page, -1) {
			targets = append(targets, m[1])
		}
	}
	return targets
}

// anchors returns the anchors that code forges give to the headings of a page: lower case, hyphens
// for blanks, and no other punctuation.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestPaths: each file and folder of the repository that docs/design.md and docs/extending.md name
// exists. A path may be a pattern, and a word in capitals stands for any name.
func TestPaths(t *testing.T) {
	t.Parallel()
	anyName := regexp.MustCompile(`\b[A-Z]+\b`)
	for _, page := range []string{"design.md", "extending.md"} {
		named := 0
		text := codeBlock.ReplaceAllString(read(t, "../../docs/"+page), "")
		for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
			found, err := filepath.Glob("../../" + anyName.ReplaceAllString(m[1], "*"))
			require.NoError(t, err)
			require.NotEmpty(t, found, "docs/%s names %s, which does not exist", page, m[1])
			named++
		}
		require.Greater(t, named, 20, page)
	}
}

// codeSpan matches the path of a file or folder in backquotes, from the root of the repository. A
// path that begins with a slash is one of a machine.
var codeSpan = regexp.MustCompile("`([A-Za-z0-9_.*-]+/[A-Za-z0-9_.*/-]*)`")

// TestGlossary: the glossary has at most thirty terms, in alphabetical order, one line each.
func TestGlossary(t *testing.T) {
	t.Parallel()
	var terms []string
	for line := range strings.Lines(read(t, "../../docs/glossary.md")) {
		if rest, ok := strings.CutPrefix(line, "- **"); ok {
			term, meaning, _ := strings.Cut(rest, "**: ")
			require.Regexp(t, `^\S.*\.\n$`, meaning, term)
			terms = append(terms, term)
		}
	}
	require.True(t, slices.IsSorted(terms), "%q", terms)
	require.NotEmpty(t, terms)
	require.LessOrEqual(t, len(terms), 30)
}

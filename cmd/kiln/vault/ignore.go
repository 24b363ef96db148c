package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/render/folder"
)

// ignoreFile is the file that tells git what not to track.
const ignoreFile = ".gitignore"

// maxIgnore bounds what is read of a .gitignore.
const maxIgnore = 1 << 20

// pattern returns the line of a .gitignore that covers one path below its folder, and nothing else.
func pattern(place string, isFolder bool) string {
	var b strings.Builder
	b.WriteByte('/')
	for i := range len(place) {
		lastBlank := place[i] == ' ' && i == len(place)-1 && !isFolder
		if lastBlank || strings.IndexByte(`\*?[`, place[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(place[i])
	}
	if isFolder {
		b.WriteByte('/')
	}
	return b.String()
}

// isIgnored reports whether the .gitignore files from top down to a path cover the path itself or a
// folder above it. Where it does not know, it says no. It does not read .git/info/exclude and
// core.excludesFile: the first belongs to one checkout, the second to one person.
func isIgnored(top, place string, isFolder bool) bool {
	parts := strings.Split(place, "/")
	for i := range parts {
		ignored := false
		for from := range parts[:i+1] {
			dir := filepath.Join(top, filepath.Join(parts[:from]...))
			rules, err := readIgnore(filepath.Join(dir, ignoreFile))
			if err != nil {
				continue
			}
			below := strings.Join(parts[from:i+1], "/")
			ignored = covers(rules, below, isFolder || i < len(parts)-1, ignored)
		}
		if ignored {
			return true
		}
	}
	return false
}

// readIgnore reads a .gitignore. Like git, it follows no link.
func readIgnore(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file, and left alone", name)
	}
	return folder.Read(name, maxIgnore)
}

// covers reports whether the rules of a .gitignore ignore a path below its folder. The last rule
// that matches the path decides; without one, the answer is before. A rule that makes git track a
// path counts if it may match: kiln adds a line of its own then, which comes last.
func covers(rules []byte, place string, isFolder, before bool) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(rules, []byte("\ufeff"))) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		line, _, _ = bytes.Cut(line, []byte{0}) // as git does
		rule, tracks := strings.CutPrefix(withoutBlanks(string(line)), "!")
		if rule == "" || rule[0] == '#' && !tracks {
			continue
		}
		rule, folders := strings.CutSuffix(rule, "/")
		if folders && !isFolder {
			continue
		}
		switch {
		case tracks && mayMatch(rule, place):
			before = false
		case !tracks && matches(rule, place):
			before = true
		}
	}
	return before
}

// withoutBlanks returns a line without the blanks at its end. An escaped blank belongs to the name.
func withoutBlanks(line string) string {
	bare := strings.TrimRight(line, " ")
	if strings.HasSuffix(bare, `\`) && bare != line {
		return bare + " "
	}
	return bare
}

// matches reports whether a rule matches a path, as far as kiln knows the patterns of git.
func matches(rule, place string) bool {
	rule = strings.ReplaceAll(rule, "[!", "[^") // path.Match writes it so
	if !strings.Contains(rule, "/") {
		place = path.Base(place)
	}
	ok, err := path.Match(strings.TrimPrefix(rule, "/"), place)
	return err == nil && ok
}

// mayMatch reports whether git may match a path by a rule: kiln does not know all of its patterns,
// and in some work trees git takes upper case for lower case.
func mayMatch(rule, place string) bool {
	return strings.Contains(rule, "**") || strings.ContainsAny(rule, `[\`) ||
		matches(strings.ToLower(rule), strings.ToLower(place))
}

// missingLines returns the lines that are not in a .gitignore already, after the last rule that
// makes git track something.
func missingLines(name string, lines []string) (out []string) {
	rules, _ := readIgnore(name) // addLines says what is wrong with it
	there := strings.Split(string(rules), "\n")
	for i := range slices.Backward(there) {
		if strings.HasPrefix(there[i], "!") {
			there = there[i:]
			break
		}
	}
	for _, line := range lines {
		if !slices.Contains(there, line) {
			out = append(out, line)
		}
	}
	return out
}

// addLines adds lines to the end of a .gitignore, or makes the file.
func addLines(name string, lines []string) error {
	old, err := readIgnore(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content := bytes.Clone(old)
	if len(content) > 0 && content[len(content)-1] != '\n' {
		content = append(content, '\n')
	}
	content = append(content, strings.Join(lines, "\n")+"\n"...)
	return folder.Write(folder.File{
		Path: name, Mode: 0o644,
		Ours: func(there []byte) bool { return bytes.Equal(there, old) },
	}, content)
}

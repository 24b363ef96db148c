package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kiln/render/folder"
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
// folder above it. It knows git's patterns except **. It does not read .git/info/exclude and
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
// that matches the path decides; without one, the answer is before.
func covers(rules []byte, place string, isFolder, before bool) bool {
	for line := range strings.Lines(string(rules)) {
		line = strings.TrimRight(line, "\r\n")
		if bare := strings.TrimRight(line, " "); strings.HasSuffix(bare, `\`) && bare != line {
			line = bare + " " // an escaped blank belongs to the name
		} else {
			line = bare
		}
		if line == "" || line[0] == '#' {
			continue
		}
		line = strings.ReplaceAll(line, "[!", "[^") // path.Match writes it so
		line, tracks := strings.CutPrefix(line, "!")
		line, folders := strings.CutSuffix(line, "/")
		if folders && !isFolder {
			continue
		}
		name := place
		if !strings.Contains(line, "/") {
			name = path.Base(place)
		}
		if ok, err := path.Match(strings.TrimPrefix(line, "/"), name); err == nil && ok {
			before = !tracks
		}
	}
	return before
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

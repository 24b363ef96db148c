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

// pattern is the line for a path below the folder of a .gitignore: exactly this one.
func pattern(place string, isFolder bool) string {
	var b strings.Builder
	b.WriteByte('/')
	for i := range len(place) {
		if strings.IndexByte(`\*?[`, place[i]) >= 0 || place[i] == ' ' && i == len(place)-1 && !isFolder {
			b.WriteByte('\\')
		}
		b.WriteByte(place[i])
	}
	if isFolder {
		b.WriteByte('/')
	}
	return b.String()
}

// isIgnored reports whether the .gitignore files from top down to a path cover it: by the path
// itself, or by a folder above it. It knows git's patterns but for **. It does not read
// .git/info/exclude and core.excludesFile, which are of one checkout or one person.
func isIgnored(top, place string, isFolder bool) bool {
	parts := strings.Split(place, "/")
	for i := range parts {
		hit := false
		for from := range parts[:i+1] {
			if text, err := readIgnore(filepath.Join(top, filepath.Join(parts[:from]...), ignoreFile)); err == nil {
				hit = matched(text, strings.Join(parts[from:i+1], "/"), isFolder || i < len(parts)-1, hit)
			}
		}
		if hit {
			return true
		}
	}
	return false
}

// readIgnore reads a .gitignore. Like git it follows no link.
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

// matched reports whether the last line of a .gitignore that matches a path below its folder
// ignores it; before is the answer if none does.
func matched(text []byte, place string, isFolder, before bool) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if bare := strings.TrimRight(line, " "); strings.HasSuffix(bare, `\`) && bare != line {
			line = bare + " " // the blank is escaped: it belongs to the name
		} else {
			line = bare
		}
		if line == "" || line[0] == '#' {
			continue
		}
		line = strings.ReplaceAll(line, "[!", "[^") // as path.Match writes it
		line, again := strings.CutPrefix(line, "!")
		line, folders := strings.CutSuffix(line, "/")
		name := place
		if !strings.Contains(line, "/") {
			name = path.Base(place)
		}
		if ok, err := path.Match(strings.TrimPrefix(line, "/"), name); err == nil && ok && (isFolder || !folders) {
			before = !again
		}
	}
	return before
}

// addLines adds lines to a .gitignore, or begins one. What is in it stays.
func addLines(name string, lines []string) error {
	old, err := readIgnore(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := bytes.Clone(old)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	text = append(text, strings.Join(lines, "\n")+"\n"...)
	return folder.Write(folder.File{
		Path: name, Mode: 0o644, What: "the file that was read", Flag: "--config",
		Ours: func(there []byte) bool { return bytes.Equal(there, old) },
	}, text)
}

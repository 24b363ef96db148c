package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kiln/cmd/kiln/git"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/paths"
	"kiln/render/folder"
)

// ignoreFile is the file that tells git what not to track.
const ignoreFile = ".gitignore"

// maxIgnore bounds what is read of one.
const maxIgnore = 1 << 20

// ignored is a file or folder with secrets, as the command line names it.
type ignored struct {
	name     string
	isFolder bool
}

// keepOutOfGit adds what holds secrets to the .gitignore in the folder dir, as far as it lies below
// that folder and in the same git work tree, and tells what it did. What lies in a work tree
// otherwise, or is tracked by git already, is told too. It never fails. The secrets are safe on
// disk; only a later git add would publish them.
func keepOutOfGit(messages io.Writer, dir string, secrets ...ignored) {
	base := paths.Resolve(dir)
	var lines, shown []string
	for _, s := range secrets {
		if s.isFolder && !paths.Absent(filepath.Join(s.name, ".git")) {
			message.Printf(messages, "kiln: %s holds secrets and is a git work tree; name a folder of their own\n", s.name)
		}
		top, place := s.workTree()
		if place == "" || isIgnored(top, place, s.isFolder) {
			continue
		}
		if beside, ok := paths.Inside(base, s.name); ok && workTree(base) == top {
			if line := pattern(beside, s.isFolder); !wanted(base, line) {
				lines, shown = append(lines, line), append(shown, line)
			}
			continue
		}
		message.Printf(messages, "kiln: %s holds secrets and lies in a git work tree; add %s to %s\n",
			s.name, pattern(place, s.isFolder), filepath.Join(top, ignoreFile))
	}
	if len(shown) > message.MaxNamed {
		shown = append(shown[:message.MaxNamed:message.MaxNamed], fmt.Sprintf("%d more", len(shown)-message.MaxNamed))
	}
	if len(lines) > 0 {
		name := filepath.Join(dir, ignoreFile)
		if err := addLines(name, lines); err != nil {
			message.Printf(messages, "kiln: %s; add %s yourself, which hold secrets\n", err, strings.Join(shown, " and "))
		} else {
			message.Printf(messages, "kiln: %s: added %s, so that git does not track secrets\n", name, strings.Join(shown, " and "))
		}
	}
	here := workTree(paths.Resolve("."))
	for _, s := range secrets {
		top, place := s.workTree()
		if place == "" || !tracked(top, place) {
			continue
		}
		remove := "git rm -r --cached " + s.name
		if top != here {
			remove = fmt.Sprintf("git -C %s rm -r --cached %s", top, place)
		}
		message.Printf(messages, "kiln: git tracks %s, which holds secrets, whatever %s says; "+
			"run: %s, and take it out of the history\n", s.name, ignoreFile, remove)
	}
}

// workTree returns the work tree that a file or folder with secrets lies in, and its path in there
// with slashes; both are empty if it lies in none.
func (s *ignored) workTree() (top, place string) {
	if top = workTree(filepath.Dir(paths.Resolve(s.name))); top == "" {
		return "", ""
	}
	place, ok := paths.Inside(top, s.name)
	if !ok {
		return "", ""
	}
	return top, place
}

// wanted reports whether the .gitignore in a folder says with a line of its own that git is to track
// what a pattern names: that was somebody's decision.
func wanted(dir, pattern string) bool {
	text, err := readIgnore(filepath.Join(dir, ignoreFile))
	return err == nil && slices.Contains(strings.Split(string(text), "\n"), "!"+pattern)
}

// workTree returns the folder of the git work tree that dir is in; empty if it is in none. Its .git
// is a folder, or a file in a linked work tree.
func workTree(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

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

// tracked reports whether git has a path, or something below it, in its index. It returns false if
// git fails.
func tracked(top, place string) bool {
	// No setting of the work tree may make git run another program.
	args := []string{"-C", top, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
	args = append(args, "ls-files", "-z", "--", ":(top,literal)"+place)
	out, err := git.Command(args...).Output() // ls-files runs nothing else
	return err == nil && len(out) > 0
}

package vault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

// SecretFile is a file or folder with secrets, as the command line names it.
type SecretFile struct {
	Name   string
	Folder bool
	Read   bool // kiln only reads it, and never leaves it half-written
}

// halfWritten is the line of a .gitignore that covers what a killed run leaves of a file.
const halfWritten = "*" + folder.Suffix

// KeepOutOfGit adds secrets to a .gitignore, as far as they lie in the git work tree of the folder
// dir: to that in dir if they are below dir, and else to that at the top of the work tree. It also
// adds a line for what a killed run leaves of a file. It returns a note for each thing that it did.
// It also returns a note for each secret that it could not keep out, because the secret lies in
// another work tree, git tracks it already, or a line for just this secret tells git to track it:
// somebody decided that, who may be the author of a pull request. It never fails: the secrets are
// safe on disk, and only a later git add would publish them.
func KeepOutOfGit(dir string, secrets ...SecretFile) (notes []string) {
	base := term.ResolvePath(dir)
	root := workTree(base)
	beside := &rules{name: filepath.Join(dir, ignoreFile)}
	above := &rules{name: term.ShortPath(filepath.Join(root, ignoreFile))}
	for _, s := range secrets {
		if s.Folder && !term.AbsentPath(filepath.Join(s.Name, ".git")) {
			notes = append(notes, s.Name+" holds secrets and is a git work tree; "+
				"name a folder of their own")
		}
		top, place := s.workTree()
		if place == "" {
			continue
		}
		ignored := isIgnored(top, place, s.Folder)
		if root != top {
			if !ignored {
				notes = append(notes, fmt.Sprintf("%s holds secrets and lies in a git work "+
					"tree; add %s to %s", s.Name, pattern(place, s.Folder),
					filepath.Join(top, ignoreFile)))
			}
			continue
		}
		list, line := above, pattern(place, s.Folder)
		if name, ok := term.PathInside(base, s.Name); ok {
			list, line = beside, pattern(name, s.Folder)
		}
		if at := wantedBy(filepath.Dir(list.name), line); at > 0 && !ignored {
			notes = append(notes, fmt.Sprintf("git will track %s, which holds secrets, because "+
				"%s:%d says so: !%s. If you did not decide that, remove the line, and look who "+
				"wrote it", s.Name, list.name, at, line))
			continue
		}
		if !ignored {
			list.lines = append(list.lines, line)
		}
		if !s.Folder && !s.Read && !isIgnored(top, place+folder.Suffix, false) {
			list.halves = true
		}
	}
	for _, list := range []*rules{beside, above} {
		if list.halves {
			list.lines = append(list.lines, halfWritten)
		}
		if len(list.lines) > 0 {
			notes = append(notes, ignore(list.name, list.lines))
		}
	}
	return append(notes, trackedSecrets(secrets)...)
}

// rules are what a .gitignore lacks.
type rules struct {
	name   string
	lines  []string
	halves bool // no line covers what a killed run leaves of a file
}

// ignore adds lines to a .gitignore and returns the note about it.
func ignore(name string, lines []string) string {
	left := missingLines(name, lines)
	if len(left) == 0 {
		return fmt.Sprintf("%s has %s, and a %[3]s below it may make git track the secrets; look "+
			"with git check-ignore -v, and add the lines there", name, enumerate(lines), ignoreFile)
	}
	err := addLines(name, left)
	shown := enumerate(left)
	if err != nil {
		return fmt.Sprintf("%s; add %s yourself, which hold secrets", err, shown)
	}
	return fmt.Sprintf("%s: added %s, so that git does not track secrets", name, shown)
}

// enumerate returns lines as a sentence has them, without the last ones if they are many.
func enumerate(lines []string) string {
	if more := len(lines) - term.MaxNamed; more > 0 {
		lines = append(lines[:term.MaxNamed:term.MaxNamed], fmt.Sprintf("%d more", more))
	}
	last := len(lines) - 1
	if last == 0 {
		return lines[0]
	}
	return strings.Join(lines[:last], ", ") + " and " + lines[last]
}

// WarnTracked returns notes about files with secrets of the user's that git tracks or would take.
// The user decides whether git is to have them, with a line in the .gitignore of the folder dir:
// such a file may be needed where there is nothing but the repository.
func WarnTracked(dir string, secrets ...SecretFile) (notes []string) {
	base := term.ResolvePath(dir)
	var lines []string
	var left []SecretFile
	for _, s := range secrets {
		top, place := s.workTree()
		name, below := term.PathInside(base, s.Name)
		if place == "" || below && wantedBy(base, pattern(name, s.Folder)) > 0 {
			continue
		}
		left = append(left, s)
		line := pattern(name, s.Folder)
		if below && !isIgnored(top, place, s.Folder) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		what, it := "these lines, or each with ! in front of it", "them"
		if len(lines) == 1 {
			what, it = "this line, or !"+lines[0], "it"
		}
		notes = append(notes, fmt.Sprintf("%s does not cover %s, with secrets in %s: add %s if "+
			"git is to have %[3]s", filepath.Join(dir, ignoreFile), enumerate(lines), it, what))
	}
	return append(notes, trackedSecrets(left)...)
}

// trackedSecrets returns a note for each secret that git tracks, with the command that ends that.
func trackedSecrets(secrets []SecretFile) (notes []string) {
	here := workTree(term.ResolvePath("."))
	for _, s := range secrets {
		top, place := s.workTree()
		if place == "" || !isTracked(top, place) {
			continue
		}
		remove := "git rm -r --cached -- " + wording.ShellWord(s.Name)
		if top != here {
			remove = fmt.Sprintf("git -C %s rm -r --cached -- %s", wording.ShellWord(top),
				wording.ShellWord(place))
		}
		notes = append(notes, fmt.Sprintf("git tracks %s, which holds secrets, whatever %s says; "+
			"run: %s, and take it out of the history", s.Name, ignoreFile, remove))
	}
	return notes
}

// workTree returns the work tree that the secret lies in, and its path there with slashes. Both are
// empty if it lies in no work tree.
func (s *SecretFile) workTree() (top, place string) {
	if top = workTree(filepath.Dir(term.ResolvePath(s.Name))); top == "" {
		return "", ""
	}
	place, ok := term.PathInside(top, s.Name)
	if !ok {
		return "", ""
	}
	return top, place
}

// InWorkTree reports whether a file is there and lies in a git work tree.
func InWorkTree(name string) bool {
	return !term.AbsentPath(name) && workTree(filepath.Dir(term.ResolvePath(name))) != ""
}

// workTree returns the folder of the git work tree that dir lies in, or nothing. The .git of a work
// tree is a folder, or a file in a linked work tree.
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

// wantedBy returns the number of the line in the .gitignore of a folder that tells git to track the
// path of a pattern; 0 if there is none.
func wantedBy(dir, pattern string) int {
	content, err := readIgnore(filepath.Join(dir, ignoreFile))
	if err != nil {
		return 0
	}
	text := strings.ReplaceAll(string(content), "\r\n", "\n")
	return 1 + slices.Index(strings.Split(text, "\n"), "!"+pattern)
}

// maxTracked bounds the list of tracked paths, in bytes: one path is enough.
const maxTracked = 64 << 10

// isTracked reports whether git's index has a path, or something below it. It returns false if git
// fails.
func isTracked(top, place string) bool {
	// No setting of the work tree may make git run another program.
	args := []string{"-C", top, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
	args = append(args, "ls-files", "-z", "--", ":(top,literal)"+place)
	out, err := output(nil, maxTracked, args...) // ls-files runs nothing else
	return errors.Is(err, errTooMuch) || err == nil && len(out) > 0
}

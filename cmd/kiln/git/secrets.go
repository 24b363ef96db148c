package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/paths"
)

// Secret is a file or folder with secrets, as the command line names it.
type Secret struct {
	Name   string
	Folder bool
}

// KeepOut adds secrets to the .gitignore in the folder dir, as far as they lie below that folder
// and in the same git work tree. It returns a note for each thing that it did. It also returns a
// note for each secret that it could not keep out, because the secret lies elsewhere in a work tree
// or git tracks it already. It never fails: the secrets are safe on disk, and only a later git add
// would publish them.
func KeepOut(dir string, secrets ...Secret) (notes []string) {
	base := paths.Resolve(dir)
	var lines []string
	for _, s := range secrets {
		if s.Folder && !paths.Absent(filepath.Join(s.Name, ".git")) {
			notes = append(notes, s.Name+" holds secrets and is a git work tree; "+
				"name a folder of their own")
		}
		top, place := s.workTree()
		if place == "" || isIgnored(top, place, s.Folder) {
			continue
		}
		if beside, ok := paths.Inside(base, s.Name); ok && workTree(base) == top {
			if line := pattern(beside, s.Folder); !isWanted(base, line) {
				lines = append(lines, line)
			}
			continue
		}
		notes = append(notes, fmt.Sprintf("%s holds secrets and lies in a git work tree; "+
			"add %s to %s", s.Name, pattern(place, s.Folder), filepath.Join(top, ignoreFile)))
	}
	if len(lines) > 0 {
		notes = append(notes, ignore(filepath.Join(dir, ignoreFile), lines))
	}
	return append(notes, trackedSecrets(secrets)...)
}

// ignore adds lines to a .gitignore and returns the note about it.
func ignore(name string, lines []string) string {
	err := addLines(name, lines)
	if more := len(lines) - message.MaxNamed; more > 0 {
		lines = append(lines[:message.MaxNamed:message.MaxNamed], fmt.Sprintf("%d more", more))
	}
	shown := strings.Join(lines, " and ")
	if err != nil {
		return fmt.Sprintf("%s; add %s yourself, which hold secrets", err, shown)
	}
	return fmt.Sprintf("%s: added %s, so that git does not track secrets", name, shown)
}

// trackedSecrets returns a note for each secret that git tracks, with the command that ends that.
func trackedSecrets(secrets []Secret) (notes []string) {
	here := workTree(paths.Resolve("."))
	for _, s := range secrets {
		top, place := s.workTree()
		if place == "" || !isTracked(top, place) {
			continue
		}
		remove := "git rm -r --cached " + s.Name
		if top != here {
			remove = fmt.Sprintf("git -C %s rm -r --cached %s", top, place)
		}
		notes = append(notes, fmt.Sprintf("git tracks %s, which holds secrets, whatever %s says; "+
			"run: %s, and take it out of the history", s.Name, ignoreFile, remove))
	}
	return notes
}

// workTree returns the work tree that the secret lies in, and its path there with slashes. Both are
// empty if it lies in no work tree.
func (s *Secret) workTree() (top, place string) {
	if top = workTree(filepath.Dir(paths.Resolve(s.Name))); top == "" {
		return "", ""
	}
	place, ok := paths.Inside(top, s.Name)
	if !ok {
		return "", ""
	}
	return top, place
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

// isWanted reports whether the .gitignore in a folder has a line that tells git to track the path
// of a pattern. Somebody decided that.
func isWanted(dir, pattern string) bool {
	content, err := readIgnore(filepath.Join(dir, ignoreFile))
	return err == nil && slices.Contains(strings.Split(string(content), "\n"), "!"+pattern)
}

// isTracked reports whether git's index has a path, or something below it. It returns false if git
// fails.
func isTracked(top, place string) bool {
	// No setting of the work tree may make git run another program.
	args := []string{"-C", top, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
	args = append(args, "ls-files", "-z", "--", ":(top,literal)"+place)
	out, err := command(args...).Output() // ls-files runs nothing else
	return err == nil && len(out) > 0
}

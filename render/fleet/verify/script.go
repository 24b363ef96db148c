package verify

import (
	_ "embed" // for the script
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

//go:embed list.sh
var listSource string

// Script returns a program for sh that prints a listing of the machine: what is at each path of the
// document, the state of its units, and the static pods. The program has paths and names of units
// in it, and no secret. It changes nothing on the machine. Script fails for a document with a path
// or a unit that would be more than one line of the program, or that none can have.
func Script(n *node.Node) (string, error) {
	paths, units := paths(n), units(n)
	for _, line := range slices.Concat(paths, units) {
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("the document has a path or unit of more than one line: %q",
				line)
		}
	}
	// A line KILN_PATHS or KILN_UNITS would end its list, and the next ones would be commands.
	for _, file := range paths {
		if !strings.HasPrefix(file, "/") {
			return "", fmt.Errorf("the document has a file %q, which does not begin with /", file)
		}
	}
	for _, unit := range units {
		switch {
		case strings.HasPrefix(unit, "-"):
			return "", fmt.Errorf("the document has a unit that looks like a flag: %q", unit)
		case !strings.Contains(unit, "."):
			return "", fmt.Errorf("the document has a unit %q, which has no type such as .service",
				unit)
		}
	}
	if !slices.Contains(paths, node.List) {
		return "", errors.New("the document has no list of files: it is not one of kiln's")
	}
	return strings.NewReplacer(
		"@PATHS@\n", wording.JoinLines(paths), "@UNITS@\n", wording.JoinLines(units)).
		Replace(wording.WithoutComments(listSource)), nil
}

// paths returns the paths of all files, folders and links of the document, sorted, each once.
func paths(n *node.Node) (list []string) {
	for i := range n.Files {
		list = append(list, n.Files[i].Path)
	}
	for i := range n.Dirs {
		list = append(list, n.Dirs[i].Path)
	}
	for i := range n.Links {
		list = append(list, n.Links[i].Path)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// units returns the names of the units that the document has a state or a file for, sorted, each
// once.
func units(n *node.Node) (list []string) {
	for i := range n.Units {
		list = append(list, n.Units[i].Name)
	}
	list = append(list, written(n)...)
	slices.Sort(list)
	return slices.Compact(list)
}

// written returns the names of the units that the document has the file of. Others, such as that of
// containerd in most systems, are as the image has them, and so are their drop-ins.
func written(n *node.Node) (list []string) {
	for i := range n.Files {
		if dir, name := path.Split(n.Files[i].Path); dir == plan.UnitDir+"/" {
			list = append(list, name)
		}
	}
	return list
}

package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Sums returns each listed file's path and the beginning of its SHA-256, and if the list is whole.
func (n *Node) Sums() (sums map[string]string, whole bool) {
	list := n.File(List)
	if list == nil {
		return nil, false
	}
	sums = map[string]string{}
	for line := range strings.Lines(string(list.Content)) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		switch {
		case words[0] == "end":
			whole = strings.HasSuffix(line, "\n")
		case len(words) == 4 && !slices.Contains([]string{"dir", "none", "link"}, words[0]):
			sums[words[3]] = words[0]
		}
	}
	return sums, whole
}

// Altered reports whether the content of f is not the one in sums, which Sums returned.
func (f *File) Altered(sums map[string]string) bool {
	sum := sha256.Sum256(f.Content)
	listed := sums[f.Path]
	return listed == "" || !strings.HasPrefix(hex.EncodeToString(sum[:]), listed)
}

// CheckWhole fails if n was read from a document whose end is missing. It is for documents of
// lines, which can still be read after most cuts: a cut leaves out files, or the end of the last
// one. The content of each file of last must be the listed one; other files may have been changed,
// and files added, by hand. If kiln made no file of the document, CheckWhole knows nothing of it,
// and returns nil.
func (n *Node) CheckWhole(last ...string) error {
	dir := path.Dir(List)
	ours := func(p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
	sums, whole := n.Sums()
	if !whole {
		if slices.ContainsFunc(n.Dirs, func(d Dir) bool { return ours(d.Path) }) ||
			slices.ContainsFunc(n.Files, func(f File) bool { return ours(f.Path) }) {
			return cutOff(": " + List + ", the list of its files, has no end")
		}
		return nil
	}
	var missing []string
	for p := range sums {
		if n.File(p) == nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return cutOff(": " + slices.Min(missing) + " is missing, which " + List + " names")
	}
	for _, p := range last {
		if sums[p] != "" && n.File(p).Altered(sums) {
			return cutOff(" in " + p + ", or this file was changed")
		}
	}
	return nil
}

func cutOff(where string) error {
	return fmt.Errorf("the document is cut off%s; copy or download it again, or render it again",
		where)
}

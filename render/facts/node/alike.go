package node

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strconv"
)

// kind is a kind of content that compresses well beside its like.
type kind int

// The kinds of content in their order in a document. The list of files repeats the names of all
// others, so it comes after them. PEM resembles nothing but other PEM.
const (
	kindProgram kind = iota // functions of the shell
	kindText
	kindList
	kindPEM
)

// Alike returns the files in the order of a document, in which they compress best because
// neighbours are alike. They are sorted by kind. Programs are sorted by length, the longest first,
// because it has the words of the others. The other files are sorted by the ending of their names.
func (n *Node) Alike() []File {
	type place struct {
		kind   kind
		length int // of a program, and 0 for other files
		*File
	}
	places := make([]place, len(n.Files))
	for i := range n.Files {
		if places[i] = (place{n.Files[i].kind(), 0, &n.Files[i]}); places[i].kind == kindProgram {
			places[i].length = len(n.Files[i].Content)
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(b.length, a.length),
			cmp.Compare(path.Ext(a.Path), path.Ext(b.Path)), cmp.Compare(a.Path, b.Path))
	})
	files := make([]File, 0, len(places))
	for _, p := range places {
		files = append(files, *p.File)
	}
	return files
}

// Breaks returns where the text of a document turns into another kind of text: the path of the
// first file of each kind in Alike, but not of the first kind. The paths are in double quotes, as
// both formats write them.
func (n *Node) Breaks() (paths []string) {
	files := n.Alike()
	for i := 1; i < len(files); i++ {
		if files[i].kind() != files[i-1].kind() {
			paths = append(paths, strconv.Quote(files[i].Path))
		}
	}
	return paths
}

func (f *File) kind() kind {
	switch {
	case bytes.HasPrefix(f.Content, []byte("-----BEGIN ")):
		return kindPEM
	case f.Path == List:
		return kindList
	case bytes.Contains(f.Content, []byte("() {\n")):
		return kindProgram
	}
	return kindText
}

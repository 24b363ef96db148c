package vault

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What of a revision is read at most: of one file, of all files, and of the list of their names.
const (
	maxTreeFile = 64 << 20
	maxAll      = 256 << 20
	maxList     = 64 << 20
)

// ReadRevision returns the files of a tree by their paths in the tree. The tree is a revision and a
// folder, REV:PATH, as git understands it. ReadRevision fails if git knows no such tree, and if it
// is larger than a review twin can be.
func ReadRevision(tree string) (map[string][]byte, error) {
	if strings.HasPrefix(tree, "-") {
		return nil, fmt.Errorf("%s: no revision of git; write it like main:review", tree)
	}
	list, err := output(nil, maxList, "-c", "core.warnAmbiguousRefs=true",
		"ls-tree", "-r", "-z", "--full-tree", tree)
	if errors.Is(err, errAmbiguous) || errors.Is(err, errTooMuch) {
		return nil, fmt.Errorf("%s: %w", tree, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: git shows no such revision and folder: %w; write it like "+
			"main:review, inside the work tree of git", tree, err)
	}
	var names []string
	var objects bytes.Buffer
	for line := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		// MODE TYPE OBJECT\tPATH
		head, name, _ := strings.Cut(line, "\t")
		if words := strings.Fields(head); len(words) == 3 && words[1] == "blob" {
			names = append(names, name)
			objects.WriteString(words[2] + "\n")
		}
	}
	files, err := contents(names, objects.Bytes())
	if errors.Is(err, errTooMuch) {
		return nil, fmt.Errorf("%s: %w", tree, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: git does not give the files: %w; in a partial clone fetch "+
			"them first, such as with git checkout, and otherwise run git fsck", tree, err)
	}
	return files, nil
}

// contents returns the contents of objects by the names of files. Their sizes are asked first.
func contents(names []string, objects []byte) (map[string][]byte, error) {
	heads, err := output(bytes.NewReader(objects), maxList, "cat-file", "--batch-check")
	if err != nil {
		return nil, err
	}
	sum := 0
	for _, name := range names {
		var line []byte
		line, heads, _ = bytes.Cut(heads, []byte("\n"))
		size, err := sizeIn(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if sum += size; size > maxTreeFile || sum > maxAll {
			return nil, fmt.Errorf("%s: %w", name, errTooMuch)
		}
	}
	most := sum + maxList // with the lines before and after the contents
	batch, err := output(bytes.NewReader(objects), most, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	return splitBatch(batch, names)
}

// splitBatch divides the output of git cat-file --batch into files with these names. For each
// object git prints a line with name, type and size, then the content and a newline.
func splitBatch(batch []byte, names []string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range names {
		line, after, ended := bytes.Cut(batch, []byte("\n"))
		if !ended {
			return nil, fmt.Errorf("%s: its output ends too early", name)
		}
		size, err := sizeIn(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(after) <= size {
			return nil, fmt.Errorf("%s: its output ends too early", name)
		}
		files[name], batch = after[:size:size], after[size+1:]
	}
	return files, nil
}

// sizeIn returns the size in a line of git cat-file: name, type and size of an object.
func sizeIn(line []byte) (int, error) {
	words := bytes.Fields(line)
	if len(words) == 3 {
		if size, err := strconv.Atoi(string(words[2])); err == nil && size >= 0 {
			return size, nil
		}
	}
	return 0, fmt.Errorf("%s", bytes.TrimSpace(line))
}

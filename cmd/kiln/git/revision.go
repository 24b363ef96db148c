package git

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Revision returns the files of a tree by their paths in the tree. The tree is a revision and a
// folder, REV:PATH, as git understands it. Revision fails if git knows no such tree.
func Revision(tree string) (map[string][]byte, error) {
	if strings.HasPrefix(tree, "-") {
		return nil, fmt.Errorf("%s: no revision of git; write it like main:review", tree)
	}
	list, err := output(nil, "ls-tree", "-r", "-z", "--full-tree", tree)
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
	batch, err := output(&objects, "cat-file", "--batch")
	var files map[string][]byte
	if err == nil {
		files, err = splitBatch(batch, names)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: git does not give the files: %w; in a partial clone fetch "+
			"them first, such as with git checkout, and otherwise run git fsck", tree, err)
	}
	return files, nil
}

// splitBatch divides the output of git cat-file --batch into files with these names. For each
// object git prints a line with name, type and size, then the content and a newline.
func splitBatch(batch []byte, names []string) (map[string][]byte, error) {
	r := bufio.NewReader(bytes.NewReader(batch))
	files := map[string][]byte{}
	for _, name := range names {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: its output ends too early", name)
		}
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, fmt.Errorf("%s: %s", name, strings.TrimSpace(line))
		}
		size, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %s", name, strings.TrimSpace(line))
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r, content); err != nil {
			return nil, fmt.Errorf("%s: its output ends too early", name)
		}
		files[name] = content[:size]
	}
	return files, nil
}

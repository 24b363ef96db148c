package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kiln/render"
	"kiln/render/change"
)

// gitState reads the review twin that a revision of git has: REV:PATH, as git understands it. It runs git.
func gitState(tree string) (*change.Cluster, error) {
	if strings.HasPrefix(tree, "-") {
		return nil, fmt.Errorf("%s: no revision of git", tree)
	}
	list, err := git(nil, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, err
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
	texts, err := git(&objects, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	files, err := batch(texts, names)
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	c, err := render.FilesState(files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tree, err)
	}
	return c, nil
}

// git runs git and returns what it printed.
func git(in io.Reader, args ...string) ([]byte, error) {
	cmd := gitCommand(args...)
	var out, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &messages
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(messages.String()); text != "" {
			return nil, fmt.Errorf("git %s: %s", strings.Join(args, " "), text)
		}
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return out.Bytes(), nil
}

// batch reads what git cat-file --batch prints: of each object a line with name, type and size, then its content and a newline.
func batch(texts []byte, names []string) (map[string][]byte, error) {
	r := bufio.NewReader(bytes.NewReader(texts))
	files := map[string][]byte{}
	for _, name := range names {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		words := strings.Fields(line)
		size, err := strconv.Atoi(words[len(words)-1])
		if err != nil || len(words) != 3 {
			return nil, fmt.Errorf("%s: %s", name, strings.TrimSpace(line))
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r, content); err != nil {
			return nil, err
		}
		files[name] = content[:size]
	}
	return files, nil
}

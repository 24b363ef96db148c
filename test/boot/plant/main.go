// Command plant puts a mistake into a rendered cloud-init document, behind kiln's back.
//
//	plant DOCUMENT replace PATH OLD NEW     OLD, which is there once, becomes NEW in the file
//	plant DOCUMENT content PATH FILE        the file gets the content of FILE
//	plant DOCUMENT drop PATH                the file is not in the document
//	plant DOCUMENT own PATH MODE OWNER      the file gets another mode and owner
//	plant DOCUMENT hidden VERB ...          the same, and /etc/kiln/files says so, too
//	plant DOCUMENT print PATH               prints the file
//
// With hidden the hook finds nothing when it verifies its files, so that the mistake reaches the
// component that reads the file.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: plant DOCUMENT [hidden] VERB ARGUMENT...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "plant:", err)
		os.Exit(1)
	}
}

func run(path string, words []string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(words) == 2 && words[0] == "print" {
		e, err := document{strings.SplitAfter(string(text), "\n")}.find(words[1])
		if err != nil {
			return err
		}
		fmt.Print(e.content)
		return nil
	}
	hidden := words[0] == "hidden"
	if hidden {
		words = words[1:]
	}
	changed, err := plant(string(text), hidden, words)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(changed), 0o600)
}

// plant returns the document with the mistake. It fails if the file or the old string is not there.
func plant(text string, hidden bool, words []string) (string, error) {
	d := document{strings.SplitAfter(text, "\n")}
	if len(words) < 2 {
		return "", errors.New("a verb and a path are needed")
	}
	verb, path, rest := words[0], words[1], words[2:]
	e, err := d.find(path)
	if err != nil {
		return "", err
	}
	before := row{hash(e.content), e.mode + " " + short(e.owner), path}
	switch {
	case verb == "replace" && len(rest) == 2:
		if n := strings.Count(e.content, rest[0]); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, want once", path, rest[0], n)
		}
		e.content = strings.Replace(e.content, rest[0], rest[1], 1)
	case verb == "content" && len(rest) == 1:
		content, err := os.ReadFile(rest[0])
		if err != nil {
			return "", err
		}
		e.content = string(content)
	case verb == "drop" && len(rest) == 0:
		d.lines = slices.Delete(d.lines, e.begin, e.end)
		if hidden {
			return d.list(before, nil)
		}
		return strings.Join(d.lines, ""), nil
	case verb == "own" && len(rest) == 2:
		e.mode, e.owner = rest[0], rest[1]
	default:
		return "", fmt.Errorf("no verb %q with %d arguments", verb, len(rest))
	}
	d.put(e)
	if !hidden {
		return strings.Join(d.lines, ""), nil
	}
	after := row{hash(e.content), e.mode + " " + short(e.owner), path}
	return d.list(before, &after)
}

// document is a document as kiln writes it: a list of entries, each with path, permissions, owner
// and a literal block, after everything else.
type document struct{ lines []string }

// entry is one file of the document, with the range of its lines.
type entry struct {
	path, mode, owner, content string
	begin, end                 int
}

const indent = "    "

// find returns the entry of a path. It fails if there is none, or if it is not a literal block.
func (d document) find(path string) (entry, error) {
	begin := slices.Index(d.lines, fmt.Sprintf("- path: %q\n", path))
	if begin < 0 || begin+4 > len(d.lines) {
		return entry{}, fmt.Errorf("there is no %s", path)
	}
	e := entry{path: path, begin: begin, end: begin + 4}
	if d.lines[begin+3] != "  content: |\n" {
		return entry{}, fmt.Errorf("%s is no literal block", path)
	}
	e.mode = value(d.lines[begin+1])
	e.owner = value(d.lines[begin+2])
	for e.end < len(d.lines) {
		line := d.lines[e.end]
		if line != "\n" && !strings.HasPrefix(line, indent) {
			break
		}
		e.content += strings.TrimPrefix(line, indent)
		e.end++
	}
	return e, nil
}

// value returns the string of a line "  KEY: "STRING"".
func value(line string) string {
	_, text, _ := strings.Cut(line, ": ")
	return strings.Trim(text, "\"\n")
}

// put writes an entry over the lines that it had.
func (d *document) put(e entry) {
	lines := []string{
		fmt.Sprintf("- path: %q\n", e.path), fmt.Sprintf("  permissions: %q\n", e.mode),
		fmt.Sprintf("  owner: %q\n", e.owner), "  content: |\n",
	}
	for line := range strings.Lines(e.content) {
		if line != "\n" {
			line = indent + strings.TrimSuffix(line, "\n") + "\n"
		}
		lines = append(lines, line)
	}
	d.lines = slices.Replace(d.lines, e.begin, e.end, lines...)
}

// row is a line of /etc/kiln/files: hash, mode and owner, path.
type row struct{ hash, own, path string }

func (r row) String() string { return r.hash + " " + r.own + " " + r.path + "\n" }

// list replaces a line of /etc/kiln/files, or removes it, and returns the document.
func (d document) list(before row, after *row) (string, error) {
	e, err := d.find("/etc/kiln/files")
	if err != nil {
		return "", err
	}
	if strings.Count(e.content, before.String()) != 1 {
		return "", fmt.Errorf("/etc/kiln/files has no line %q", before)
	}
	line := ""
	if after != nil {
		line = after.String()
	}
	e.content = strings.Replace(e.content, before.String(), line, 1)
	d.put(e)
	return strings.Join(d.lines, ""), nil
}

func hash(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content)))[:8] }

// short writes an owner as /etc/kiln/files does.
func short(owner string) string {
	if owner == "root:root" {
		return "-"
	}
	return owner
}

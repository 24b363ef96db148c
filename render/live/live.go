// Package live makes the program that changes a machine while it runs: it gives the machine the
// newer document of itself. Package rollout says for which changes that is safe.
package live

import (
	"bytes"
	_ "embed" // for the script
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kiln/render/change"
	"kiln/render/layout"
	"kiln/render/node"
	"kiln/render/shell"
	"kiln/render/shown"
)

//go:embed apply.sh
var source string

// Change is the change of one machine, or of the machines of one pool.
type Change struct {
	// Pairs have the documents that the machine may run and the newer one, which is the same in
	// all. Nothing differs in them that asks for a replacement.
	Pairs []*change.Pair
	// Node is what the newer document has, with all contents.
	Node *node.Node
}

// Program returns a program for sh, which changes the machine. It runs as root and holds secrets:
// the contents of files, and the list of all files with a part of their hashes. It refuses a
// machine that runs none of the documents, or whose list of files differs elsewhere too. Program
// fails for a document without a list of files, and for one that somebody has edited.
func Program(c *Change) (string, error) {
	list := c.Node.File(node.List)
	switch {
	case list == nil:
		return "", errors.New("the document has no list of files: it is not one of kiln's")
	case shown.Edited(c.Node):
		return "", errors.New("the document is not as kiln rendered it: a file of it was changed " +
			"by hand; render it again")
	}
	b := builder{Change: c, may: map[string]bool{}, write: map[string]bool{node.List: true}}
	for _, p := range c.Pairs {
		b.compare(p)
	}
	return b.program()
}

// Is reports whether data is a program that Program made.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(header)) }

// header are the first lines of a program.
const header = "#!/bin/sh\n# kiln apply: a secret\n"

// builder collects what the program needs.
type builder struct {
	*Change
	may          map[string]bool // the paths that may differ
	write        map[string]bool // the paths of the files that are written
	known, login []string        // lines of public keys: of all documents, and of the new one
	systemctl    []string
}

// compare adds what differs from an older document.
func (b *builder) compare(p *change.Pair) {
	before := map[change.Key]*change.Entry{}
	for _, e := range p.Old.Entries {
		before[e.Key] = e
	}
	changed := map[string]bool{}
	for _, c := range p.Changes {
		changed[c.Name] = c.Kind == "file"
	}
	var was, is []string
	for _, e := range p.New.Entries {
		a := before[e.Key]
		delete(before, e.Key)
		switch {
		case e.Kind == "key":
			is = append(is, e.ID)
			if a != nil {
				was = append(was, e.ID)
			}
		case e.Kind == "file" && (a == nil || !same(a, e)):
			b.file(e.ID, changed[e.ID])
		}
	}
	for key := range before {
		switch key.Kind {
		case "key":
			was = append(was, key.ID)
		case "file":
			b.file(key.ID, true)
		}
	}
	slices.Sort(was)
	if slices.Sort(is); !slices.Equal(was, is) {
		b.login = is
		b.known = append(b.known, slices.Concat(was, is)...)
	}
}

// same reports whether two entries of a file are known to be the same: not if one is a secret, or
// was left out.
func same(a, b *change.Entry) bool {
	return a.Content != nil && b.Content != nil && string(a.Content) == string(b.Content) &&
		a.TraitList() == b.TraitList()
}

// file adds a file that differs, or that may differ because its content is not known. Of those that
// only a replacement changes, it adds what did change: the labels of the Node in the kubelet's
// flags.
func (b *builder) file(path string, changed bool) {
	row := layout.Of(path)
	if (row == nil || row.Change == layout.Replace) && !changed {
		return
	}
	b.may[path], b.write[path] = true, true
	if row != nil && row.Systemctl != "" && !slices.Contains(b.systemctl, row.Systemctl) {
		b.systemctl = append(b.systemctl, row.Systemctl)
	}
}

// program fills in the script.
func (b *builder) program() (string, error) {
	retired := layout.Retired(b.Node)
	var files strings.Builder
	for i := range b.Node.Files {
		f := &b.Node.Files[i]
		if !b.write[f.Path] || retired[f.Path] {
			continue
		}
		fmt.Fprintf(&files, "\tkeep %s <<'KILN_END'\n%s\nKILN_END\n", shell.Word(f.Path),
			base64.StdEncoding.EncodeToString(f.Content))
	}
	var twins, may, known []string
	for _, p := range b.Pairs {
		twins = append(twins, shown.DigestOf(p.Old), shown.DigestOf(p.New))
	}
	slices.Sort(twins)
	twins = slices.Compact(twins)
	for path := range b.may {
		may = append(may, path)
	}
	slices.Sort(may)
	for _, key := range b.known {
		known = append(known, withoutComment(key))
	}
	slices.Sort(known)
	for _, line := range slices.Concat(may, known, b.login) {
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) ||
			line == "KILN_END" {
			return "", fmt.Errorf("%q is more than one line", line)
		}
	}
	slices.Sort(b.systemctl)
	return strings.NewReplacer(
		"@TWINS@", strings.Join(twins, " "),
		"@MAY@\n", shell.Lines(may),
		"@KNOWN@\n", shell.Lines(slices.Compact(known)), "@KEYS@\n", shell.Lines(b.login),
		"\t@FILES@\n", files.String(), "@SYSTEMCTL@\n", shell.Lines(b.systemctl),
	).Replace(header + strings.TrimPrefix(shell.Bare(source), "#!/bin/sh\n")), nil
}

// withoutComment returns the type and the key of a line of public keys.
func withoutComment(line string) string {
	words := strings.Fields(line)
	for i, word := range words {
		if strings.HasPrefix(word, "AAAA") && i > 0 {
			return words[i-1] + " " + word
		}
	}
	return line
}

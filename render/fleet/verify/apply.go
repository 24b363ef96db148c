// This file makes the program that changes a machine while it runs: it gives the machine the
// newer document of itself. Package rollout says for which changes that is safe.

package verify

import (
	"bytes"
	_ "embed" // for the script
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

//go:embed apply.sh
var source string

//go:embed change.sh
var changeSource string

//go:embed login.sh
var loginSource string

// Change is the change of one machine, or of the machines of one pool.
type Change struct {
	// Pairs has one pair for each document that the machine may run; the newer one is the same in
	// all. No change in them needs a replacement.
	Pairs []*change.Pair
	// Restarts has paths of files, each with what starts anew if the file differs.
	Restarts []string
	// Commands has paths, each with a command of change.sh that follows if the file differs.
	Commands []string
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
	case review.IsEdited(c.Node):
		return "", errors.New("the document is not as kiln rendered it: a file of it was changed " +
			"by hand; render it again")
	}
	b := builder{Change: c, may: map[string]bool{}, write: map[string]bool{node.List: true},
		keys: map[string]int{}}
	for _, p := range c.Pairs {
		b.compare(p)
	}
	return b.program()
}

// IsProgram reports whether data is a program that Program made.
func IsProgram(data []byte) bool { return bytes.HasPrefix(data, []byte(programHeader)) }

// programHeader are the first lines of a program.
const programHeader = "#!/bin/sh\n# kiln apply: a secret\n"

// builder collects what the program needs.
type builder struct {
	*Change
	may   map[string]bool // the paths that may differ
	write map[string]bool // the paths of the files that are written
	keys  map[string]int  // public keys, and in how many of the older documents each is
	// states are lines DIGEST KIND NAME OLD NEW: units, and the links by which they start, whose
	// state differs from that in the document with the digest.
	states []string
}

// compare adds what differs from an older document.
func (b *builder) compare(p *change.Pair) {
	before := map[change.Key]*change.Entry{}
	for _, e := range p.Old.Entries {
		before[e.Key] = e
	}
	changed := map[string]bool{}
	for _, c := range p.Changes {
		changed[c.Name] = changed[c.Name] || c.Kind == "file"
	}
	for _, e := range p.New.Entries {
		a := before[e.Key]
		if e.Kind == "file" && (a == nil || !same(a, e)) {
			// What a reviewer may see, such as certificates, may differ in its order alone.
			seen := a != nil && (a.Content != nil && e.Content != nil ||
				!slices.Equal(a.Shown, e.Shown))
			b.file(e.ID, changed[e.ID] || seen)
		}
		delete(before, e.Key)
	}
	for key := range before {
		if key.Kind == "file" {
			b.file(key.ID, true)
		}
	}
	for _, e := range p.Old.Entries {
		if e.Kind == "key" {
			b.keys[e.ID]++
		}
	}
	b.units(p)
}

// units adds the units whose state differs from that in the older document.
func (b *builder) units(p *change.Pair) {
	for _, c := range p.Changes {
		name, old, now := c.Name, "", ""
		switch unit := strings.TrimPrefix(c.Name, plan.UnitDir+"/"); {
		case c.Kind == "unit":
			old, now = p.Old.UnitState(name), p.New.UnitState(name)
		case c.Kind == "link":
			target := func(m *change.Machine) string {
				if e := m.Entries.Find(change.Key{Kind: c.Kind, ID: name}); e != nil {
					return e.TraitList()
				}
				return "off"
			}
			old, now, b.may[name] = target(p.Old), target(p.New), true
		// One that something else starts ends too.
		case c.Kind == "file" && c.What == change.Removed && unit != c.Name &&
			!strings.Contains(unit, "/") && p.Old.UnitState(unit) == "off":
			c, name, old, now = &change.Change{Kind: "unit"}, unit, "there", "off"
		default:
			continue
		}
		b.states = append(b.states,
			strings.Join([]string{review.DigestOf(p.Old), c.Kind, name, old, now}, " "))
	}
}

// same reports whether two entries of a file are known to be the same: not if one is a secret, or
// was left out.
func same(a, b *change.Entry) bool {
	return a.Content != nil && b.Content != nil && string(a.Content) == string(b.Content) &&
		a.TraitList() == b.TraitList()
}

// file adds a file that differs, or may differ because its content is hidden. One that needs more
// than to be written is added only if it has changed: no key is sent to a machine that has it.
func (b *builder) file(path string, changed bool) {
	if row := layout.FileAt(path); changed || row != nil && row.Change < layout.Restart {
		b.may[path], b.write[path] = true, true
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
		fmt.Fprintf(&files, "\tkeep %s <<'KILN_END'\n%s\nKILN_END\n", wording.ShellWord(f.Path),
			base64.StdEncoding.EncodeToString(f.Content))
	}
	var twins []string
	for _, p := range b.Pairs {
		for _, m := range []*change.Machine{p.Old, p.New} {
			digest := review.DigestOf(m)
			if !review.IsDigest(digest) {
				return "", fmt.Errorf("the list of files of %s has no digest: it was edited; "+
					"render it again", m.Name)
			}
			twins = append(twins, digest)
		}
	}
	slices.Sort(twins)
	may := slices.Sorted(maps.Keys(b.may))
	login, err := b.login()
	if err != nil {
		return "", err
	}
	for _, line := range slices.Concat(may, login, b.states) {
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("%q has a control character; render without it", line)
		}
	}
	// What follows a change of each path.
	var commands []string
	for _, path := range may {
		if row := layout.FileAt(path); row != nil && row.Then != "" {
			commands = append(commands, path+" "+row.Then)
		}
	}
	commands = append(commands, b.Commands...) // units of the user's find the system as it will be
	restarts := append(b.Restarts, layout.Fetched...)
	return strings.NewReplacer(
		"@TWINS@", strings.Join(slices.Compact(twins), " "),
		"@MAY@\n", wording.JoinLines(may), "@LOGIN@\n", wording.JoinLines(login),
		"@AS_USER@\n", wording.WithoutComments(loginSource),
		"@CHANGE@\n", wording.WithoutComments(changeSource),
		"@COMMANDS@\n", wording.JoinLines(commands),
		"@RESTARTS@\n", wording.JoinLines(restarts),
		"@STATES@\n", wording.JoinLines(b.states),
		"\t@FILES@\n", files.String(),
	).Replace(programHeader +
		strings.TrimPrefix(wording.WithoutComments(source), "#!/bin/sh\n")), nil
}

// login returns the lines that login.sh reads. It returns none if all documents have the same keys.
func (b *builder) login() (lines []string, err error) {
	add := func(what, key string) {
		if !change.IsPlainKey(key) {
			err = fmt.Errorf("the public key %q is not TYPE BASE64 COMMENT", key)
		}
		lines = append(lines, what+" "+key)
	}
	is, same := map[string]bool{}, true
	for _, e := range b.Pairs[0].New.Entries {
		if e.Kind == "key" {
			is[e.ID] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		what := "keep"
		switch {
		case b.keys[key] == 0:
			what, same = "new", false
		case b.keys[key] < len(b.Pairs):
			what, same = "some", false
		}
		add(what, key)
	}
	for _, key := range slices.Sorted(maps.Keys(b.keys)) {
		if !is[key] {
			add("gone", key)
			same = false
		}
	}
	if same {
		return nil, nil
	}
	return lines, err
}

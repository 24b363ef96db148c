package assembly

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// addFileList adds the list of the machine's folders, files and links, with hash, mode and owner.
// The hook verifies it before anything else: if a platform cut the document off, or the power
// failed while files were written, the hook names the damage and starts nothing.
func (t *tree) addFileList() error {
	t.n.Sort()
	if err := t.checkListable(); err != nil {
		return err
	}
	list := node.File{
		Path: node.List, Mode: 0o600, Why: "every file that must be there",
		// A hash of a secret is computed from it. The review shows all else of the list elsewhere.
		Shown: []string{SumsShown},
	}
	if t.Bundle == nil {
		t.n.Files = append(t.n.Files, list)
		return nil
	}
	var b strings.Builder
	for _, d := range t.n.Dirs {
		fmt.Fprintf(&b, "dir %04o %s %s\n", d.Mode, listedOwner(d.User, d.Group), d.Path)
	}
	for _, f := range t.n.Files {
		sum, owner := sha256.Sum256(f.Content), listedOwner(f.User, f.Group)
		fmt.Fprintf(&b, "%x %04o %s %s\n", sum[:listedHash], f.Mode, owner, f.Path)
	}
	if t.m.Pool {
		// A kubelet that asks for its certificate would use an identity that an earlier
		// installation or the image left there.
		fmt.Fprintf(&b, "none - - %s\nnone - - %s\n", plan.KubeletConf, plan.KubeletCurrent)
	}
	for _, l := range t.n.Links {
		fmt.Fprintf(&b, "link %s - %s\n", l.Target, l.Path)
	}
	// The last line shows that the list itself is whole, and has what the hook says of the machine.
	b.WriteString("end " + t.identity() + "\n")
	list.Content = []byte(b.String())
	t.n.Files = append(t.n.Files, list)
	return nil
}

// identity returns what a machine may tell everybody of its document: the digest of its review
// twin, and the stages of the roots that were rotated, as "ROOT: STATE; ROOT: STATE".
func (t *tree) identity() string {
	words := t.later.Digest(t.Plan, t.m, t.Public.ValidUntil(t.Plan, t.m), t.n)
	separator := " "
	for _, f := range t.Public.Facts() {
		if root, ok := strings.CutPrefix(f.Name, pki.RotationFact); ok {
			words += separator + root + ": " + f.Value
			separator = "; "
		}
	}
	return words
}

// SumsShown stands in the review for the list of hashes, which follows from the other files.
const SumsShown = "<sums of all files>"

// listedHash is how many bytes of a file's SHA-256 the list holds. They find damage as a CRC-32
// does: one damaged file in four billion would pass. They need not stop an attacker, who could
// change the list as well. Nothing compresses them: whole hashes would cost a control plane two
// kilobytes.
const listedHash = 4

// listedOwner returns a file's owner as the list holds it: USER:GROUP, or a dash for root, which
// owns nearly all files.
func listedOwner(user, group string) string {
	owner := node.Owner(user) + ":" + node.Owner(group)
	if owner == "root:root" {
		return "-"
	}
	return owner
}

// checkListable fails if the first boot could not read a line of the list of files. The paths in
// cluster.yaml have been checked before; those in a Butane snippet have not.
func (t *tree) checkListable() error {
	check := func(path string, words ...string) error {
		if problem := config.PathProblem(path); problem != "" {
			return fmt.Errorf("file %q %s", path, problem)
		}
		for _, word := range words {
			if word != node.Root && (word == "" || strings.ContainsFunc(word, unicode.IsSpace) ||
				config.PathProblem(word) != "") {
				return fmt.Errorf("file %q: the owner or target %q is not one word", path, word)
			}
		}
		return nil
	}
	var wrong []error
	for _, d := range t.n.Dirs {
		wrong = append(wrong, check(d.Path, node.Owner(d.User), node.Owner(d.Group)))
	}
	for _, f := range t.n.Files {
		wrong = append(wrong, check(f.Path, node.Owner(f.User), node.Owner(f.Group)))
	}
	for _, l := range t.n.Links {
		wrong = append(wrong, check(l.Path, l.Target))
	}
	return errors.Join(wrong...)
}

package assembly

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// SumsShown stands for the list of hashes, which follows from the rest.
const SumsShown = "<sums of all files>"

// listedHash is how many bytes of a file's SHA-256 the manifest holds. It finds damage, not an attacker, who could change
// the manifest as well; the whole sums would cost a control plane two kilobytes that nothing compresses.
const listedHash = 6

// listedOwner is how the manifest says who owns a file: nearly all are root's, and a dash says so.
func listedOwner(user, group string) string {
	owner := node.Owner(user) + ":" + node.Owner(group)
	if owner == "root:root" {
		return "-"
	}
	return owner
}

// absentPaths are the paths at which an earlier life of the machine's disk, or its image, may have left an identity that the kubelet
// would take for its own: one that asks for its certificate must have none.
func (t *tree) absentPaths() []string {
	if !t.m.Token {
		return nil
	}
	return []string{plan.KubeletConf, plan.KubeletCurrent}
}

// checkListable fails if the first boot could not read a line of the list of files. Paths of cluster.yaml have been
// checked by then; those of a Butane snippet have not.
func (t *tree) checkListable() error {
	check := func(path string, words ...string) error {
		if problem := config.PathProblem(path); problem != "" {
			return fmt.Errorf("file %q %s", path, problem)
		}
		for _, word := range words {
			if word == "" || strings.ContainsFunc(word, unicode.IsSpace) || config.PathProblem(word) != "" {
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

// addFileList adds the list of every file that must be there, with hash, mode and owner. The hook verifies it before
// anything else: a document cut off by a platform, or a power cut while files were written, is named and not started.
func (t *tree) addFileList() error {
	t.n.Sort()
	if err := t.checkListable(); err != nil {
		return err
	}
	// The sums of secrets are computed from secrets, and the rest of it stands elsewhere.
	list := node.File{Path: plan.KilnDir + "/files", Mode: 0o600, Why: "every file that must be there", Shown: []string{SumsShown}}
	if t.Bundle == nil {
		t.n.Files = append(t.n.Files, list)
		return nil
	}
	var b strings.Builder
	for _, d := range t.n.Dirs {
		fmt.Fprintf(&b, "dir %04o %s %s\n", d.Mode, listedOwner(d.User, d.Group), d.Path)
	}
	for _, f := range t.n.Files {
		sum := sha256.Sum256(f.Content)
		fmt.Fprintf(&b, "%x %04o %s %s\n", sum[:listedHash], f.Mode, listedOwner(f.User, f.Group), f.Path)
	}
	for _, path := range t.absentPaths() {
		fmt.Fprintf(&b, "none - - %s\n", path)
	}
	for _, l := range t.n.Links {
		fmt.Fprintf(&b, "link %s - %s\n", l.Target, l.Path)
	}
	// The last line shows that the list itself is whole.
	b.WriteString("end\n")
	list.Content = []byte(b.String())
	t.n.Files = append(t.n.Files, list)
	return nil
}

package vault

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// CheckNewest returns an error if half, of the bundle in the file path, is older than the public
// half in the file stored, or of another cluster or rotation: old keys or dates would come back. It
// also does so if half has other roots, which somebody else may have made. It returns nil if stored
// is absent, and an error if it holds no public half.
func CheckNewest(stored, path string, half *pki.Public) error {
	if term.AbsentPath(stored) {
		return nil
	}
	there, err := render.Public(stored)
	if err != nil {
		return fmt.Errorf("%w. It would say whether the bundle is the newest copy: restore it, or "+
			"remove it and run: %s", err, publicCommand(path, stored))
	}
	if path == "-" {
		path = "standard input"
	}
	if there.Cluster != half.Cluster {
		return fmt.Errorf("%s is the public half of another cluster (%s), and %s is the bundle of "+
			"%s: name the bundle of that cluster with --secrets; if that cluster is gone, remove "+
			"%[1]s", stored, there.Cluster, path, half.Cluster)
	}
	if why := half.Diverged(there); why != "" {
		return fmt.Errorf("%s: the bundle and %s do not belong together: %s; restore the bundle "+
			"that made %[2]s. Only if this bundle went back with --back and began again, and no "+
			"machine has the other root, remove %[2]s, and run: %s",
			path, stored, why, publicCommand(path, stored))
	}
	why := half.Older(there)
	if why == "" {
		return checkRoots(path, stored, half.Fingerprints(), there.Fingerprints(),
			"remove "+stored+", and run: "+publicCommand(path, stored))
	}
	if there.Older(half) != "" {
		return fmt.Errorf("%s: the bundle and %s are of two copies that were both changed: %s, "+
			"and this bundle has changes that are not there. No copy has both. Take one of the "+
			"two with its own public half, and repeat on it what was done to the other "+
			"(docs/secrets.md)", path, stored, why)
	}
	return fmt.Errorf("%s: the bundle is older than %s: %s; restore the newer copy of the bundle",
		path, stored, why)
}

// CheckNewestHalf is CheckNewest for half of the file path, which --public names in the place of
// the public half in the file stored.
func CheckNewestHalf(stored, path string, half *pki.Public) error {
	there, err := render.Public(stored)
	if err != nil || there.Cluster != half.Cluster {
		return nil // stored has no say
	}
	if why := cmp.Or(half.Diverged(there), half.Older(there)); why != "" {
		return fmt.Errorf("--public %s: %s is newer: %s; leave --public out, or name the newer one",
			path, stored, why)
	}
	return checkRoots(path, stored, half.Fingerprints(), there.Fingerprints(), "remove "+stored)
}

// publicCommand returns the command that writes the public half of the bundle in the file path into
// the file stored.
func publicCommand(path, stored string) string {
	return fmt.Sprintf("kiln secrets public --secrets %s --out %s",
		wording.ShellWord(bundleName(path)), wording.ShellWord(stored))
}

// bundleName returns the path of a bundle's file, or BUNDLE if it came from a pipe.
func bundleName(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "BUNDLE"
	}
	return path
}

// CheckWritten returns an error if the bundle is older than what was written before, or has other
// roots: the documents in the folder out, or the review twin in the folder review. A rotation has
// gone on there, or, in documents, a secret was rotated. It says nothing of a folder that is not
// this cluster's: who writes it says what is wrong with it.
func (f *File) CheckWritten(out, review string) error {
	path, half := f.Path, &f.Public
	if inv, err := render.ReadInventory(out); err == nil && inv != nil {
		why, err := older(half, inv.Cluster, inv.Facts)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(out, render.InventoryFile), err)
		}
		if why == "" && inv.Cluster == half.Cluster {
			why = olderMark(inv, half)
		}
		if why != "" {
			return fmt.Errorf("%s: the bundle is older than the documents in %s: %s; restore the "+
				"newer copy of the bundle. Only if no machine has these documents, name another "+
				"folder with --out", path, out, why)
		}
		if inv.Cluster == half.Cluster {
			err = checkRoots(path, filepath.Join(out, render.InventoryFile), f.Fingerprints(),
				render.DocumentRoots(out, inv), "name another folder with --out")
		}
		if err != nil {
			return err
		}
	}
	if review == "" {
		return nil
	}
	if twin := render.ReadTwin(review); twin != nil {
		why, err := older(half, twin.Cluster, twin.Facts)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(review, render.IndexFile), err)
		}
		if why != "" {
			return fmt.Errorf("%s: the bundle is older than the review twin in %s: %s; restore "+
				"the newer copy of the bundle", path, review, why)
		}
	}
	return CheckTwin(review, path, half)
}

// older returns why half is older than facts of a cluster; empty if it is not, and if the cluster
// is another one.
func older(half *pki.Public, cluster string, facts []plan.Fact) (string, error) {
	if cluster != half.Cluster {
		return "", nil
	}
	rotations, err := pki.ParseRotations(facts)
	if err != nil {
		return "", err
	}
	there := &pki.Public{Cluster: cluster, Rotations: map[pki.Root]*pki.Rotation{}}
	for root, r := range rotations {
		there.Rotations[pki.Root(root)] = r
	}
	return cmp.Or(half.Diverged(there), half.Older(there)), nil
}

// olderMark returns which derived secret of a document has a higher generation than half; empty if
// none has. The keys of roots do not count, since a rotation has two of them, nor do secrets that
// only an older kiln derived.
func olderMark(inv *document.Inventory, half *pki.Public) string {
	for i := range inv.Documents {
		for _, mark := range inv.Documents[i].Secrets {
			name, number, _ := strings.Cut(mark, " g")
			there, err := strconv.Atoi(number)
			if err == nil && pki.IsDerived(name) && half.Generation(name) < there {
				return fmt.Sprintf("%s is %d here and %d there, and old keys would come back", name,
					half.Generation(name), there)
			}
		}
	}
	return ""
}

// StaleNotes is StaleHalf for a bundle that was changed, and the half beside the configuration. A
// render says what is wrong with a half that cannot be read.
func (f *File) StaleNotes(config string) []string {
	note, err := StaleHalf(render.PublicPath(config, f.Name), f.Path, &f.Public)
	if err != nil || note == "" {
		return nil
	}
	return []string{note}
}

// CheckReplaces is CheckNewest for half that takes the place of the file stored. A file that is no
// public half is not its business: nothing replaces it.
func CheckReplaces(stored, path string, half *pki.Public) error {
	if _, err := render.Public(stored); err != nil {
		return nil
	}
	return CheckNewest(stored, path, half)
}

// StaleHalf returns a note if the public half in the file stored differs from half, of the bundle
// in the file path: people without secrets would render another twin. It returns no note if stored
// is absent, and an error if stored holds no public half.
func StaleHalf(stored, path string, half *pki.Public) (note string, err error) {
	if term.AbsentPath(stored) {
		return "", nil
	}
	there, err := render.Public(stored)
	if err != nil {
		return "", err
	}
	old, err := there.Marshal()
	if err != nil {
		return "", err
	}
	now, err := half.Marshal()
	if err != nil || bytes.Equal(old, now) {
		return "", err
	}
	return fmt.Sprintf("%s is no longer the public half of %s; run: %s", stored, bundleName(path),
		publicCommand(path, stored)), nil
}

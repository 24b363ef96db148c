package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"

	"kiln/render/credential"
)

// What to do about a credential in a file of somebody's, by what names the file.
const (
	markIt      = `write secret: true and mode: "0600", or take it out`
	markScript  = "write secret: true, or take it out"
	fileForUnit = "everybody on a machine may read its units: put it into a file with secret: true, " +
		"and name that in the unit (EnvironmentFile=, LoadCredential=)"
	certAlone = "everybody may read it: name a file with the certificate alone"
)

// exposed reports a file that l has read if it holds a credential that people would see: in the
// review twin, or as somebody on the machine. todo says what to do about it; empty allows
// credentials here, but for the bundle of this cluster, which is for no machine.
func (l *loader) exposed(name, todo string, at *where) {
	content, read := l.source.texts[cleanPath(name)]
	if !read || l.isHidden(at) {
		return
	}
	found, ok := l.find(cleanPath(name), content)
	switch {
	case !ok:
	case found.Bundle == l.cluster:
		l.report(at, "%s", bundleProblem(name, found))
		l.hide(at.String())
	case todo != "":
		l.report(at, "%s holds %s; %s", quote(name), found, todo)
		l.hide(at.String())
	}
}

// exposedFolder is exposed for an add-on's folder, which may hold what becomes a Secret.
func (l *loader) exposedFolder(name string, at *where) {
	for _, file := range slices.Sorted(maps.Keys(l.source.folders[cleanPath(name)])) {
		found, ok := l.find(file, l.source.folders[cleanPath(name)][file])
		if ok && found.Bundle == l.cluster {
			l.report(at, "%s", bundleProblem(file, found))
			l.hide(at.String())
			return
		}
	}
}

func bundleProblem(name string, found credential.Found) string {
	return fmt.Sprintf("%s holds %s: whoever has it owns the cluster, and no machine and no object "+
		"may hold it; take it out", quote(name), found)
}

// find looks for a credential once in each file.
func (l *loader) find(clean string, content []byte) (credential.Found, bool) {
	found, known := l.found[clean]
	if !known {
		if f, ok := credential.Find(content); ok {
			found = &f
		}
		l.found[clean] = found
	}
	if found == nil {
		return credential.Found{}, false
	}
	return *found, true
}

// inventory is the file by which a folder is known that kiln render wrote, and inventoryHead how it
// begins.
const inventory = "inventory.json"

var inventoryHead = regexp.MustCompile(
	`^\s*\{\s*"apiVersion":\s*"kiln\.dev/[a-z0-9]+",\s*"kind":\s*"Inventory"`)

// renderedNames are the files of such a folder. Beside cluster.yaml they are told by their names
// from what people have there. A test in render holds them to what it writes.
var renderedNames = []string{
	inventory, "served.json", "admin.conf", "config.ign", "user-data", "meta-data", "network-config",
	"body.ign", "body.sh",
}

// notRendered refuses a file or folder in which kiln render wrote: documents and the operator's
// kubeconfig hold every key of their machines.
func (l *loader) notRendered(clean string) error {
	for dir := clean; ; dir = path.Dir(dir) {
		if l.isRendered(dir) && (dir != "." || slices.Contains(renderedNames, path.Base(clean))) {
			return fmt.Errorf("lies in the folder of kiln render --out (there is %s), and what it holds "+
				"is for people or for one machine; name a file of yours", path.Join(dir, inventory))
		}
		if dir == "." {
			return nil
		}
	}
}

// isRendered reports whether a folder has an inventory of kiln's.
func (l *loader) isRendered(dir string) bool {
	known, ok := l.rendered[dir]
	if !ok {
		known = hasInventory(l.dir, dir)
		l.rendered[dir] = known
	}
	return known
}

func hasInventory(files fs.FS, dir string) bool {
	name := path.Join(dir, inventory)
	info, err := fs.Stat(files, name)
	if err != nil || !info.Mode().IsRegular() { // opening a FIFO would wait for ever
		return false
	}
	f, err := files.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	return inventoryHead.Match(bytes.TrimPrefix(head[:n], []byte(byteOrderMark)))
}

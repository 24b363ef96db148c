package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"

	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/yamltext"
)

// What to do about a credential in a file of the user, by the field that names the file.
const (
	markIt      = `write secret: true and mode: "0600", or take it out`
	markScript  = "write secret: true, or take it out"
	fileForUnit = "everybody on a machine may read its units: put it into a file with " +
		"secret: true, and name that in the unit (EnvironmentFile=, LoadCredential=)"
	certAlone = "everybody may read it: name a file with the certificate alone"
	keyAlone  = "everybody may read it: name a file with the public key alone"
)

// reportExposed reports a file with a credential that people would see, in the review twin or on
// the machine. todo says what to do about it. "" allows credentials here, except the bundle of this
// cluster: no machine may have that.
func (l *loader) reportExposed(name, todo string, at *yamltext.Location) {
	content, read := l.source.texts[cleanPath(name)]
	if !read || l.isHidden(at) {
		return
	}
	found := l.find(cleanPath(name), content)
	switch {
	case found == nil:
	case found.Bundle == l.cluster:
		l.report(at, "%s", bundleProblem(name, found))
		l.hide(at.String())
	case todo != "":
		l.report(at, "%s holds %s; %s", quote(name), found, todo)
		l.hide(at.String())
	}
}

// reportExposedFolder reports a file of an add-on's folder that is the bundle of this cluster.
// Other credentials are allowed there, because they may become a Secret.
func (l *loader) reportExposedFolder(name string, at *yamltext.Location) {
	for _, file := range slices.Sorted(maps.Keys(l.source.folders[cleanPath(name)])) {
		found := l.find(file, l.source.folders[cleanPath(name)][file])
		if found != nil && found.Bundle == l.cluster {
			l.report(at, "%s", bundleProblem(file, found))
			l.hide(at.String())
			return
		}
	}
}

func bundleProblem(name string, found *credential.Found) string {
	return fmt.Sprintf("%s holds %s: whoever has it owns the cluster, "+
		"and no machine and no object may hold it; take it out", quote(name), found)
}

// find returns the credential in a file, nil if it has none. It searches each file once.
func (l *loader) find(clean string, content []byte) *credential.Found {
	found, known := l.found[clean]
	if !known {
		if f, ok := credential.Find(content); ok {
			found = &f
		}
		l.found[clean] = found
	}
	return found
}

// inventory is the file that every folder of kiln render --out has.
const inventory = "inventory.json"

var inventoryHead = regexp.MustCompile(
	`^\s*\{\s*"apiVersion":\s*"kiln\.dev/[a-z0-9]+",\s*"kind":\s*"Inventory"`)

// renderedNames are the files of such a folder. If that is also the folder of cluster.yaml, their
// names tell them apart from the user's files. A test in package render compares them with what it
// writes.
var renderedNames = []string{
	inventory, "served.json", "served.json.announced", "admin.conf", "config.ign", "user-data",
	"meta-data", "network-config", "body.ign", "body.sh",
}

// refuseRendered returns an error for a file or folder of kiln render --out: documents and the
// operator's kubeconfig contain every key of their machines.
func (l *loader) refuseRendered(clean string) error {
	for dir := clean; ; dir = path.Dir(dir) {
		if l.isRendered(dir) && (dir != "." || slices.Contains(renderedNames, path.Base(clean))) {
			return fmt.Errorf("lies in the folder of kiln render --out (there is %s), "+
				"and what it holds is for people or for one machine; name a file of yours",
				path.Join(dir, inventory))
		}
		if dir == "." {
			return nil
		}
	}
}

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

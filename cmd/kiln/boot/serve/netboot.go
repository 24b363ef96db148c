package serve

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/pack/compress"
)

// readScripts adds to missing the files that the scripts of kiln netboot in a folder name and that
// the catalogue lacks. It notes the scripts of machines that install themselves. A folder without
// an index of kiln netboot has no scripts. It fails if there is one that cannot be read: without it
// a machine that installs itself would do so at each boot.
func (c *catalogue) readScripts(dir string) error {
	path := filepath.Join(dir, media.IndexFile)
	f, err := folder.OpenInside(dir, media.IndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	data, err := folder.ReadUpTo(path, f, folder.MaxList)
	if err != nil {
		return err
	}
	index := media.ParseIndex(data)
	if index == nil {
		return fmt.Errorf("%s: damaged, or not written by kiln netboot; run kiln netboot again",
			path)
	}
	for i := range index.Machines {
		b := &index.Machines[i]
		if script := c.items["/"+b.Script]; b.Disk != "" && !b.Pool && script != nil {
			script.installs = c.documents[b.Node]
		}
	}
	for _, address := range scriptAddresses(index) {
		name, below := strings.CutPrefix(address, index.URL+"/")
		// A name with a variable of iPXE stands for several files.
		path := filepath.Join(dir, name)
		if below && !strings.Contains(name, "${") && c.items["/"+name] == nil &&
			c.withheld[path] == nil {
			c.missing = append(c.missing, path)
		}
	}
	slices.Sort(c.missing)
	c.missing = slices.Compact(c.missing)
	return nil
}

// scriptAddresses returns the addresses that the scripts of an index name, and those of the
// scripts.
func scriptAddresses(index *media.Index) []string {
	addresses := []string{index.URL + "/boot.ipxe"}
	for i := range index.Machines {
		b := &index.Machines[i]
		addresses = slices.Concat(addresses, []string{b.Kernel}, b.Initrds, b.Install)
		if b.Script != "" {
			addresses = append(addresses, index.URL+"/"+b.Script)
		}
		for _, arg := range b.Args {
			if _, value, ok := strings.Cut(arg, "="); ok {
				addresses = append(addresses, value)
			}
		}
	}
	return addresses
}

// diskScript returns the script of a machine whose document somebody has fetched, so that it does
// not install itself again: it boots what its firmware boots next.
func diskScript(node string) string {
	return fmt.Sprintf("#!ipxe\n"+
		"echo kiln: %[1]s has its document, so it is not installed again, and boots its disk\n"+
		"echo kiln: to install it again: kiln serve --again %[1]s\n"+
		"exit 1\n", node)
}

// errOlder comes if an initrd does not hold the machine's present document.
var errOlder = errors.New("it is of an older render; run kiln netboot again")

// checkDocument returns errOlder if data is an initrd without the machine's document. If the
// document itself cannot be read, it returns the error of that. kiln netboot writes the document
// into the archive as it is, or in base64 into a configuration that installs it.
func (it *item) checkDocument(data []byte) error {
	if it.holds == nil {
		return nil
	}
	document, err := it.holds.read()
	if err != nil {
		return err
	}
	archive, err := compress.Gunzip(data)
	if err != nil {
		return errOlder
	}
	encoded := base64.StdEncoding.AppendEncode(nil, document)
	if bytes.Contains(archive, document) || bytes.Contains(archive, encoded) {
		return nil
	}
	return errOlder
}

// olderError returns an error that says in one line that initrds are older than the documents, or
// nil if there are none.
func olderError(paths []string) error {
	switch n := len(paths); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s is of an older render; run kiln netboot again", paths[0])
	default:
		return fmt.Errorf("%s and %d more are of an older render; run kiln netboot again",
			paths[0], n-1)
	}
}

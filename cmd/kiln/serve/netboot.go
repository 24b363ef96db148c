package serve

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"kiln/render/compress"
	"kiln/render/folder"
	"kiln/render/media"
)

// readScripts adds to missing the files that the scripts of kiln netboot in a folder name and that
// the catalogue lacks. A folder without an index of kiln netboot has no scripts.
func (c *catalogue) readScripts(dir string) {
	f, err := folder.OpenInside(dir, media.IndexFile)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxServed))
	index := media.ParseIndex(data)
	if err != nil || index == nil {
		return
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
}

// scriptAddresses returns the addresses that the scripts of an index name, and those of the
// scripts.
func scriptAddresses(index *media.Index) []string {
	addresses := []string{index.URL + "/boot.ipxe"}
	for i := range index.Machines {
		b := &index.Machines[i]
		addresses = append(append(addresses, b.Kernel), b.Initrds...)
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

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

// scripts notes what the scripts of kiln netboot in a folder name and the catalogue lacks. A folder
// without kiln netboot's index has no scripts.
func (c *catalogue) scripts(dir string) {
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
	named := []string{index.URL + "/boot.ipxe"}
	for i := range index.Machines {
		b := &index.Machines[i]
		named = append(append(named, b.Kernel), b.Initrds...)
		if b.Script != "" {
			named = append(named, index.URL+"/"+b.Script)
		}
		for _, arg := range b.Args {
			if _, value, ok := strings.Cut(arg, "="); ok {
				named = append(named, value)
			}
		}
	}
	for _, address := range named {
		name, below := strings.CutPrefix(address, index.URL+"/")
		// A variable of iPXE stands for several names.
		if below && !strings.Contains(name, "${") && c.items["/"+name] == nil {
			c.missing = append(c.missing, filepath.Join(dir, name))
		}
	}
	slices.Sort(c.missing)
	c.missing = slices.Compact(c.missing)
}

// errOlder comes if an initrd holds another document than the machine's.
var errOlder = errors.New("it is of an older render; run kiln netboot again")

// older returns errOlder if data is an initrd without the machine's document, and the document's own
// error if that cannot be read. kiln netboot writes the document into the archive as it is, or in
// base64 into a configuration that installs it.
func (it *item) older(data []byte) error {
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

// olderError says in one line that these initrds are older than the documents; nil if there is none.
func olderError(paths []string) error {
	switch n := len(paths); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s is of an older render; run kiln netboot again", paths[0])
	default:
		return fmt.Errorf("%s and %d more are of an older render; run kiln netboot again", paths[0], n-1)
	}
}

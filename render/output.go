package render

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/render/pack/document"
)

// Rendered returns the output folder to which name belongs, its inventory, and the entries that
// name stands for: all entries for the output folder itself, and one for the folder or the document
// of a machine. It fails if name is in no output folder, or names no machine of it.
func Rendered(name string) (
	out string, inv *document.Inventory, entries []document.Entry, err error,
) {
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", nil, nil, err
	}
	out, up := filepath.Clean(name), whole
	for range 4 { // pools/NAME/user-data is the deepest
		inv, err = ReadInventory(up)
		if err != nil && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, fs.ErrPermission) {
			return "", nil, nil, err
		}
		if inv != nil {
			break
		}
		out, up = filepath.Join(out, ".."), filepath.Dir(up)
	}
	if inv == nil {
		if _, err := os.Stat(name); err != nil {
			return "", nil, nil, err
		}
		return "", nil, nil, fmt.Errorf("%s: not a folder that kiln render wrote, nor in one: "+
			"there is no %s; name DIR or DIR/NODE, where DIR is what render was given with --out",
			name, InventoryFile)
	}
	if up == whole {
		return out, inv, inv.Documents, nil
	}
	inside, err := filepath.Rel(up, whole)
	if err != nil {
		return "", nil, nil, err
	}
	inside = filepath.ToSlash(inside)
	folders := make([]string, len(inv.Documents))
	for i := range inv.Documents {
		e := &inv.Documents[i]
		if folders[i] = path.Dir(e.Document); folders[i] == inside || e.Document == inside {
			return out, inv, inv.Documents[i : i+1], nil
		}
	}
	return "", nil, nil, fmt.Errorf("%s: %s has no such machine; it has %s",
		name, filepath.Join(out, InventoryFile), firstNames(folders))
}

// firstNames returns the first names of many as a list for a message.
func firstNames(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Delivered is one document of an output folder with the files that are delivered beside it.
type Delivered struct {
	Entry document.Entry
	Dir   string            // below the output folder
	Files []document.Output // by their names in Dir, the document first
}

// Deliveries reads documents of the output folder out, one after the other in the order of their
// entries. A document that differs from its entry in the inventory yields an error: a render was
// cut off, or somebody changed the file. The others follow all the same.
func Deliveries(out string, entries []document.Entry) iter.Seq2[Delivered, error] {
	return func(yield func(Delivered, error) bool) {
		for i := range entries {
			if !yield(delivery(out, &entries[i])) {
				return
			}
		}
	}
}

// delivery reads the document of one entry and the files beside it.
func delivery(out string, e *document.Entry) (Delivered, error) {
	d := Delivered{Entry: *e, Dir: path.Dir(e.Document)}
	inventory := filepath.Join(out, InventoryFile)
	if !config.IsMachineName(e.Node) || path.Base(d.Dir) != e.Node || !fs.ValidPath(e.Document) {
		return d, fmt.Errorf("%s: node %q with the document %q: kiln writes no such entry; "+
			"render again", inventory, e.Node, e.Document)
	}
	for i, name := range append([]string{e.Document}, e.Others...) {
		if path.Dir(name) != d.Dir {
			return d, fmt.Errorf("%s: node %q with the file %q: kiln writes no such entry; "+
				"render again", inventory, e.Node, name)
		}
		data, err := readListed(out, name)
		if err != nil {
			return d, err
		}
		if sum := sha256.Sum256(data); i == 0 && hex.EncodeToString(sum[:]) != e.SHA256 {
			return d, fmt.Errorf("%s: not the document that %s lists; render again",
				filepath.Join(out, name), InventoryFile)
		}
		d.Files = append(d.Files, document.Output{Name: path.Base(name), Data: data})
	}
	return d, nil
}

// readListed reads a file of the folder out that its inventory lists. It follows no link: only the
// document has a hash, and a link to admin.conf beside it would put that on a machine.
func readListed(out, name string) ([]byte, error) {
	f, err := folder.OpenUnlinked(out, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file, and %s lists it; render again",
			filepath.Join(out, name), InventoryFile)
	case errors.Is(err, folder.ErrLink):
		return nil, fmt.Errorf("%w, and kiln makes none; remove it and render again", err)
	case err != nil:
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return folder.ReadUpTo(filepath.Join(out, name), f, compress.MaxDocument)
}

// readInside reads a regular file of the folder dir. No link is followed out of it.
func readInside(root *os.Root, dir, name string) ([]byte, error) {
	return folder.ReadInside(root, dir, name, compress.MaxDocument)
}

// ReadInventory returns the inventory of the output folder out, or nil if it has none. No link is
// followed out of the folder.
func ReadInventory(out string) (*document.Inventory, error) {
	name := filepath.Join(out, InventoryFile)
	file, err := folder.OpenInside(out, InventoryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := folder.ReadUpTo(name, file, folder.MaxList)
	if err != nil {
		return nil, err
	}
	return document.ParseInventory(name, data)
}

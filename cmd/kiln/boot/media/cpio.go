package media

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// archiveFile is a file of an archive; it belongs to root.
type archiveFile struct {
	Path string // without a slash in front, such as "usr/share/oem/config.ign"
	Mode uint32 // permission bits
	Data []byte
}

// Kinds of entries as POSIX has them, and the mode of the folders above the files.
const (
	regular           = 0o100000
	folder            = 0o040000
	archiveFolderMode = 0o755
)

// maxSize bounds a file, so that its size has at most eight digits. No boot document comes near it.
const maxSize = 256 << 20

// cpio returns files, in their order, as an archive that Linux unpacks into its first file system:
// the "new" ASCII form, header 070701, of Linux'
// Documentation/driver-api/early-userspace/buffer-format.rst. Equal files give equal bytes: it has
// no time, user or inode of any machine. The folders above each file stand before it: the kernel
// makes none by itself, and leaves out a file whose folder is missing. The archive is not
// compressed. Its length is a multiple of four bytes, so that another archive may follow.
//
// It fails if a path is not relative and clean, or stands twice, also as a folder; if a mode has
// more than permission bits; or if a file is too large.
func cpio(files []archiveFile) ([]byte, error) {
	w := archiver{seen: map[string]uint32{}}
	for _, f := range files {
		if err := w.file(&f); err != nil {
			return nil, fmt.Errorf("file %q: %w", f.Path, err)
		}
	}
	w.entry("TRAILER!!!", 0, 1, nil)
	return w.out, nil
}

// archiver is an archive that is being written.
type archiver struct {
	out   []byte
	inode uint32
	seen  map[string]uint32 // the kind of what stands at a path
}

// file adds a file and the folders above it. It fails as cpio does.
func (w *archiver) file(f *archiveFile) error {
	switch {
	case !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsRune(f.Path, 0):
		return errors.New("not a relative, clean path")
	case len(f.Data) > maxSize:
		return fmt.Errorf("larger than %d MiB", maxSize>>20)
	case f.Mode&^0o777 != 0:
		return fmt.Errorf("mode %o has more than permission bits", f.Mode)
	case w.seen[f.Path] != 0:
		return errors.New("the path is used twice")
	}
	if err := w.folders(path.Dir(f.Path)); err != nil {
		return err
	}
	w.seen[f.Path] = regular
	w.entry(f.Path, regular|f.Mode, 1, f.Data)
	return nil
}

// folders adds a folder and those above it, unless they are there. It fails if one of them is a
// file.
func (w *archiver) folders(name string) error {
	switch {
	case name == "." || w.seen[name] == folder:
		return nil
	case w.seen[name] == regular:
		return fmt.Errorf("the folder %q above it is a file", name)
	}
	if err := w.folders(path.Dir(name)); err != nil {
		return err
	}
	w.seen[name] = folder
	w.entry(name, folder|archiveFolderMode, 2, nil)
	return nil
}

// entry adds a header, a name and data. The last entry, with mode 0, has no inode.
func (w *archiver) entry(name string, mode, links uint32, data []byte) {
	inode := uint32(0)
	if mode != 0 {
		w.inode++
		inode = w.inode
	}
	// Magic, inode, mode, user, group, links, time, size, four numbers of devices, the length of
	// the name with the zero at its end, no checksum.
	w.out = fmt.Appendf(w.out, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	w.out = append(w.out, name...)
	w.out = append(w.out, 0)
	w.align()
	w.out = append(w.out, data...)
	w.align()
}

// align adds zeros up to a multiple of four bytes.
func (w *archiver) align() {
	w.out = append(w.out, make([]byte, (4-len(w.out)%4)%4)...)
}

package cloudinit

import (
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/node"
)

// cloud-init writes a file and gives it its mode afterwards (cloudinit/util.py, write_file, 22.4 to
// 26.2). In between everybody may open it, and who has opened it reads it later too. So bootcmd
// protects the path of each secret before there is a content: it makes a folder around it that only
// its owner enters, or else an empty file that only root reads. write_files keeps the mode of a
// file that it finds. A body needs no such command: its files get their names last. A file that is
// closed and holds no secret needs none either, and each path costs bytes.

// protectFiles makes the files "$@", each empty and of mode 0600. It runs at every boot and
// write_files does not, so it does nothing once the machine has verified its files. Until then it
// leaves a file that only root reads as it is, and a link of root's. Whatever else is there goes:
// somebody may have it open, or wait behind it for what is written. In a folder where others may
// write, they can replace the file again. Parents are made as write_files would make them.
const protectFiles = `umask 77; set -C
` + unverified + `for f do
 d=${f%/*}/
 [ -d "$d" ] || (umask 22; mkdir -p "$d"; ! command -v restorecon >/dev/null || restorecon "$d")
 case $(stat -c '%A %h %u' "$f" 2>&1) in
 -???------' 1 0'|l*' 0'|d*) ;;
 *) rm -f "$f"; true >"$f" ;;
 esac
done`

// protectCommand returns the command that protects files, or nil if there are none.
func protectCommand(paths []string) argv {
	if len(paths) == 0 {
		return nil
	}
	return append(argv{"sh", "-c", protectFiles, "--"}, paths...)
}

// isProtectCommand reports whether protectCommand returns such a command.
func isProtectCommand(command argv) bool {
	return len(command) > 4 && slices.Equal(command[:4], protectCommand([]string{""})[:4])
}

// unprotected returns the paths of the secrets of n that commands do not protect, sorted.
func unprotected(n *node.Node, commands []argv) (paths []string) {
	var made node.Node
	protected := map[string]bool{}
	for _, command := range commands {
		if isProtectCommand(command) {
			for _, p := range command[4:] {
				protected[p] = true
			}
		} else {
			readDirCommand(command, &made)
		}
	}
	for i := range n.Files {
		f := &n.Files[i]
		if f.Secret != "" && !protected[f.Path] &&
			!slices.ContainsFunc(made.Dirs, func(d node.Dir) bool { return keeps(d, f) }) {
			paths = append(paths, f.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// keeps reports whether the folder d keeps everybody from f but root and the owner of f.
func keeps(d node.Dir, f *node.File) bool {
	owner := node.Owner(d.User)
	return d.Mode&0o077 == 0 && strings.HasPrefix(f.Path, d.Path+"/") &&
		(owner == node.Root || owner == node.Owner(f.User))
}

// checkProtected fails if bootcmd leaves a file of n unprotected.
func checkProtected(n *node.Node, bootcmd []argv) error {
	if paths := unprotected(n, bootcmd); len(paths) > 0 {
		return fmt.Errorf("others could read these files before they have their modes, because "+
			"bootcmd does not protect them: %s", strings.Join(paths, ", "))
	}
	return nil
}

// checkProtects fails if bootcmd protects a path that is not a closed file of the document. It does
// not know which of these are secret. Documents of an older kiln protect none.
func checkProtects(n *node.Node, bootcmd []argv) error {
	const everybody = 0o044
	for i, command := range bootcmd {
		if !isProtectCommand(command) {
			continue
		}
		for _, p := range command[4:] {
			if f := n.File(p); f == nil || f.Mode&everybody == everybody {
				return unknown("bootcmd", i)
			}
		}
	}
	return nil
}

package node

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Mounts returns the mounts of cloud-init's keys, each with its columns and at least two.
func Mounts(keys map[string]any) (out [][]string) {
	mounts, _ := keys["mounts"].([]any)
	for _, mount := range mounts {
		columns, _ := mount.([]any)
		texts := make([]string, max(len(columns), 2))
		for i, column := range columns {
			texts[i], _ = column.(string)
		}
		out = append(out, texts)
	}
	return out
}

// MountProblem returns why a machine does not work with a mount, "" if it does. A mount is its
// folder, the kind of file system, and options that are separated by commas.
func MountProblem(folder, kind, options string) string {
	folder = path.Clean(folder)
	isState := folder == "/var/lib/etcd" || folder == "/var/lib/kubelet"
	switch {
	case slices.Contains([]string{"/dev", "/proc", "/run", "/sys"}, folder) &&
		slices.Contains([]string{"btrfs", "ext2", "ext3", "ext4", "xfs"}, kind):
		return "hides what the system has in " + folder + "; mount it elsewhere"
	case isState && (kind == "tmpfs" || kind == "ramfs"):
		return folder + " in memory is empty after each boot, and the machine would no longer be " +
			"the member or the Node that it was; mount a disk, or remove it"
	case slices.Contains(strings.Split(options, ","), "ro") &&
		(isState || folder == "/var" || folder == "/var/lib" || folder == "/var/lib/containerd"):
		return "lets no program write in " + folder + "; remove ro from the options"
	}
	return ""
}

// Hidden returns the folders in which n has files that cloud-init hides when it mounts, the
// outermost first. A machine with a body has none: nothing would move what the body brings.
func (n *Node) Hidden() (folders []string) {
	var keys map[string]any
	if n.Remote != nil || json.Unmarshal(n.CloudConfig, &keys) != nil {
		return nil
	}
	for _, mount := range Mounts(keys) {
		folder := path.Clean(mount[1])
		if path.IsAbs(folder) && slices.ContainsFunc(n.Files, func(f File) bool {
			return strings.HasPrefix(f.Path, folder+"/")
		}) {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

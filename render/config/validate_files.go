package config

import (
	"path"
	"regexp"
	"strings"

	"kiln/render/yamlpath"
)

// Limits of paths on Linux.
const (
	maxPath = 4096
	maxName = 255
)

// Folders that hold no files of a machine's own: the kernel's, those that are empty after every boot, and the system's.
var foreignFolders = []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/tmp", "/usr"}

// Files and folders that kiln writes. A folder stands for everything in it.
var (
	ownFolders = []string{
		"/etc/kubernetes", "/etc/kiln", "/etc/etcd", "/var/lib/kubelet", "/var/lib/etcd", "/var/lib/kiln",
		"/etc/systemd/system/kubelet.service.d",
	}
	ownFiles = []string{
		"/etc/systemd/system/kubelet.service", "/etc/systemd/system/kiln.service", "/etc/systemd/system/kiln-routes.service",
		"/etc/systemd/system/kiln-backup.service", "/etc/systemd/system/kiln-backup.timer",
		"/etc/containerd/config.toml", "/etc/hostname", "/etc/cni/net.d/10-kiln.conflist",
		"/etc/modules-load.d/90-kiln.conf", "/etc/sysctl.d/90-kiln.conf",
		"/etc/systemd/system/containerd.service.d/10-kiln.conf", "/etc/systemd/system/containerd.service.d/20-proxy.conf",
		"/etc/systemd/networkd.conf.d/90-kiln.conf", "/etc/systemd/network/05-kiln-pods.network", "/etc/NetworkManager/conf.d/90-kiln.conf",
	}
)

// Beginnings of the paths of files about interfaces, whose names follow.
const (
	NetworkdPrefix = "/etc/systemd/network/10-kiln-"
	KeyfilePrefix  = "/etc/NetworkManager/system-connections/kiln-"
)

var (
	fileMode  = regexp.MustCompile(`^0[0-7]{3}$`)
	fileOwner = regexp.MustCompile(`^([a-z_][a-z0-9_-]{0,31}|0|[1-9][0-9]{0,8}):([a-z_][a-z0-9_-]{0,31}|0|[1-9][0-9]{0,8})$`)
)

// files checks a layer's further files.
func (v *checker) files(files []File, at *yamlpath.Location) {
	seen := map[string]int{}
	lengths := map[int]bool{} // of the paths seen
	for i, f := range files {
		here := at.Index(i)
		if problem := pathProblem(f.Path); problem != "" {
			v.report(here.Key("path"), "%s %s", quote(f.Path), problem)
		} else if first, ok := seen[f.Path]; ok {
			v.report(here.Key("path"), "%s is already files[%d]; remove one", quote(f.Path), first)
		} else {
			seen[f.Path] = i
			lengths[len(f.Path)] = true
		}
		switch {
		case fileMode.MatchString(f.Mode):
			if f.Secret && f.Mode[3] >= '4' {
				v.report(here.Key("mode"), "%s lets everybody on the machine read a secret; write \"0600\", or \"0640\" for the group of owner", quote(f.Mode))
			}
		case len(f.Mode) == 4 && f.Mode[0] != '0' && fileMode.MatchString("0"+f.Mode[1:]):
			v.report(here.Key("mode"), "%s has setuid, setgid or sticky bits; write at most \"0777\"", quote(f.Mode))
		default:
			v.report(here.Key("mode"), "%s is not a file's mode; write four octal digits in quotes, such as \"0644\"", quote(f.Mode))
		}
		if !fileOwner.MatchString(f.Owner) {
			v.report(here.Key("owner"), "%s is not an owner; write user:group, such as root:root", quote(f.Owner))
		}
		if v.oneText(f.Content, f.ContentFrom, "content", "contentFrom", here) && f.Secret && f.Content != "" {
			v.report(here.Key("content"), "is a secret, and cluster.yaml holds none; put it into a file and name that with contentFrom")
		}
	}
	for i, f := range files {
		// A file cannot be the folder of another one.
		for end := 1; end < len(f.Path); end++ {
			if f.Path[end] != '/' || !lengths[end] {
				continue
			}
			if first, ok := seen[f.Path[:end]]; ok {
				v.report(at.Index(i).Key("path"), "%s lies below files[%d], which is a file and not a folder; rename one", quote(f.Path), first)
				break
			}
		}
	}
}

// pathProblem returns what keeps a path from being that of a further file, "" if nothing does.
func pathProblem(name string) string {
	switch {
	case !strings.HasPrefix(name, "/"):
		return "is not absolute; write the whole path, such as /etc/motd"
	case len(name) >= maxPath:
		return "is longer than 4095 bytes"
	case name == "/" || path.Clean(name) != name:
		return "is not a clean path of a file; leave out '//', '.', '..' and a '/' at the end"
	}
	if problem := PathProblem(name); problem != "" {
		return problem
	}
	for _, folder := range foreignFolders {
		if below := name == folder || strings.HasPrefix(name, folder+"/"); below && !strings.HasPrefix(name, "/usr/local/") {
			return "lies in " + folder + ", which belongs to the system or does not outlive a boot; use /etc, /opt, /var or /usr/local"
		}
	}
	if ownPath(name) {
		return "is written by kiln; use the fields of cluster.yaml or a patch instead"
	}
	return ""
}

// PathProblem returns what keeps the first boot from verifying a path, "" if nothing does: its list of files has
// a line for each, of words (read), and sha256sum and stat print a name with a backslash or a line end in another
// form.
func PathProblem(name string) string {
	switch {
	case hasControl(name):
		return "has a control character, a line end or another character that cannot be seen; remove it"
	case strings.Contains(name, `\`):
		return `has a backslash, with which the first boot cannot verify a file; remove it`
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case len(part) > maxName:
			return "has a part of more than 255 bytes"
		case strings.TrimSpace(part) != part:
			return "has a part that begins or ends with a blank; remove the blank"
		}
	}
	return ""
}

// ownPath says whether kiln writes a file, or anything in its folder, itself.
func ownPath(name string) bool {
	for _, folder := range ownFolders {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	for _, file := range ownFiles {
		if name == file {
			return true
		}
	}
	return strings.HasPrefix(name, NetworkdPrefix) || strings.HasPrefix(name, KeyfilePrefix)
}

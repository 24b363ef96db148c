package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits of paths: those of Linux, and the most parts. The folders of a file are looked up one by
// one, so that a path costs more the more parts it has.
const (
	maxPath  = 4096
	maxName  = 255
	maxParts = 100
)

// foreignFolders belong to the kernel or the system, or are empty after every boot.
var foreignFolders = []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/tmp", "/usr"}

// Folders and files that kiln writes. A folder stands for everything in it.
var (
	ownFolders = []string{
		"/etc/etcd",
		"/etc/kiln",
		"/etc/kubernetes/apiserver",
		"/etc/kubernetes/pki",
		"/var/lib/etcd",
		"/var/lib/kiln",
		"/var/lib/kubelet",
	}
	ownFiles = []string{
		"/etc/NetworkManager/conf.d/90-kiln.conf",
		"/etc/cni/net.d/10-flannel.conflist",
		"/etc/containerd/config.toml",
		"/etc/hostname",
		"/etc/kubernetes/admin.conf",
		"/etc/kubernetes/bootstrap-kubelet.conf",
		"/etc/kubernetes/controller-manager.conf",
		"/etc/kubernetes/haproxy.cfg",
		"/etc/kubernetes/kube-vip.conf",
		"/etc/kubernetes/kubelet.conf",
		"/etc/kubernetes/manifests/etcd.yaml",
		"/etc/kubernetes/manifests/haproxy.yaml",
		"/etc/kubernetes/manifests/kube-apiserver.yaml",
		"/etc/kubernetes/manifests/kube-controller-manager.yaml",
		"/etc/kubernetes/manifests/kube-scheduler.yaml",
		"/etc/kubernetes/manifests/kube-vip.yaml",
		"/etc/kubernetes/proxy.conf",
		"/etc/kubernetes/scheduler.conf",
		"/etc/kubernetes/super-admin.conf",
		"/etc/modules-load.d/90-kiln.conf",
		"/etc/sysctl.d/90-kiln.conf",
		"/etc/systemd/network/05-kiln-pods.network",
		"/etc/systemd/networkd.conf.d/90-kiln.conf",
		"/etc/systemd/system/containerd.service.d/10-kiln.conf",
		"/etc/systemd/system/containerd.service.d/20-proxy.conf",
		"/etc/systemd/system/containerd.service.d/25-limits.conf",
		"/etc/systemd/system/kiln-backup.service",
		"/etc/systemd/system/kiln-backup.timer",
		"/etc/systemd/system/kiln-system.service",
		"/etc/systemd/system/kiln-wall.service",
		"/etc/systemd/system/kiln.service",
		"/etc/systemd/system/kubelet.service",
		"/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
		"/etc/systemd/system/kubelet.service.d/20-kiln-wall.conf",
		"/etc/systemd/system/kubelet.service.d/kubeadm.conf",
		"/etc/systemd/system/nftables.service.d/90-kiln.conf",
	}
)

// The paths of files about interfaces begin with one of these, and end with the interface's name.
const (
	NetworkdPrefix = "/etc/systemd/network/10-kiln-"
	KeyfilePrefix  = "/etc/NetworkManager/system-connections/kiln-"
)

func filePathProblem(name string) string {
	switch {
	case !strings.HasPrefix(name, "/"):
		return "is not absolute; write the whole path, such as /etc/motd"
	case name == "/" || path.Clean(name) != name:
		return "is not a clean path of a file; leave out '//', '.', '..' and a '/' at the end"
	}
	if problem := PathProblem(name); problem != "" {
		return problem
	}
	for _, folder := range foreignFolders {
		if below(folder, name) && !strings.HasPrefix(name, "/usr/local/") {
			return "lies in " + folder + ", which belongs to the system " +
				"or does not outlive a boot; use /etc, /opt, /var or /usr/local"
		}
	}
	for _, folder := range ownFolders {
		if below(folder, name) && !below(seccompFolder, name) {
			return "lies in " + folder + ", which is kiln's with everything in it: the fields of " +
				"cluster.yaml and patches change what is there; write a file of your own " +
				"elsewhere, such as below /etc or /opt"
		}
	}
	switch {
	case !ownPath(name):
		return ""
	case path.Base(name) == "haproxy.yaml" || path.Base(name) == "kube-vip.yaml":
		return "is the name of a static pod of kiln's, which a field may bring later; choose " +
			"another file name"
	}
	return "is written by kiln; use the fields of cluster.yaml or a patch instead"
}

// unitEscape is a character of a unit's name as systemd writes it: systemd.unit(5).
var unitEscape = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// PathProblem returns why the first boot cannot verify a path, "" if it can. Its list of files has
// a line for each of them, which the shell reads as words. A backslash may only begin an escape of
// systemd's, as in names of units: echo of some shells takes it for another character elsewhere.
func PathProblem(name string) string {
	switch {
	case hasControl(name):
		return "has a control character, a line end or another character that cannot be seen; " +
			"remove it"
	case strings.Contains(unitEscape.ReplaceAllString(name, ""), `\`):
		return `has a backslash that is no escape of systemd's, such as \x2d for '-'; remove it`
	case len(name) >= maxPath:
		return "is longer than 4095 bytes"
	case strings.Count(name, "/") > maxParts:
		return fmt.Sprintf("lies in more than %d folders; choose a shorter path", maxParts-1)
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

// seccompFolder is where the kubelet looks for the profiles of pods, and for nothing of kiln's.
const seccompFolder = "/var/lib/kubelet/seccomp"

// ownPath reports whether kiln writes the file at a path, or anything in its folder.
func ownPath(name string) bool {
	for _, folder := range ownFolders {
		if below(folder, name) && !below(seccompFolder, name) {
			return true
		}
	}
	return slices.Contains(ownFiles, name) ||
		strings.HasPrefix(name, NetworkdPrefix) || strings.HasPrefix(name, KeyfilePrefix)
}

func below(folder, name string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

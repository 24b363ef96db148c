package target

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Version is a version of an operating system: what its stock images have, as far as it decides
// whether a machine can be part of a cluster.
type Version struct {
	// Name is the value of machines.osVersion. VERSION_ID in /etc/os-release is the same, or begins
	// with it and a dot.
	Name string
	// Kernel is the oldest kernel of the images.
	Kernel Number
	// Cgroup is the version of cgroups that the images boot with.
	Cgroup int
	// Containerd is the version of containerd in the system's own packages; zero without such a
	// package.
	Containerd Number
}

// Number is a version of a program as far as its minor.
type Number struct{ Major, Minor int }

// String returns n as programs print it, such as 5.13.
func (n Number) String() string { return fmt.Sprintf("%d.%d", n.Major, n.Minor) }

// Before reports whether n is older than m.
func (n Number) Before(m Number) bool {
	return cmp.Or(cmp.Compare(n.Major, m.Major), cmp.Compare(n.Minor, m.Minor)) < 0
}

// What Kubernetes asks of a system.
var (
	// NFTablesKernel is the oldest kernel with which kube-proxy runs in mode nftables
	// (kubernetes.io: kernel-version-requirements; pkg/proxy/nftables/supported.go).
	NFTablesKernel = Number{5, 13}
	// CRIv1 is the first containerd with version 1 of CRI, the only one that kubelets know from
	// 1.26 on (kubernetes.io: container-runtimes; containerd's RELEASES.md).
	CRIv1 = Number{1, 6}
)

// The versions of the systems that have any, as their pages said in November 2026.
//
// Kernels: packages.debian.org; Canonical's "Kernels covered by Livepatch", those of general
// availability; Red Hat's "Examples on RHEL 8, RHEL 9, and RHEL 10"; the names of the images in
// aws/amazon-ecs-ami. Cgroups: kubernetes.io, "About cgroup v2"; Amazon's guide to AL2023.
// containerd: packages.debian.org; packages.ubuntu.com with updates, and for 26.04 the package's
// list of files, in which docs/mounts.md came with 2.2; aws/amazon-ecs-ami.
var (
	ubuntuVersions = []Version{
		{Name: "20.04", Kernel: Number{5, 4}, Cgroup: 1},
		{Name: "22.04", Kernel: Number{5, 15}, Cgroup: 2, Containerd: Number{2, 2}},
		{Name: "24.04", Kernel: Number{6, 8}, Cgroup: 2, Containerd: Number{2, 2}},
		{Name: "26.04", Kernel: Number{7, 0}, Cgroup: 2, Containerd: Number{2, 2}},
	}
	debianVersions = []Version{
		{Name: "11", Kernel: Number{5, 10}, Cgroup: 2, Containerd: Number{1, 4}},
		{Name: "12", Kernel: Number{6, 1}, Cgroup: 2, Containerd: Number{1, 6}},
		{Name: "13", Kernel: Number{6, 12}, Cgroup: 2, Containerd: Number{1, 7}},
	}
	redHatVersions = []Version{
		{Name: "8", Kernel: Number{4, 18}, Cgroup: 1},
		{Name: "9", Kernel: Number{5, 14}, Cgroup: 2},
		{Name: "10", Kernel: Number{6, 12}, Cgroup: 2},
	}
	amazonVersions = []Version{
		{Name: "2", Kernel: Number{4, 14}, Cgroup: 1},
		{Name: "2023", Kernel: Number{6, 1}, Cgroup: 2, Containerd: Number{2, 3}},
	}
)

// Version returns the row of a version, also for one that goes on after a dot, such as 9.6 for the
// row 9. ok reports whether the table has it.
func (s *System) Version(name string) (v Version, ok bool) {
	i := slices.IndexFunc(s.Versions, func(v Version) bool {
		return name == v.Name || strings.HasPrefix(name, v.Name+".")
	})
	if i < 0 {
		return Version{}, false
	}
	return s.Versions[i], true
}

// VersionNames returns the names of the versions, oldest first.
func (s *System) VersionNames() (names []string) {
	for _, v := range s.Versions {
		names = append(names, v.Name)
	}
	return names
}

// RefusedArgument returns why no kubelet starts on a kernel with an argument, "" if one does: it
// makes systemd boot with cgroup v1 (kernel-command-line(7) of systemd 257).
func RefusedArgument(argument string) string {
	name, value, _ := strings.Cut(argument, "=")
	off := slices.Contains([]string{"0", "no", "n", "false", "f", "off"}, value)
	if name == "systemd.unified_cgroup_hierarchy" && off ||
		name == "systemd.legacy_systemd_cgroup_controller" && !off {
		return argument + " boots with cgroup v1, on which no kubelet starts; remove it"
	}
	return ""
}

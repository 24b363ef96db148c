package config

import (
	"regexp"
	"slices"
	"strings"

	"kiln/render/target"
)

// osVersion matches a version of a system.
var osVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)

// osVersion checks that a machine's operating system has its osVersion, and that the version can
// carry what the machine is to run. joins reports whether the machine is a Node.
func (v *checker) osVersion(m settings, joins bool) {
	system := m.system()
	if m.OSVersion == "" || system.Name == "" {
		return
	}
	if len(system.Versions) == 0 {
		v.reportLayer(m, narrower(m, "osVersion", "os"), "%s, which %s has, replaces itself by "+
			"newer versions; leave osVersion out, or set osVersion: \"\" for that machine",
			m.OS, m.name)
		return
	}
	version, ok := system.Version(m.OSVersion)
	if !ok || !osVersion.MatchString(m.OSVersion) {
		v.reportLayer(m, narrower(m, "osVersion", "os"), "%s is not a version of %s (of %s) that "+
			"kiln knows: %s; correct it, or set osVersion: \"\" for that machine",
			quote(m.OSVersion), m.OS, m.name, strings.Join(system.VersionNames(), ", "))
		return
	}
	name := m.OS + " " + m.OSVersion
	if version.Cgroup < 2 && !slices.Contains(m.IgnorePreflight, "cgroup") {
		v.reportLayer(m, narrower(m, "osVersion", "os"), "%s boots with cgroup v1, which kubelets "+
			"from v1.35 on refuse, and the first boot of %s would stop (check cgroup); take a "+
			"newer version", name, m.name)
		return
	}
	oldest := target.NFTablesKernel
	if joins && v.c.Spec.Network.Proxy == "nftables" && version.Kernel.Before(oldest) {
		v.reportLayer(m, narrower(m, "osVersion", "os"), "%s (of %s) has the kernel %s, and "+
			"network.proxy nftables needs %s; take a newer version, or write proxy: iptables",
			name, m.name, version.Kernel, oldest)
	}
	if m.Binaries.Source == target.SourcePackages && version.Containerd.Major > 0 &&
		version.Containerd.Before(target.CRIv1) {
		v.reportLayer(m, narrower(m, "osVersion", "binaries"), "%s (of %s) has a package of "+
			"containerd %s, and no kubelet of kiln's can talk to one before %s; write source: "+
			"download", name, m.name, version.Containerd, target.CRIv1)
	}
}

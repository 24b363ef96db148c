package config

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

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

// folderPath matches a folder whose path can be the name of a volume, with dashes for slashes.
var folderPath = regexp.MustCompile(`^(/[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`)

// maxCAFolder is the longest path of a folder of certificates. The name of its volume begins with
// "ca" and has at most 63 characters.
const maxCAFolder = 61

// secretFolders hold private keys, some of them kiln's.
var secretFolders = []string{
	"/etc/etcd", "/etc/kiln", "/etc/kubernetes", "/etc/pki/tls/private", "/etc/ssl/private",
	"/home", "/root", "/var/lib/etcd", "/var/lib/kiln", "/var/lib/kubelet",
}

// kernelFolders hold devices, sockets, and other ways to the root of the file system.
var kernelFolders = []string{"/dev", "/proc", "/run", "/sys", "/tmp", "/var/run", "/var/tmp"}

func (v *checker) profile(p *Profile, at *yamltext.Location) {
	for key, name := range map[string]string{
		"resolvConf": p.ResolvConf, "cniFolder": p.CNIFolder,
	} {
		if name != "" && (!kubeletPath.MatchString(name) || path.Clean(name) != name ||
			!path.IsAbs(name)) {
			v.report(at.Key(key), "%s is not an absolute path of letters, digits and ._+-; "+
				"correct it", quote(name))
		}
	}
	volumes := map[string]string{}
	for i, folder := range p.CAFolders {
		here, volume := at.Key("caFolders").Index(i), strings.ReplaceAll(folder, "/", "-")
		near := func(other string) bool { return below(folder, other) || below(other, folder) }
		secret := slices.IndexFunc(secretFolders, near)
		switch {
		case !folderPath.MatchString(folder) || len(folder) > maxCAFolder:
			v.report(here, "%s is not a folder whose path can be the name of a volume; write an "+
				"absolute path of lower-case letters, digits and dashes", quote(folder))
		case secret >= 0:
			v.report(here, "%s has private keys in it, or below it (%s), and pods would see them; "+
				"write the folder with the certificates alone, such as /etc/ssl/certs",
				folder, secretFolders[secret])
		case slices.ContainsFunc(kernelFolders, near):
			v.report(here, "%s has devices, sockets or temporary files in it, and pods would see "+
				"them; write the folder with the certificates alone, such as /etc/ssl/certs",
				folder)
		case volumes[volume] != "":
			v.report(here, "%s has the same volume as %s; remove one", folder, volumes[volume])
		}
		volumes[volume] = folder
	}
	if p.EtcdUser == nil {
		return
	}
	const nobody = 65534
	for key, n := range map[string]int{"uid": p.EtcdUser.UID, "gid": p.EtcdUser.GID} {
		if n < 1 || n >= nobody {
			v.report(at.Key("etcdUser").Key(key), "%d is not the number of a user or group of "+
				"its own; write what id etcd prints on the image, 1 to 65533", n)
		}
	}
}

func (v *checker) profileLayers(m settings) {
	packages := m.Binaries.Source == target.SourcePackages
	if m.Profile.CNIFolder != "" && (packages || m.Binaries.Fetches()) {
		v.reportLayer(m, narrower(m, "profile", "binaries"), "with binaries.source %s the CNI "+
			"plugins of %s are in %s; remove profile.cniFolder, or the source",
			m.Binaries.Source, m.name, target.CNIBinDir)
	}
	for _, layer := range m.Layers() {
		// The layer of the profile may leave the system to narrower ones.
		if layer.Layer == layerOf(m, "profile") && layer.OS != "" && layer.OS != m.OS {
			v.reportLayer(m, "os", "%s has a profile for %s (%s); write a profile beside this os, "+
				"or profile: {} if the image is a stock one", m.name, layer.OS, layer.At("profile"))
		}
	}
}

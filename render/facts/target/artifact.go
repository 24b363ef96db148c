package target

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Artifact is a file with programs that a machine fetches at its first boot.
type Artifact struct {
	// Name is the name of its Program.
	Name string `json:"name"`
	// Version begins with v. The program says it itself (--version), with or without the v.
	Version string `json:"version"`
	Arch    string `json:"arch"` // amd64 or arm64
	URL     string `json:"url"`
	SHA256  string `json:"sha256"`         // 64 hexadecimal digits
	Size    int64  `json:"size,omitempty"` // in bytes; 0 if it is not known
}

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsSHA256 reports whether a string is a SHA-256 in lower-case hexadecimal digits.
func IsSHA256(text string) bool { return sha256Text.MatchString(text) }

// String names an artifact in messages: kubelet v1.36.3 for amd64.
func (a Artifact) String() string {
	return a.Name + " " + a.Version + " for " + a.Arch
}

// FindArtifact returns the artifact with that name, version and architecture, if the list has it.
func FindArtifact(list []Artifact, name, version, arch string) (a Artifact, ok bool) {
	i := slices.IndexFunc(list, func(a Artifact) bool {
		return a.Name == name && a.Version == version && a.Arch == arch
	})
	if i < 0 {
		return Artifact{}, false
	}
	return list[i], true
}

// Program says where the artifacts of one name are published, and where they go.
type Program struct {
	// Name is kubelet, or the field of machines.binaries that has its version. A system extension
	// is called kubernetes- and the operating system that it is for.
	Name string
	// URL is where the artifact is. {version} stands for its version, {number} for that without the
	// v, {minor} for the first two parts of that, {arch} for the architecture, and {cpu} for the
	// name that systemd has for it. It is empty if each published file is for one release of the
	// operating system.
	URL string
	// Sums is the file with its published SHA-256, likewise. It may have those of other files too.
	Sums string
	// Path is its program on the machine; of several, the one that says its version. The path of an
	// extension's image has {minor}, as URL.
	Path string
	// Folder is where the archive is unpacked; empty if the artifact is the program itself.
	Folder string
	// System is the operating system that the artifact extends; empty for one of every system.
	System string
	// Version is what machines get unless the configuration names another one; empty for the
	// kubelet, which has its version from elsewhere.
	Version string
}

// BinDir and CNIBinDir are where fetched programs are. /opt can be written on every system of the
// table, lies on a disk, and SELinux lets systemd start programs from its folders bin.
const (
	BinDir    = "/opt/bin"
	CNIBinDir = "/opt/cni/bin"
)

const github = "https://github.com/"

// ExtensionDir is where systemd-sysext finds the images of extensions, each under the name that its
// file extension-release has. SystemKubelet is the path of the kubelet in every extension and
// package.
const (
	ExtensionDir  = "/var/lib/extensions"
	SystemKubelet = "/usr/bin/kubelet"
)

// Programs is the table of the programs that machines fetch, in the order in which they do so. The
// versions are one set that works with every minor of Releases: the newest containerd of the line
// 2.3, and what its release notes name beside it or newer.
var Programs = []Program{
	{
		Name: "kubelet",
		URL:  "https://dl.k8s.io/release/{version}/bin/linux/{arch}/kubelet",
		Sums: "https://dl.k8s.io/release/{version}/bin/linux/{arch}/kubelet.sha256",
		Path: BinDir + "/kubelet",
	}, {
		Name: "containerd",
		URL: github + "containerd/containerd/releases/download/{version}/" +
			"containerd-{number}-linux-{arch}.tar.gz",
		Sums: github + "containerd/containerd/releases/download/{version}/" +
			"containerd-{number}-linux-{arch}.tar.gz.sha256sum",
		Path: BinDir + "/containerd", Folder: path.Dir(BinDir), Version: "v2.3.6",
	}, {
		Name:    "runc",
		URL:     github + "opencontainers/runc/releases/download/{version}/runc.{arch}",
		Sums:    github + "opencontainers/runc/releases/download/{version}/runc.sha256sum",
		Path:    BinDir + "/runc",
		Version: "v1.5.1",
	}, {
		Name: "cniPlugins",
		URL: github + "containernetworking/plugins/releases/download/{version}/" +
			"cni-plugins-linux-{arch}-{version}.tgz",
		Sums: github + "containernetworking/plugins/releases/download/{version}/" +
			"cni-plugins-linux-{arch}-{version}.tgz.sha256",
		Path: CNIBinDir + "/bridge", Folder: CNIBinDir, Version: "v1.9.1",
	}, {
		Name: "crictl",
		URL: github + "kubernetes-sigs/cri-tools/releases/download/{version}/" +
			"crictl-{version}-linux-{arch}.tar.gz",
		Sums: github + "kubernetes-sigs/cri-tools/releases/download/{version}/" +
			"crictl-{version}-linux-{arch}.tar.gz.sha256",
		Path: BinDir + "/crictl", Folder: BinDir, Version: "v1.37.0",
	}, {
		// flatcar/sysext-bakery: kubernetes.sysext
		Name: "kubernetes-flatcar", System: "flatcar",
		URL: "https://extensions.flatcar.org/extensions/kubernetes-{version}-{cpu}.raw",
		Sums: github + "flatcar/sysext-bakery/releases/download/kubernetes-{version}/" +
			"SHA256SUMS",
		Path: ExtensionDir + "/kubernetes.raw",
	}, {
		// fedora-sysexts/fedora: kubernetes-1.36, made for one release of the system
		Name: "kubernetes-fedora-coreos", System: "fedora-coreos",
		Path: ExtensionDir + "/kubernetes-{minor}.raw",
	}, {
		Name: "kubernetes-microos", System: "microos",
		Path: ExtensionDir + "/kubernetes.raw",
	},
}

// Sources of the programs of a machine, as machines.binaries has them. An empty one and
// preinstalled mean the image.
const (
	SourceDownload = "download"
	SourceSysext   = "sysext"
	SourcePackages = "packages"
)

// Sources are all sources.
var Sources = []string{"preinstalled", SourceDownload, SourceSysext, SourcePackages}

// ProgramsOf returns what a machine with that system fetches, in the order of the table.
func ProgramsOf(source, system string) (out []Program) {
	for _, p := range Programs {
		if source == SourceDownload && p.System == "" ||
			source == SourceSysext && p.System == system {
			out = append(out, p)
		}
	}
	return out
}

// ExtendedSystems returns the names of the operating systems for which there are extensions.
func ExtendedSystems() []string {
	return SystemNames(func(s *System) bool { return len(ProgramsOf(SourceSysext, s.Name)) > 0 })
}

// ProgramNamed returns the program with that name, and whether the table has it.
func ProgramNamed(name string) (p Program, ok bool) {
	i := slices.IndexFunc(Programs, func(p Program) bool { return p.Name == name })
	if i < 0 {
		return Program{}, false
	}
	return Programs[i], true
}

// ProgramNames returns the names of the programs, in the order of the table.
func ProgramNames() (names []string) {
	for i := range Programs {
		names = append(names, Programs[i].Name)
	}
	return names
}

// At returns an address or a path of the program for one version and architecture.
func (p *Program) At(address, version, arch string) string {
	number, cpu := strings.TrimPrefix(version, "v"), arch
	if arch == "amd64" {
		cpu = "x86-64"
	}
	parts := strings.Split(number, ".")
	return strings.NewReplacer("{version}", version, "{number}", number,
		"{minor}", strings.Join(parts[:min(2, len(parts))], "."),
		"{arch}", arch, "{cpu}", cpu,
	).Replace(address)
}

// Mirrored returns a URL with a mirror in the place of its scheme and host, if there is a mirror.
func Mirrored(text, mirror string) string {
	u, err := url.Parse(text)
	if err != nil || mirror == "" {
		return text
	}
	return mirror + u.EscapedPath()
}

// sums are the published SHA-256 of artifacts, for amd64 and for arm64.
var sums = []struct{ name, version, amd64, arm64 string }{
	// kOps: pkg/assets/assetdata; for 1.34 and 1.35 kubespray:
	// roles/kubespray_defaults/vars/main/checksums.yml. Both copy what the projects publish.
	{"kubelet", "v1.34.4",
		"03b8fea715a7ef82eeaf518dee34c72670c57cc7bc40dc1320c04fbf4f15172f",
		"c78845473c434ee85a2444eeab87f8b20f524e3ab6854a078f79468f44aad8f5"},
	{"kubelet", "v1.35.1",
		"e7343310e03ff0d424df4397bdfa4468947d6d1f0f93dac586c1e8d6e4086d5d",
		"73475c6db8fd8a9780b1b378fa2f917875e6146166c24603c1abc6eafd4493a8"},
	{"kubelet", "v1.36.3",
		"46707a53209f826ad0f0d62371ac69cd00e78fd9a8176cf5f6f87f18f7f8b718",
		"57205a5daf5883873d87b4914e1e00bdd7707acd075714788cfb0fc1f60bc414"},
	{"kubelet", "v1.36.4",
		"cf2562db46c48ab84cc3791540778ee7fb1a0a008529adbb434723dd02ed8b4b",
		"fd53ea3fcbd077844f50a3c67e9b52f62972a563674956bab0c0f4fb7ea37d50"},
	{"kubelet", "v1.37.1",
		"cee008c1640c3b41820ef31d35b3cffc132b0c4b78c288be2b8022ebc7aa8293",
		"03e64bb3e1611d1b9ea40095b382af014bd2aa0b5f1b6670af6bbfaa0b735443"},
	{"containerd", "v2.3.6",
		"df806bb9b86653ebc94822a7076642ff3c3614324dbc1b511bdf75ac1669b762",
		"6b3d383cc051f0bd7b2303f9034fdc9029f04c237cadb23b5e890a5b68534e05"},
	{"runc", "v1.5.1",
		"177df879d50c913eb205e898d5c1c05a18f574053c0ce5524c471208eaf06f6f",
		"ca70e7dbd6616ca782a59b5d3ac86909123fdaa9fa3f89dcf29051c70eee7ce9"},
	{"cniPlugins", "v1.9.1",
		"b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303",
		"56171987d3947707c3563db2f4001bccaf50fd63468611b9f3cbecb1375ee7ec"},
	{"crictl", "v1.37.0",
		"67c983ee8a6bbce73d39a186e633c5fe4f8a70e62171ac3bd92a9c1b2c601670",
		"c9dfdf9ebc353a0027c88622206a5e90ee6f0e78cfabf1a9ef4dc575298fd555"},
}

// PublishedArtifacts is the table of the artifacts that need no lock.
var PublishedArtifacts = publishedArtifacts()

func publishedArtifacts() (out []Artifact) {
	for _, s := range sums {
		p, ok := ProgramNamed(s.name)
		if !ok {
			panic("target: no program " + s.name)
		}
		for _, arch := range []string{"amd64", "arm64"} {
			sum := map[string]string{"amd64": s.amd64, "arm64": s.arm64}[arch]
			out = append(out, Artifact{
				Name: s.name, Version: s.version, Arch: arch,
				URL: p.At(p.URL, s.version, arch), SHA256: sum,
			})
		}
	}
	return out
}

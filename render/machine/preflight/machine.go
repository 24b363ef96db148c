package preflight

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

var hardware = []Entry{
	{
		ID: "arch", Reads: "`uname -m`",
		Wants:    "the processor that `arch` names, with `source: download` or `preload`",
		Severity: Stop,
		Remedy:   "boot it on this architecture, or set machines.arch",
		Source:   "programs and images are built for one",
		calls: func(f *Facts) []call {
			kernels := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
			brings := len(f.Machine.Artifacts) > 0 || f.Machine.Settings.Preload != ""
			return when(brings, "equals "+kernels[f.Machine.Settings.Arch]+" uname -m")
		},
	}, {
		ID: "os-version", Reads: "`/etc/os-release`", Wants: "the version that `osVersion` names",
		Severity: Stop,
		Remedy:   "boot an image of this version, or correct machines.osVersion",
		Source:   "the document is for one version: docs/systems.md",
		calls: func(f *Facts) []call {
			version := f.Machine.Settings.OSVersion
			return when(version != "", "has_word "+version+" os_version")
		},
	}, {
		ID: "cpus", Reads: "`nproc`", Wants: "2 on control planes", Severity: Stop,
		Remedy:  "give it two processors",
		Kubeadm: []string{"NumCPU"}, Source: "kubeadm",
		calls: onControlPlanes("at_least 2 nproc"),
	}, {
		ID: "memory", Reads: "`/proc/meminfo`", Wants: "1700 MiB on control planes",
		Severity: Stop,
		Remedy:   "give it 1700 MiB of memory",
		Kubeadm:  []string{"Mem"}, Source: "kubeadm",
		calls: onControlPlanes(memory(1700)),
	}, {
		ID: "memory-etcd", Reads: "`/proc/meminfo`", Wants: "900 MiB on etcd machines",
		Severity: Stop,
		Remedy:   "give it 1 GiB of memory",
		Kubeadm:  []string{"Mem"}, Source: "kubelet, containerd and a member of etcd",
		calls: func(f *Facts) []call { return when(!f.Machine.Joins(), memory(900)) },
	},
}

// memory returns a call that wants that many MiB; /proc/meminfo counts KiB.
func memory(mib int) string {
	return fmt.Sprintf("memory_kib %d", mib<<10)
}

// systemVerification is kubeadm's one name for all its checks of a kernel.
const systemVerification = "SystemVerification"

var kernel = []Entry{
	{
		ID: "kernel", Reads: "`uname -r`", Wants: "5.4", Severity: Warn,
		Remedy:  "boot a newer kernel",
		Kubeadm: []string{systemVerification}, Source: "kubeadm",
		calls: func(f *Facts) []call {
			return kernelFrom(f, !nftables(f), target.Number{Major: 5, Minor: 4})
		},
	}, {
		ID: "kernel-nftables", Reads: "`uname -r`",
		Wants:    target.NFTablesKernel.String() + " with `network.proxy: nftables`",
		Severity: Stop,
		Remedy:   "boot a newer kernel, or set network.proxy: iptables",
		Kubeadm:  []string{systemVerification},
		Source:   "kubernetes.io: kernel-version-requirements; kube-proxy exits",
		calls: func(f *Facts) []call {
			return kernelFrom(f, nftables(f), target.NFTablesKernel)
		},
	}, {
		ID: "cgroup", Reads: "`/sys/fs/cgroup/cgroup.controllers`",
		Wants:    "cgroup v2, with a kubelet before 1.35; later ones look themselves",
		Severity: Stop,
		Remedy:   "boot with cgroup v2, without systemd.unified_cgroup_hierarchy=0",
		Kubeadm:  []string{systemVerification},
		Source:   "kubeadm; the kubelet's failCgroupV1, from 1.35",
		calls: func(f *Facts) []call {
			return when(f.Machine.KubeletMinor < 35, "exist sys/fs/cgroup/cgroup.controllers")
		},
	}, {
		ID: "module", Reads: "`/sys/module`, `modules.builtin`",
		Wants:    "each of kiln's and yours",
		Severity: Stop,
		Remedy:   "use a kernel that has them",
		Source:   "kubernetes.io: container-runtimes, prerequisites",
		list:     "modules",
		calls:    func(f *Facts) []call { return each(f.Modules...) },
	}, {
		ID: "sysctl", Reads: "`/proc/sys`", Wants: "forwarding", Severity: Stop,
		Remedy:  "find what sets it otherwise: sysctl --system",
		Kubeadm: []string{"FileContent--proc-sys-…"}, Source: "kubeadm",
		each:  true,
		calls: sysctls,
	}, {
		ID: "own-sysctl", Reads: "`/proc/sys`", Wants: "the numbers of your `sysctls`",
		Severity: Warn,
		Remedy:   "the kernel may have refused or rounded them: systemctl status systemd-sysctl",
		Source:   "a kernel may refuse yours",
		list:     "sysctls",
		calls:    userSysctls,
	}, {
		ID: "swap", Reads: "`/proc/swaps`", Wants: "nothing, unless `kubelet.failSwapOn: false`",
		Severity: Stop,
		Remedy:   "turn swap off, or set kubelet.failSwapOn: false",
		Kubeadm:  []string{"Swap"}, Source: "kubeadm warns; the kubelet exits",
		calls: func(f *Facts) []call { return when(!f.SwapAllowed, "swap_off") },
	},
}

// kernelFrom asks for a kernel if wanted, where images of the system may have an older one. The
// check os-version holds the machine to osVersion, and a system that replaces itself is newer.
func kernelFrom(f *Facts, wanted bool, least target.Number) []call {
	s := f.Machine.System
	v, known := s.Version(f.Machine.Settings.OSVersion)
	ignored := slices.Contains(f.Machine.Settings.IgnorePreflight, "os-version")
	older := len(s.Versions) > 0 && (!known || ignored || v.Kernel.Before(least))
	return when(wanted && older, "version_from "+least.String()+" uname -r")
}

// nftables reports whether kube-proxy on the machine uses nftables.
func nftables(f *Facts) bool {
	return f.Machine.Joins() && f.Plan.Config.Spec.Network.Proxy == "nftables"
}

// sysctls returns the kernel settings without which pods are cut off. The kubelet asks for those of
// protectKernelDefaults itself.
func sysctls(f *Facts) (out []call) {
	for _, key := range forwarding {
		if value, ok := f.Sysctls[key]; ok {
			path := strings.ReplaceAll(key, ".", "/")
			out = append(out, call{key, "equals " + value + " cat proc/sys/" + path})
		}
	}
	return out
}

var forwarding = []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"}

// userSysctls returns the user's kernel settings whose value reads as it was written: numbers, and
// not of an interface, which may come later.
func userSysctls(f *Facts) (out []call) {
	for _, key := range slices.Sorted(maps.Keys(f.Machine.Settings.Sysctls)) {
		value := f.Machine.Settings.Sysctls[key]
		ofInterface := interfaces.MatchString(key) && !everyInterface.MatchString(key)
		if numbers.MatchString(value) && !ofInterface && !slices.Contains(forwarding, key) {
			path := strings.ReplaceAll(key, ".", "/")
			out = append(out, call{key, path + "=" + strings.ReplaceAll(value, " ", ",")})
		}
	}
	return out
}

var (
	numbers        = regexp.MustCompile(`^(0|-?[1-9][0-9]*)( (0|-?[1-9][0-9]*))*$`)
	interfaces     = regexp.MustCompile(`[/*]|^net\.ipv[46]\.(conf|neigh)\.`)
	everyInterface = regexp.MustCompile(`^net\.ipv[46]\.(conf|neigh)\.(all|default)\.`)
)

var clock = []Entry{
	{
		ID: "clock-behind", Reads: "`date`", Wants: "the machine's certificates have begun",
		Severity: Wait,
		Remedy:   "set the clock, or let it reach a time server",
		Source:   "machines without a battery boot in the past",
		calls:    func(f *Facts) []call { return one("at_least " + date(f.From)) },
	}, {
		ID: "cert-expired", Reads: "`date`", Wants: "the machine's certificates have not ended",
		Severity: Stop,
		Remedy:   "kiln secrets renew, render again; or set the clock",
		Source:   "an old document",
		calls:    func(f *Facts) []call { return one("at_most " + date(f.Until)) },
	}, {
		ID: "token-expired", Reads: "`date`",
		Wants: "the bootstrap token has not ended, " +
			"as long as the kubelet has no certificate of its own",
		Severity: Stop,
		Remedy:   "kiln token renew of its pool, render again, do what kiln plan says",
		Source:   "the API server answers 401",
		calls: func(f *Facts) []call {
			return when(f.Machine.Pool, "token_until "+seconds(f.TokenEnd))
		},
	}, {
		ID: "time-sync", Reads: "systemd-timesyncd's marker, `timedatectl`",
		Wants:    "a time server has set the clock, on control planes and etcd machines",
		Severity: Warn,
		Remedy:   "let it reach a time server",
		Source:   "certificates and leases need equal clocks",
		calls:    func(f *Facts) []call { return when(!f.Machine.Worker(), "clock_synced") },
	},
}

// seconds returns a time as the shell counts it: seconds since 1970.
func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// date returns a time, and the program whose answer is held against it.
func date(t time.Time) string { return seconds(t) + " date +%s" }

// identity holds the checks of the machine's names and of its users.
var identity = []Entry{
	{
		ID: "product-uuid", Reads: "`/sys/class/dmi/id/product_uuid`",
		Wants:    "the node's `productUUID`",
		Severity: Stop,
		Remedy:   "boot this document on its own machine, or correct productUUID",
		Source: "kubernetes.io: install-kubeadm, unique product_uuid; many machines with arm64 " +
			"have no DMI: give them `mac`",
		calls: func(f *Facts) []call {
			return when(f.Machine.ProductUUID != "", "equals "+f.Machine.ProductUUID+
				" cat sys/class/dmi/id/product_uuid")
		},
	}, {
		ID: "mac", Reads: "`ip link`", Wants: "an interface with the node's `mac`",
		Severity: Stop,
		Remedy:   "boot this document on its own machine, or correct mac",
		Source:   "kubernetes.io: install-kubeadm, unique MAC address",
		calls:    func(f *Facts) []call { return when(f.Machine.MAC != "", "mac "+f.Machine.MAC) },
	}, {
		ID: "etcd-user", Reads: "`id etcd`",
		Wants:    "the user and the group as which etcd's pod runs, with a member of etcd",
		Severity: Stop,
		Remedy:   "its pod runs as …: boot an image whose user etcd has these numbers",
		Source: "etcd cannot read what is another user's, " +
			"and nobody else may read what is etcd's",
		calls: etcdUser,
	},
}

// etcdUser compares the machine's user etcd with the pod's. The image may have one of its own: from
// a package, or with other numbers than the system had when its row was written.
func etcdUser(f *Facts) []call {
	if !f.Machine.EtcdMember {
		return nil
	}
	uid, gid := f.Machine.System.Etcd.UID, f.Machine.System.Etcd.GID
	return []call{{
		fmt.Sprintf("%d:%d", uid, gid),
		fmt.Sprintf("user %s %d %d", plan.EtcdUser, uid, gid),
	}}
}

var disks = []Entry{
	{
		ID: "mount", Reads: "`/proc/mounts`", Wants: "the `mounts` of your `cloudConfig`",
		Severity: Stop,
		Remedy:   "see that its device is there at boot: cloud-init leaves out one that is late",
		Source: "cloud-init: cc_mounts; " +
			"without its disk, etcd would write to the system's for good",
		list: "mounts",
		calls: func(f *Facts) (out []call) {
			for _, folder := range f.Mounts {
				out = append(out, when(word.MatchString(folder), folder)...)
			}
			return out
		},
	}, {
		ID: "disk", Reads: "free space in `/var/lib`", Wants: "1 GiB", Severity: Stop,
		Remedy: "make room",
		Source: "images and etcd do not fit into less",
		calls:  always("at_least 1024 free_mib var/lib"),
	}, {
		ID: "disk-log", Reads: "free space in `/var/log`",
		Wants:    "the audit logs fit, on control planes with profile cis",
		Severity: Stop,
		Remedy:   "make room for the audit log",
		Source:   "audit-log-maxsize, audit-log-maxbackup",
		calls: func(f *Facts) []call {
			return when(f.Machine.ControlPlane() && f.Plan.Hardened(),
				fmt.Sprintf("at_least %d free_mib var/log", plan.AuditMiB*(plan.AuditFiles+2)))
		},
	},
}

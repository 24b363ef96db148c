package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

var hardware = []Entry{
	{
		ID: "root", Reads: "`id -u`", Wants: "0", Severity: Stop,
		Remedy:  "run the hook as root, from kiln.service",
		Kubeadm: []string{"IsPrivilegedUser"}, Source: "kubeadm",
		calls: always("root"),
	}, {
		ID: "systemd", Reads: "`/run/systemd/system`", Wants: "systemd is process 1",
		Severity: Stop,
		Remedy:   "boot this document on a machine: a container has no systemd",
		Source:   "sd_booted(3)",
		calls:    always("file-exists /run/systemd/system"),
	}, {
		ID: "arch", Reads: "`uname -m`", Wants: "the processor that `arch` names",
		Severity: Stop,
		Remedy:   "boot it on this architecture, or set machines.arch",
		Source:   "programs and images are built for one",
		calls: func(f *Facts) []call {
			kernels := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
			return one("arch " + kernels[f.Machine.Settings.Arch])
		},
	}, {
		ID: "os-version", Reads: "`/etc/os-release`", Wants: "the version that `osVersion` names",
		Severity: Stop,
		Remedy:   "boot an image of this version, or correct machines.osVersion",
		Source:   "the document is for one version: docs/systems.md",
		calls: func(f *Facts) []call {
			version := f.Machine.Settings.OSVersion
			return when(version != "", "os-version "+version)
		},
	}, {
		ID: "cpus", Reads: "`nproc`", Wants: "2 on control planes", Severity: Stop,
		Remedy:  "give a control plane two processors",
		Kubeadm: []string{"NumCPU"}, Source: "kubeadm",
		calls: onControlPlanes("cpus 2"),
	}, {
		ID: "memory", Reads: "`/proc/meminfo`", Wants: "1700 MiB on control planes",
		Severity: Stop,
		Remedy:   "give a control plane 1700 MiB of memory",
		Kubeadm:  []string{"Mem"}, Source: "kubeadm",
		calls: onControlPlanes("memory 1700"),
	}, {
		ID: "memory-etcd", Reads: "`/proc/meminfo`", Wants: "900 MiB on etcd machines",
		Severity: Stop,
		Remedy:   "give an etcd machine 1 GiB of memory",
		Kubeadm:  []string{"Mem"}, Source: "kubelet, containerd and a member of etcd",
		calls: func(f *Facts) []call { return when(!f.Machine.Joins(), "memory 900") },
	},
}

// systemVerification is kubeadm's one name for all its checks of a kernel.
const systemVerification = "SystemVerification"

var kernel = []Entry{
	{
		ID: "kernel", Reads: "`uname -r`", Wants: "5.4", Severity: Warn,
		Remedy:  "boot a newer kernel",
		Kubeadm: []string{systemVerification}, Source: "kubeadm",
		calls: func(f *Facts) []call { return when(!nftables(f), "kernel 5.4") },
	}, {
		ID: "kernel-nftables", Reads: "`uname -r`",
		Wants:    target.NFTablesKernel.String() + " with `network.proxy: nftables`",
		Severity: Stop,
		Remedy:   "boot a newer kernel, or set network.proxy: iptables",
		Kubeadm:  []string{systemVerification},
		Source:   "kubernetes.io: kernel-version-requirements; kube-proxy exits",
		calls: func(f *Facts) []call {
			return when(nftables(f), "kernel "+target.NFTablesKernel.String())
		},
	}, {
		ID: "namespaces", Reads: "`/proc/self/ns`", Wants: "ipc, mnt, net, pid, uts",
		Severity: Stop,
		Remedy:   "use a kernel that has them",
		Kubeadm:  []string{systemVerification},
		Source:   "kubeadm, which asks the kernel's configuration",
		calls: always("file-exists /proc/self/ns/ipc /proc/self/ns/mnt /proc/self/ns/net " +
			"/proc/self/ns/pid /proc/self/ns/uts"),
	}, {
		ID: "seccomp", Reads: "`/proc/sys/kernel/seccomp`", Wants: "seccomp filters",
		Severity: Stop,
		Remedy:   "use a kernel with CONFIG_SECCOMP_FILTER",
		Kubeadm:  []string{systemVerification}, Source: "kubeadm; the kubelet's seccompDefault",
		calls: always("file-exists /proc/sys/kernel/seccomp/actions_avail"),
	}, {
		ID: "cgroup", Reads: "`/sys/fs/cgroup/cgroup.controllers`",
		Wants:    "cgroup v2 with cpu, cpuset, memory, pids",
		Severity: Stop,
		Remedy:   "boot with cgroup v2, without systemd.unified_cgroup_hierarchy=0",
		Kubeadm:  []string{systemVerification},
		Source:   "kubeadm; the kubelet's failCgroupV1, from 1.35",
		calls:    always("cgroup2 cpu cpuset memory pids"),
	}, {
		ID: "cgroup-optional", Reads: "`/sys/fs/cgroup/cgroup.controllers`", Wants: "hugetlb, io",
		Severity: Warn,
		Remedy:   "use a kernel that has them",
		Kubeadm:  []string{systemVerification}, Source: "kubeadm",
		calls: always("cgroup2 hugetlb io"),
	}, {
		ID: "module-…", Reads: "`/sys/module`, `modules.builtin`",
		Wants:    "each of kiln's and yours",
		Severity: Stop,
		Remedy:   "use a kernel that has it",
		Source:   "kubernetes.io: container-runtimes, prerequisites",
		calls:    func(f *Facts) []call { return each("module", f.Modules) },
	}, {
		ID: "filesystem-overlay", Reads: "`/proc/filesystems`", Wants: "overlay", Severity: Stop,
		Remedy:  "use a kernel that has it",
		Kubeadm: []string{systemVerification}, Source: "kubeadm; containerd's snapshotter",
		calls: always("filesystem overlay"),
	}, {
		ID: "sysctl-…", Reads: "`/proc/sys`",
		Wants:    "forwarding, and what `protectKernelDefaults` asks for",
		Severity: Stop,
		Remedy:   "find what sets it otherwise: sysctl --system",
		Kubeadm:  []string{"FileContent--proc-sys-…"}, Source: "kubeadm; the kubelet exits",
		calls: sysctls,
	}, {
		ID: "swap", Reads: "`/proc/swaps`", Wants: "nothing, unless `kubelet.failSwapOn: false`",
		Severity: Stop,
		Remedy:   "turn swap off, or set kubelet.failSwapOn: false",
		Kubeadm:  []string{"Swap"}, Source: "kubeadm warns; the kubelet exits",
		calls: func(f *Facts) []call { return when(!f.SwapAllowed, "swap-off") },
	},
}

// nftables reports whether kube-proxy on the machine uses nftables.
func nftables(f *Facts) bool {
	return f.Machine.Joins() && f.Plan.Config.Spec.Network.Proxy == "nftables"
}

// sysctls returns the checks of the kernel settings without which the kubelet exits or pods are cut
// off.
func sysctls(f *Facts) (out []call) {
	keys := []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"}
	if f.Plan.Config.ProtectKernelDefaults(&f.Machine.Settings) {
		keys = append(keys, slices.Sorted(maps.Keys(config.KernelDefaults))...)
	}
	for _, key := range keys {
		if value, ok := f.Sysctls[key]; ok {
			path := strings.ReplaceAll(key, ".", "/")
			out = append(out, call{key, "sysctl " + path + " " + value})
		}
	}
	return out
}

var clock = []Entry{
	{
		ID: "clock-behind", Reads: "`date`", Wants: "the machine's certificates have begun",
		Severity: Wait,
		Remedy:   "set the machine's clock, or let it reach a time server",
		Source:   "machines without a battery boot in the past",
		calls:    func(f *Facts) []call { return one("not-before " + seconds(f.From)) },
	}, {
		ID: "cert-expired", Reads: "`date`", Wants: "the machine's certificates have not ended",
		Severity: Stop,
		Remedy:   "kiln secrets renew and render again, or correct the machine's clock",
		Source:   "an old document",
		calls:    func(f *Facts) []call { return one("not-after " + seconds(f.Until)) },
	}, {
		ID: "token-expired", Reads: "`date`",
		Wants: "the bootstrap token has not ended, " +
			"as long as the kubelet has no certificate of its own",
		Severity: Stop,
		Remedy:   "kiln token renew of its pool, render again, do what kiln plan says",
		Source:   "the API server answers 401",
		calls: func(f *Facts) []call {
			return when(f.Machine.Pool, "token "+seconds(f.TokenEnd))
		},
	}, {
		ID: "time-sync", Reads: "systemd-timesyncd's marker, `timedatectl`",
		Wants:    "a time server has set the clock",
		Severity: Warn,
		Remedy:   "let it reach a time server",
		Source:   "certificates and leases need equal clocks",
		calls:    always("time-sync"),
	},
}

// seconds returns a time as the shell counts it: seconds since 1970.
func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// identity holds the checks of the machine's names and of its users.
var identity = []Entry{
	{
		ID: "hostname", Reads: "`/proc/sys/kernel/hostname`", Wants: "the node's name",
		Severity: Warn,
		Remedy:   "the start of the kubelet sets it again",
		Kubeadm:  []string{"Hostname"}, Source: "the kubelet's certificate is for one name",
		calls: func(f *Facts) []call {
			return when(!f.Machine.Pool, "sysctl kernel/hostname "+f.Machine.Name)
		},
	}, {
		ID: "machine-id", Reads: "`/etc/machine-id`", Wants: "32 digits", Severity: Warn,
		Remedy: "run systemd-machine-id-setup", Source: "machine-id(5)",
		calls: always("machine-id"),
	}, {
		ID: "product-uuid", Reads: "`/sys/class/dmi/id/product_uuid`",
		Wants:    "the node's `productUUID`",
		Severity: Stop,
		Remedy:   "boot this document on its own machine, or correct productUUID",
		Source: "kubernetes.io: install-kubeadm, unique product_uuid; many machines with arm64 " +
			"have no DMI: give them `mac`",
		calls: func(f *Facts) []call {
			return when(f.Machine.ProductUUID != "", "product-uuid "+f.Machine.ProductUUID)
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
		ID: "writable", Reads: "a file that is made and removed",
		Wants:    "`/etc/kubernetes`, `/var/lib/kubelet`, `/var/log`",
		Severity: Stop,
		Remedy:   "look for errors of the disk: dmesg",
		Source:   "a disk with errors is mounted read-only",
		calls:    always("writable /etc/kubernetes /var/lib/kubelet /var/log"),
	}, {
		ID: "disk", Reads: "free space in `/var/lib`", Wants: "1 GiB", Severity: Stop,
		Remedy: "make room or give the machine a larger disk",
		Source: "images and etcd do not fit into less",
		calls:  always("disk /var/lib 1024"),
	}, {
		ID: "disk-log", Reads: "free space in `/var/log`",
		Wants:    "the audit logs fit, on control planes with profile cis",
		Severity: Stop,
		Remedy:   "make room for the audit log, or give the machine a larger disk",
		Source:   "audit-log-maxsize, audit-log-maxbackup",
		calls: func(f *Facts) []call {
			return when(f.Machine.ControlPlane() && f.Plan.Hardened(),
				fmt.Sprintf("disk /var/log %d", plan.AuditMiB*(plan.AuditFiles+2)))
		},
	}, {
		ID: "inodes", Reads: "free inodes in `/var/lib`", Wants: "10000", Severity: Stop,
		Remedy: "make room or give the machine a larger disk",
		Source: "images are thousands of small files",
		calls:  always("inodes /var/lib 10000"),
	}, {
		ID: "disk-speed", Reads: "16 small writes to `/var/lib/etcd`, each synced",
		Wants:    "10 ms each, with a member of etcd",
		Severity: Warn,
		Remedy:   "give the machine a faster disk",
		Source:   "etcd.io/docs: faq, slow disks",
		calls: func(f *Facts) []call {
			return when(f.Machine.EtcdMember, "disk-speed "+plan.EtcdData+" 10")
		},
	},
}

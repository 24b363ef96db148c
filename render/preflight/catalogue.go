package preflight

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln/render/config"
	"kiln/render/plan"
	"kiln/render/target"
)

// systemVerification is kubeadm's one name for all that it asks of a kernel.
const systemVerification = "SystemVerification"

// Catalogue is every check, in the order in which they are made.
var Catalogue = []Entry{
	{
		ID: "root", Reads: "`id -u`", Wants: "0", Severity: Stop,
		Remedy:  "run the hook as root, from kiln.service",
		Kubeadm: []string{"IsPrivilegedUser"}, Source: "kubeadm",
		calls: always("root"),
	}, {
		ID: "systemd", Reads: "`/run/systemd/system`", Wants: "systemd is process 1", Severity: Stop,
		Remedy: "boot this document on a machine: a container has no systemd", Source: "sd_booted(3)",
		calls: always("file-exists /run/systemd/system"),
	}, {
		ID: "arch", Reads: "`uname -m`", Wants: "the processor that `arch` names", Severity: Stop,
		Remedy: "boot it on this architecture, or set machines.arch", Source: "programs and images are built for one",
		calls: func(f *Facts) []call {
			return one("arch %s", map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[f.Machine.Settings.Arch])
		},
	}, {
		ID: "cpus", Reads: "`nproc`", Wants: "2 on control planes", Severity: Stop,
		Remedy:  "give a control plane two processors",
		Kubeadm: []string{"NumCPU"}, Source: "kubeadm",
		calls: onControlPlanes("cpus 2"),
	}, {
		ID: "memory", Reads: "`/proc/meminfo`", Wants: "1700 MiB on control planes", Severity: Stop,
		Remedy:  "give a control plane 1700 MiB of memory",
		Kubeadm: []string{"Mem"}, Source: "kubeadm",
		calls: onControlPlanes("memory 1700"),
	}, {
		ID: "memory-etcd", Reads: "`/proc/meminfo`", Wants: "900 MiB on etcd machines", Severity: Stop,
		Remedy:  "give an etcd machine 1 GiB of memory",
		Kubeadm: []string{"Mem"}, Source: "kubelet, containerd and a member of etcd",
		calls: func(f *Facts) []call { return when(!f.Machine.Joins(), "memory 900") },
	},

	// The kernel.
	{
		ID: "kernel", Reads: "`uname -r`", Wants: "5.4", Severity: Warn,
		Remedy:  "boot a newer kernel",
		Kubeadm: []string{systemVerification}, Source: "kubeadm",
		calls: func(f *Facts) []call { return when(!nftables(f), "kernel 5.4") },
	}, {
		ID: "kernel-nftables", Reads: "`uname -r`", Wants: "5.13 with `network.proxy: nftables`", Severity: Stop,
		Remedy:  "boot a newer kernel, or set network.proxy: iptables",
		Kubeadm: []string{systemVerification}, Source: "kubernetes.io: kernel-version-requirements; kube-proxy exits",
		calls: func(f *Facts) []call { return when(nftables(f), "kernel 5.13") },
	}, {
		ID: "namespaces", Reads: "`/proc/self/ns`", Wants: "ipc, mnt, net, pid, uts", Severity: Stop,
		Remedy:  "use a kernel that has them",
		Kubeadm: []string{systemVerification}, Source: "kubeadm, which asks the kernel's configuration",
		calls: always("file-exists /proc/self/ns/ipc /proc/self/ns/mnt /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/uts"),
	}, {
		ID: "seccomp", Reads: "`/proc/sys/kernel/seccomp`", Wants: "seccomp filters", Severity: Stop,
		Remedy:  "use a kernel with CONFIG_SECCOMP_FILTER",
		Kubeadm: []string{systemVerification}, Source: "kubeadm; the kubelet's seccompDefault",
		calls: always("file-exists /proc/sys/kernel/seccomp/actions_avail"),
	}, {
		ID: "cgroup", Reads: "`/sys/fs/cgroup/cgroup.controllers`", Wants: "cgroup v2 with cpu, cpuset, memory, pids", Severity: Stop,
		Remedy:  "boot with cgroup v2, without systemd.unified_cgroup_hierarchy=0",
		Kubeadm: []string{systemVerification}, Source: "kubeadm; the kubelet's failCgroupV1, from 1.35",
		calls: always("cgroup2 cpu cpuset memory pids"),
	}, {
		ID: "cgroup-optional", Reads: "`/sys/fs/cgroup/cgroup.controllers`", Wants: "hugetlb, io", Severity: Warn,
		Remedy:  "use a kernel that has them",
		Kubeadm: []string{systemVerification}, Source: "kubeadm",
		calls: always("cgroup2 hugetlb io"),
	}, {
		ID: "module-…", Reads: "`/sys/module`, `modules.builtin`", Wants: "each of kiln's and yours", Severity: Stop,
		Remedy: "use a kernel that has it", Source: "kubernetes.io: container-runtimes, prerequisites",
		calls: func(f *Facts) []call { return each("module", f.Modules) },
	}, {
		ID: "filesystem-overlay", Reads: "`/proc/filesystems`", Wants: "overlay", Severity: Stop,
		Remedy:  "use a kernel that has it",
		Kubeadm: []string{systemVerification}, Source: "kubeadm; containerd's snapshotter",
		calls: always("filesystem overlay"),
	}, {
		ID: "sysctl-…", Reads: "`/proc/sys`", Wants: "forwarding, and what `protectKernelDefaults` asks for", Severity: Stop,
		Remedy:  "find what sets it otherwise: sysctl --system",
		Kubeadm: []string{"FileContent--proc-sys-…"}, Source: "kubeadm; the kubelet exits",
		calls: sysctls,
	}, {
		ID: "swap", Reads: "`/proc/swaps`", Wants: "nothing, unless `kubelet.failSwapOn: false`", Severity: Stop,
		Remedy:  "turn swap off, or set kubelet.failSwapOn: false",
		Kubeadm: []string{"Swap"}, Source: "kubeadm warns; the kubelet exits",
		calls: func(f *Facts) []call { return when(!f.SwapAllowed, "swap-off") },
	},

	// The clock.
	{
		ID: "clock-behind", Reads: "`date`", Wants: "the machine's certificates have begun", Severity: Wait,
		Remedy: "set the machine's clock, or let it reach a time server", Source: "machines without a battery boot in the past",
		calls: func(f *Facts) []call { return one("not-before %s", seconds(f.From)) },
	}, {
		ID: "cert-expired", Reads: "`date`", Wants: "the machine's certificates have not ended", Severity: Stop,
		Remedy: "render again with a renewed bundle, or correct the machine's clock", Source: "an old document",
		calls: func(f *Facts) []call { return one("not-after %s", seconds(f.Until)) },
	}, {
		ID: "token-expired", Reads: "`date`", Wants: "the bootstrap token has not ended, as long as the kubelet has no certificate of its own", Severity: Stop,
		Remedy: "raise its pool's tokenLifetime (a named machine: kiln secrets extend --install-only), render again, do what kiln plan says", Source: "the API server answers 401",
		calls: func(f *Facts) []call { return when(f.Machine.Token, "token "+seconds(f.TokenEnd)) },
	}, {
		ID: "time-sync", Reads: "systemd-timesyncd's marker, `timedatectl`", Wants: "a time server has set the clock", Severity: Warn,
		Remedy: "let it reach a time server", Source: "certificates and leases need equal clocks",
		calls: always("time-sync"),
	},

	// Who the machine is.
	{
		ID: "hostname", Reads: "`/proc/sys/kernel/hostname`", Wants: "the node's name", Severity: Warn,
		Remedy:  "the start of the kubelet sets it again",
		Kubeadm: []string{"Hostname"}, Source: "the kubelet's certificate is for one name",
		calls: func(f *Facts) []call { return when(!f.Machine.Pool, "sysctl kernel/hostname "+f.Machine.Name) },
	}, {
		ID: "machine-id", Reads: "`/etc/machine-id`", Wants: "32 digits", Severity: Warn,
		Remedy: "run systemd-machine-id-setup", Source: "machine-id(5)",
		calls: always("machine-id"),
	}, {
		ID: "product-uuid", Reads: "`/sys/class/dmi/id/product_uuid`", Wants: "the node's `productUUID`", Severity: Stop,
		Remedy: "boot this document on its own machine, or correct productUUID", Source: "kubernetes.io: install-kubeadm, unique product_uuid",
		calls: func(f *Facts) []call {
			return when(f.Machine.ProductUUID != "", "product-uuid "+f.Machine.ProductUUID)
		},
	}, {
		ID: "mac", Reads: "`ip link`", Wants: "an interface with the node's `mac`", Severity: Stop,
		Remedy: "boot this document on its own machine, or correct mac", Source: "kubernetes.io: install-kubeadm, unique MAC address",
		calls: func(f *Facts) []call { return when(f.Machine.MAC != "", "mac "+f.Machine.MAC) },
	},

	// Users.
	{
		ID: "etcd-user", Reads: "`id etcd`", Wants: "the user and the group as which etcd's pod runs, with a member of etcd", Severity: Stop,
		Remedy: "its pod runs as …: boot an image whose user etcd has these numbers", Source: "etcd cannot read what is another user's, and nobody else may read what is etcd's",
		calls: etcdUser,
	},

	// The network.
	{
		ID: "address-…", Reads: "`ip address`", Wants: "each of the node's addresses on an interface", Severity: Wait,
		Remedy: "give the machine this address, or correct the node's addresses", Source: "etcd and the API server bind it",
		calls: func(f *Facts) []call { return each("address", texts(f.Machine.Addresses)) },
	}, {
		ID: "address-taken-…", Reads: "`arping -D`, where it is", Wants: "no other machine answers for the node's IPv4 addresses", Severity: Warn,
		Remedy: "turn the other machine off, or correct the addresses", Source: "RFC 5227; the kernel looks for IPv6 duplicates itself",
		calls: func(f *Facts) []call {
			is6 := func(a netip.Addr) bool { return !a.Is4() }
			return each("unshared", texts(slices.DeleteFunc(slices.Clone(f.Machine.Addresses), is6)))
		},
	}, {
		ID: "route-…", Reads: "`ip route`", Wants: "a default route for each family of the pods", Severity: Warn,
		Remedy: "add a default route: without one, Services are out of reach", Source: "kubernetes/kubernetes#57534",
		calls: routes,
	}, {
		ID: "firewalld", Reads: "`systemctl is-active`", Wants: "inactive", Severity: Warn,
		Remedy:  "open ports … and let pods' traffic through, or turn it off",
		Kubeadm: []string{"Firewalld"}, Source: "kubeadm",
		calls: firewalld,
	}, {
		ID: "nm-cloud-setup", Reads: "`systemctl is-active`", Wants: "inactive, on " + systems(cloudSetup), Severity: Warn,
		Remedy: "turn it off: its routing rules cut pods off", Source: "rancher/rke2#1053",
		calls: func(f *Facts) []call {
			return when(cloudSetup(&f.Machine.System), "inactive nm-cloud-setup.timer")
		},
	}, {
		ID: "port-…", Reads: "`/proc/net/tcp`, `tcp6`", Wants: "nothing listens on the ports of kubelet, control plane and etcd", Severity: Stop,
		Remedy:  "stop the program that listens there: ss -lntp",
		Kubeadm: []string{"Port-…"}, Source: "kubeadm",
		calls: func(f *Facts) []call { return each("port-free", ports(f)) },
	}, {
		ID: "endpoint-name", Reads: "`getent hosts`", Wants: "the endpoint's name leads to an address, not to a loopback, and to `controlPlane.vip` if there is one, on workers without a balancer", Severity: Wait,
		Remedy: "correct the name server, /etc/hosts or endpoint", Source: "the kubelet finds the API server by it",
		calls: endpointName,
	}, {
		ID: "endpoint-certificate", Reads: "a TLS handshake", Wants: "what answers at the endpoint, or behind the balancer at each control plane, has a certificate of this cluster, on workers", Severity: Stop,
		Remedy: "another cluster answers: correct endpoint, or use documents of one bundle", Source: "kubeadm join fails late",
		calls: endpointCertificate,
	}, {
		ID: "peer-…", Reads: "a TLS handshake", Wants: "what answers at each other etcd member has a certificate of this cluster", Severity: Stop,
		Remedy: "another cluster answers: correct the node's addresses, or use documents of one bundle", Source: "two clusters with equal addresses must not mix",
		calls: func(f *Facts) []call {
			var out []call
			for _, peer := range f.Peers {
				out = append(out, call{peer.Name, trusted(f, peer.URL, plan.EtcdOwnCA)})
			}
			return out
		},
	},

	// What the platform shows.
	{
		ID: "metadata-wall", Reads: "`ip rule`", Wants: "pods cannot reach the platform's metadata service, with `security.metadataService: deny`", Severity: Wait,
		Remedy: "journalctl -u kiln-routes says why; set security.metadataService: allow to do without", Source: "docs/security.md",
		calls: func(f *Facts) []call { return when(len(f.Plan.Forbidden(f.Machine)) > 0, "walled") },
	},

	// Disks.
	{
		ID: "writable", Reads: "a file that is made and removed", Wants: "`/etc/kubernetes`, `/var/lib/kubelet`, `/var/log`", Severity: Stop,
		Remedy: "look for errors of the disk: dmesg", Source: "a disk with errors is mounted read-only",
		calls: always("writable /etc/kubernetes /var/lib/kubelet /var/log"),
	}, {
		ID: "disk", Reads: "free space in `/var/lib`", Wants: "1 GiB", Severity: Stop,
		Remedy: "make room or give the machine a larger disk", Source: "images and etcd do not fit into less",
		calls: always("disk /var/lib 1024"),
	}, {
		ID: "disk-log", Reads: "free space in `/var/log`", Wants: "the audit logs fit, on control planes with profile cis", Severity: Stop,
		Remedy: "make room for the audit log, or give the machine a larger disk", Source: "audit-log-maxsize, audit-log-maxbackup",
		calls: func(f *Facts) []call {
			return when(f.Machine.ControlPlane() && f.Plan.Hardened(), fmt.Sprintf("disk /var/log %d", plan.AuditMiB*(plan.AuditFiles+2)))
		},
	}, {
		ID: "inodes", Reads: "free inodes in `/var/lib`", Wants: "10000", Severity: Stop,
		Remedy: "make room or give the machine a larger disk", Source: "images are thousands of small files",
		calls: always("inodes /var/lib 10000"),
	}, {
		ID: "disk-speed", Reads: "16 small writes to `/var/lib/etcd`, each synced", Wants: "10 ms each, with a member of etcd", Severity: Warn,
		Remedy: "give the machine a faster disk", Source: "etcd.io/docs: faq, slow disks",
		calls: func(f *Facts) []call {
			return when(f.Machine.EtcdMember, "disk-speed "+plan.EtcdData+" 10")
		},
	},

	// Programs.
	{
		ID: "tool-…", Reads: "`PATH`", Wants: "cp, curl, ip, losetup, mount", Severity: Stop,
		Remedy:  "install …",
		Kubeadm: []string{"FileExisting-…"}, Source: "kubeadm; the hook itself",
		calls: func(f *Facts) []call { return each("command", []string{"cp", "curl", "ip", "losetup", "mount"}) },
	}, {
		ID: "runc", Reads: "`PATH`", Wants: "runc", Severity: Warn,
		Remedy: "install runc", Source: "containerd's own archive is without it",
		calls: always("command runc"),
	}, {
		ID: "selinux", Reads: "`/sys/fs/selinux/enforce`, the label of the kubelet's program", Wants: "one that systemd may start, on " + systems(enforcing), Severity: Warn,
		Remedy: "run restorecon, or move it to /usr/local/bin: systemd may not start what has this label", Source: "selinux-policy: what init_t may execute",
		calls: func(f *Facts) []call {
			return when(enforcing(&f.Machine.System), "selinux "+f.Machine.Settings.KubeletPath)
		},
	}, {
		ID: "kubelet", Reads: "`kubelet --version`", Wants: "the minor version of `kubeletVersion`", Severity: Stop,
		Remedy:  "install this version, or set kubeletVersion or kubeletPath",
		Kubeadm: []string{"KubeletVersion"}, Source: "kubeadm",
		calls: func(f *Facts) []call {
			m := f.Machine
			return one("kubelet-version %s v1.%d v1.%d", m.Settings.KubeletPath, m.KubeletMinor, m.KubeletMinor+1)
		},
	}, {
		ID: "resolv-conf", Reads: "the kubelet's `resolvConf`", Wants: "it is there", Severity: Stop,
		Remedy: "set kubelet.resolvConf to this system's resolver configuration", Source: "the kubelet starts no pod without it",
		calls: func(f *Facts) []call { return when(word.MatchString(f.ResolvConf), "file-exists "+f.ResolvConf) },
	}, {
		ID: "cni-plugins", Reads: "`/opt/cni/bin`", Wants: "bridge, host-local, loopback, portmap with `network.cni: routed`", Severity: Stop,
		Remedy: "install the CNI plugins", Source: "containerd.io: Step 3, installing CNI plugins",
		calls: func(f *Facts) []call { return when(len(f.Plugins) > 0, "file-exists "+strings.Join(f.Plugins, " ")) },
	}, {
		ID: "runtime", Reads: "`" + plan.CRISocket + "`", Wants: "a socket", Severity: Wait,
		Remedy:  "install containerd, or look at: journalctl -u containerd",
		Kubeadm: []string{"CRI"}, Source: "kubeadm",
		calls: always("socket " + plan.CRISocket),
	}, {
		ID: "runtime-version", Reads: "`containerd --version`", Wants: fmt.Sprintf("2.0 with a kubelet from 1.%d on", target.Containerd2), Severity: Warn,
		Remedy:  "install containerd 2: the kubelet of 1.38 needs it",
		Kubeadm: []string{"ContainerRuntimeVersion"}, Source: "kubeadm",
		calls: func(f *Facts) []call {
			return when(f.Machine.KubeletMinor >= target.Containerd2, "runtime-version 2.0")
		},
	}, {
		ID: "images", Reads: "`ctr images ls`, then the registry or its mirrors", Wants: "the images of sandbox and static pods are here, or a registry answers", Severity: Wait,
		Remedy:  "ctr -n k8s.io images import it, or let containerd reach a registry that has it",
		Kubeadm: []string{"ImagePull"}, Source: "kubeadm, which pulls",
		calls: images,
	},
}

func cloudSetup(s *target.System) bool { return s.CloudSetup }

func enforcing(s *target.System) bool { return s.SELinux == target.Enforcing }

// systems returns the names of the operating systems for which want is true.
func systems(want func(*target.System) bool) string {
	return strings.Join(target.SystemNames(want), ", ")
}

func one(format string, args ...any) []call { return []call{{text: fmt.Sprintf(format, args...)}} }

func always(text string) func(*Facts) []call {
	return func(*Facts) []call { return []call{{text: text}} }
}

func onControlPlanes(text string) func(*Facts) []call {
	return func(f *Facts) []call { return when(f.Machine.ControlPlane(), text) }
}

func when(wanted bool, text string) []call {
	if !wanted {
		return nil
	}
	return []call{{text: text}}
}

// each returns a call of one kind for each thing.
func each(kind string, things []string) []call {
	out := make([]call, len(things))
	for i, thing := range things {
		out[i] = call{thing, kind + " " + thing}
	}
	return out
}

// word matches a path that can be an argument.
var word = regexp.MustCompile(`^/[!-{}~]*$`)

func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func texts(addresses []netip.Addr) []string {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		out[i] = a.String()
	}
	return out
}

func nftables(f *Facts) bool {
	return f.Machine.Joins() && f.Plan.Config.Spec.Network.Proxy == "nftables"
}

// endpointName names the address that the endpoint's name must lead to, if the cluster brings it itself.
func endpointName(f *Facts) []call {
	if !f.Plan.EndpointIsName || !f.Machine.Worker() || f.Plan.Balanced(f.Machine) {
		return nil
	}
	text := "resolves " + f.Plan.EndpointHost
	if f.Plan.VIP.IsValid() {
		text += " " + f.Plan.VIP.String()
	}
	return []call{{text: text}}
}

// endpointCertificate asks what a worker's kubelet will: the endpoint, or the control planes themselves, since the balancer is
// one of the kubelet's own pods.
func endpointCertificate(f *Facts) []call {
	if !f.Plan.Balanced(f.Machine) {
		return when(f.Machine.Worker(), trusted(f, f.Plan.EndpointURL(), plan.CACert))
	}
	var out []call
	for _, i := range f.Plan.ControlPlanes {
		out = append(out, call{text: trusted(f, f.Plan.Machines[i].LocalURL(), plan.CACert)})
	}
	return out
}

func trusted(f *Facts, url, ca string) string {
	return fmt.Sprintf("trusted %s %s %s", url, ca, seconds(f.From))
}

// sysctls are those without which the kubelet exits or pods are cut off.
func sysctls(f *Facts) []call {
	keys := []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"}
	if f.Plan.Config.ProtectKernelDefaults(&f.Machine.Settings) {
		keys = append(keys, slices.Sorted(maps.Keys(config.KernelDefaults))...)
	}
	var out []call
	for _, key := range keys {
		if value, ok := f.Sysctls[key]; ok {
			out = append(out, call{key, "sysctl " + strings.ReplaceAll(key, ".", "/") + " " + value})
		}
	}
	return out
}

func routes(f *Facts) []call {
	if !f.Machine.Joins() {
		return nil
	}
	out := make([]call, len(f.Plan.PodSubnets))
	for i, subnet := range f.Plan.PodSubnets {
		out[i] = call{"ipv6", "route 6"}
		if subnet.Addr().Is4() {
			out[i] = call{"ipv4", "route 4"}
		}
	}
	return out
}

// ports are those on which the programs of the machine listen.
func ports(f *Facts) []string {
	numbers := []int{plan.KubeletHealthPort}
	if f.Machine.Joins() {
		numbers = []int{plan.KubeletPort, plan.KubeletHealthPort}
	}
	if f.Machine.ControlPlane() {
		numbers = append(numbers, plan.APIServerPort, plan.ManagerPort, plan.SchedulerPort)
		if f.Plan.HasVIP(f.Machine) {
			numbers = append(numbers, plan.VIPMetricsPort)
		}
	}
	if f.Machine.EtcdMember {
		numbers = append(numbers, plan.EtcdClientPort, plan.EtcdPeerPort, plan.EtcdMetricsPort)
	}
	if f.Plan.Balanced(f.Machine) {
		numbers = append(numbers, f.Plan.BalancerPort, plan.BalancerHealthPort)
	}
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = strconv.Itoa(n)
	}
	return out
}

// etcdUser compares the machine's user etcd with the pod's. The image may have one of its own: of a
// package, or with other numbers than the system had when this table was made.
func etcdUser(f *Facts) []call {
	if !f.Machine.EtcdMember {
		return nil
	}
	etcd := f.Machine.System.Etcd
	return []call{{fmt.Sprintf("%d:%d", etcd.UID, etcd.GID), fmt.Sprintf("user %s %d %d", plan.EtcdUser, etcd.UID, etcd.GID)}}
}

// firewalld names the ports that other machines use.
func firewalld(f *Facts) []call {
	var open []string
	if f.Machine.Joins() {
		open = append(open, strconv.Itoa(plan.KubeletPort), "30000-32767")
	}
	if f.Machine.ControlPlane() {
		open = append(open, strconv.Itoa(plan.APIServerPort))
	}
	if f.Machine.EtcdMember {
		open = append(open, fmt.Sprintf("%d-%d", plan.EtcdClientPort, plan.EtcdPeerPort))
	}
	return []call{{strings.Join(open, " "), "inactive firewalld.service"}}
}

// images returns one call for each set of registries, in the order of the images.
func images(f *Facts) []call {
	var out []call
	at := map[string]int{}
	for _, ref := range f.Images {
		host, name := reference(ref)
		from := strings.Join(registries(host, f.Machine.Settings.Registries), ",")
		if _, ok := at[from]; !ok {
			at[from] = len(out)
			out = append(out, call{text: "images " + from})
		}
		out[at[from]].text += " " + name
	}
	return out
}

// reference returns the registry of an image and the name under which containerd keeps it: with a host, and with a tag or a
// digest, of which the digest wins (github.com/distribution/reference, ParseDockerRef).
func reference(ref string) (host, name string) {
	host, path, ok := strings.Cut(ref, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, path = "docker.io", ref
		if !ok {
			path = "library/" + ref
		}
	}
	path, digest, pinned := strings.Cut(path, "@")
	repository, tag, tagged := strings.Cut(path, ":")
	switch {
	case pinned:
		return host, host + "/" + repository + "@" + digest
	case tagged:
		return host, host + "/" + repository + ":" + tag
	default:
		return host, host + "/" + repository + ":latest"
	}
}

// registries are where containerd asks for the images of a host, in its order: the host's mirrors, or the default ones, then
// the host itself (containerd's docs/hosts.md).
func registries(host string, settings []config.Registry) []string {
	server := host
	if host == "docker.io" {
		server = "registry-1.docker.io"
	}
	var servers []string
	for _, name := range []string{host, "_default"} {
		i := slices.IndexFunc(settings, func(r config.Registry) bool { return r.Host == name })
		if i >= 0 {
			servers = slices.Clone(settings[i].Mirrors)
			break
		}
	}
	servers = append(servers, "https://"+server)
	for i, s := range servers {
		servers[i] = strings.TrimSuffix(strings.TrimSuffix(s, "/"), "/v2") + "/v2/"
	}
	return servers
}

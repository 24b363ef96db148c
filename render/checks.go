package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kiln/render/config"
	"kiln/render/plan"
)

// check is one preflight check of the hook: its id, what a failure means, the function of the hook with its arguments,
// and what to do about a failure.
type check struct {
	id, severity, test, remedy string
}

// Severities: stop ends the first boot, wait retries until the step's time is over and then stops, warn is reported.
const (
	stop = "stop"
	wait = "wait"
	warn = "warn"
)

// checks are the preflight checks of this machine, with its own expectations (kubeadm.md §6).
func (t *tree) checks() string {
	p, m := t.Plan, t.m
	from, until := t.validity(m)
	list := []check{
		{"root", stop, "root", "run the hook as root, from kiln.service"},
		{"arch", stop, "arch " + machineArch(m), "boot this document on a machine of this architecture, or set machines.arch"},
		{"clock-behind", wait, "not-before " + epoch(from), "set the machine's clock, or let it reach a time server"},
		{"cert-expired", stop, "not-after " + epoch(until), "render again with a renewed bundle, or correct the machine's clock"},
		{"cgroup", stop, "cgroup2 cpu cpuset memory pids", "boot with cgroup v2: remove systemd.unified_cgroup_hierarchy=0 from the kernel's command line"},
		{"swap", stop, "swap-off", "turn swap off, or set kubelet.failSwapOn: false"},
		{"runtime", wait, "socket " + plan.CRISocket, "install containerd, or look at: journalctl -u containerd"},
		{"kubelet", stop, fmt.Sprintf("kubelet-version %s v1.%d v1.%d", m.Settings.KubeletPath, m.KubeletMinor, m.KubeletMinor+1), "install the kubelet of this version, or set machines.kubeletVersion or machines.kubeletPath"},
		{"resolv-conf", stop, "file-exists " + t.resolvConf(), "set kubelet.resolvConf to this system's resolver configuration"},
		{"disk", stop, "disk /var/lib 1024", "make room or give the machine a larger disk"},
	}
	if t.swapAllowed() {
		list = without(list, "swap")
	}
	for _, tool := range []string{"mount", "losetup", "cp", "curl", "ip"} {
		list = append(list, check{"tool-" + tool, stop, "command " + tool, "install " + tool})
	}
	for _, module := range t.modules() {
		list = append(list, check{"module-" + module, stop, "module " + module, "use a kernel that has it"})
	}
	settings := t.sysctls()
	needed := []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"}
	if p.Config.ProtectKernelDefaults(&m.Settings) {
		needed = append(needed, slices.Sorted(maps.Keys(config.KernelDefaults))...)
	}
	for _, key := range needed {
		if value, ok := settings[key]; ok {
			list = append(list, check{"sysctl-" + key, stop, "sysctl " + strings.ReplaceAll(key, ".", "/") + " " + value, "find what sets it otherwise: sysctl --system"})
		}
	}
	for _, a := range m.Addresses {
		list = append(list, check{"address-" + a.String(), wait, "address " + a.String(), "give the machine this address, or correct the node's addresses in cluster.yaml"})
	}
	if !m.Pool {
		list = append(list, check{"hostname", warn, "sysctl kernel/hostname " + m.Name, "something on this machine sets another name; it is set again before the kubelet starts"})
	}
	ports := []int{plan.KubeletPort, plan.KubeletHealthPort}
	if m.ControlPlane() {
		list = append(list,
			check{"cpus", stop, "cpus 2", "give a control plane two processors"},
			check{"memory", stop, "memory 1700", "give a control plane 1700 MiB of memory"})
		if p.Hardened() {
			list = append(list, check{"disk-log", stop, fmt.Sprintf("disk /var/log %d", plan.AuditMiB*(plan.AuditFiles+2)), "make room for the audit log, or give the machine a larger disk"})
		}
		ports = append(ports, plan.APIServerPort, plan.ManagerPort, plan.SchedulerPort)
		if p.LocalEtcd() {
			ports = append(ports, plan.EtcdClientPort, plan.EtcdPeerPort, plan.EtcdMetricsPort)
		}
	}
	for _, port := range ports {
		n := strconv.Itoa(port)
		list = append(list, check{"port-" + n, stop, "port-free " + n, "stop the program that listens there: ss -lntp"})
	}
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s|%s|%s|%s\n", c.id, c.severity, c.test, c.remedy)
	}
	return b.String()
}

func without(list []check, id string) []check {
	var out []check
	for _, c := range list {
		if c.id != id {
			out = append(out, c)
		}
	}
	return out
}

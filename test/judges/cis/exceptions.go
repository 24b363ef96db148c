package cis

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/test/judges/machine"
)

// exception says on which machines checks are below PASS, and why that is right.
type exception struct {
	ids string // separated by spaces
	of  func(*machine.Machine) bool
	why string
}

// inCase finds the machines of golden clusters.
func inCase(names ...string) func(*machine.Machine) bool {
	return func(m *machine.Machine) bool { return m.In(names...) }
}

// controlPlaneOf finds the control planes among them.
func controlPlaneOf(names ...string) func(*machine.Machine) bool {
	return func(m *machine.Machine) bool { return m.ControlPlane() && m.In(names...) }
}

// onControlPlanes are the checks below PASS on a control plane as kiln makes it by default.
// docs/security.md answers each. kube-bench reports the same 36, on such a machine that has booted.
var onControlPlanes = []exception{
	{"1.2.1", (*machine.Machine).ControlPlane,
		"the flag forbids probes too; --authentication-config allows anonymous checks of health"},
	{"1.2.11", (*machine.Machine).ControlPlane,
		"no pod would start without the registry; security.alwaysPullImages turns it on"},
	{"1.2.20 3.1.1 3.1.2 3.1.3 3.2.2", (*machine.Machine).ControlPlane,
		"the tool leaves them to a person"},
	{"5.1.1", (*machine.Machine).ControlPlane,
		"the operator's admin.conf has its rights from kubeadm:cluster-admins, as with kubeadm"},
	{"5.1.3 5.1.5 5.1.6", (*machine.Machine).ControlPlane,
		"Kubernetes makes roles, accounts and mounts of tokens that do not meet them"},
	{"5.1.7 5.1.8 5.1.9 5.1.10 5.1.11 5.1.12 5.1.13", (*machine.Machine).ControlPlane,
		"the tool leaves them to a person"},
	{"5.2.2", withKubeProxy, "kube-proxy sets the kernel's rules"},
	{"5.2.5", (*machine.Machine).ControlPlane,
		"static pods and kube-proxy come before the pods' network"},
	{"5.2.1 5.2.7 5.2.8 5.2.9 5.2.10 5.2.11 5.2.12 5.3.1 5.3.2 5.4.1 5.4.2 5.5.1 " +
		"5.6.1 5.6.2 5.6.3 5.6.4", (*machine.Machine).ControlPlane,
		"the tool leaves them to a person"},
}

func withKubeProxy(m *machine.Machine) bool {
	return m.ControlPlane() && m.Command("kube-proxy") != nil
}

// exceptions are the checks that do not pass, each reviewed.
var exceptions = []exception{
	{
		"1.1.9 1.1.10",
		controlPlaneOf("addons", "delivery-pointer", "delivery-split", "imported", "pools",
			"pools-cloud", "pools-renewed", "profile"),
		"the pod network is somebody else's",
	},
	{"4.1.3 4.1.4", inCase("addons"), "there is no kube-proxy"},
	{"1.1.7 1.1.8 1.1.11 1.1.12", controlPlaneOf("external-etcd"), "etcd is somebody else's"},
	{"1.1.7 1.1.8 1.1.11 1.1.12", controlPlaneOf("etcd-machine", "etcd-machines",
		"announce"),
		"etcd is on machines of its own, which are held to them"},
	{"1.2.3 1.2.9", controlPlaneOf("patches"), "the user's own admission plugins replace ours"},
	{"1.2.5", controlPlaneOf("announce", "delivery-pointer", "delivery-split", "flannel",
		"pools", "pools-renewed"),
		"kubelets that join with a token make their own serving certificates"},
	{"4.1.5 4.1.6", (*machine.Machine).WithToken,
		"the kubelet writes the file when it has joined, 0600"},
	{"4.2.9", (*machine.Machine).WithToken,
		"the kubelet makes its own serving certificate, or asks for one"},
	{"4.2.10", inCase("offline-signing"),
		"nothing signs the next certificate; it comes with the next document"},

	{"1.2.3 1.2.9 1.2.16 1.2.17 1.2.18 1.2.19 1.2.30 1.3.1 3.2.1", controlPlaneOf("baseline"),
		baselineSays},
	{"4.1.3 4.1.4 4.2.13 4.2.14", inCase("baseline"), baselineSays},
	{"1.2.28", controlPlaneOf("baseline"), "the cluster asks for encryption: identity"},
	{"1.1.9", oldLeases, "plugins before v1.4 let others read which addresses pods have"},
}

// oldLeases finds control planes that run where files of host-local are open to others, and no
// other file of it than those for addresses of pods.
func oldLeases(m *machine.Machine) bool {
	if m.Booted == nil || !m.ControlPlane() {
		return false
	}
	open := slices.DeleteFunc(leases(m),
		func(f *machine.File) bool { return f.Mode&^0o600 == 0 })
	return len(open) > 0 && !slices.ContainsFunc(open, func(f *machine.File) bool {
		name := path.Base(f.Path)
		_, err := netip.ParseAddr(name)
		return err != nil && !strings.HasPrefix(name, "last_reserved_ip.")
	})
}

// A cluster with profile baseline passes the rest: all modes and owners, all that kubeadm's default
// passes, and all that costs nothing.
const baselineSays = "the profile baseline leaves out what workloads may notice"

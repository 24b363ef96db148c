package assembly

import (
	"fmt"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// Machine returns everything that m receives: files, folders and links sorted by path, units by
// name. It fails with config.Problems where the configuration asks for something that the rest of
// the machine rules out.
func (r *Cluster) Machine(m *plan.Machine) (*node.Node, error) {
	t := &tree{Cluster: r, m: m, n: &node.Node{
		Name: m.Name, Role: m.Role, Files: make([]node.File, 0, 32),
		Login: m.System.Login, AuthorizedKeys: m.Settings.SSHAuthorizedKeys,
	}}
	for _, step := range []func() error{
		t.addTrust,        // trust.go: CAs, certificates and keys
		t.addKubeconfigs,  // kubeconfigs.go: how each component reaches the API server
		t.addAPIServer,    // apiserver.go: the settings that the API server reads from files
		t.addStaticPods,   // staticpods.go: the control plane, etcd and the balancer
		t.addKubelet,      // kubelet.go: its configuration, its unit and its time to shut down
		t.addSystem,       // system.go, containerd.go: name, modules, sysctls, container runtime
		t.addEnvironment,  // system.go: time, host names, CAs, updates
		t.addBinaries,     // binaries.go: what the machine fetches
		t.addPodNetwork,   // podnetwork.go: what Flannel needs, services closed to pods
		t.addInterfaces,   // interfaces.go: the machine's own network interfaces
		t.addHook,         // hook.go, preflight.go, objects.go: the first boot
		t.addBackup,       // backup.go: snapshots of etcd
		t.addUser,         // user.go, cloudconfig.go, butane.go: what the configuration adds
		t.mergeContainerd, // containerd.go: what the configuration adds for the container runtime
		t.addPreload,      // preload.go: the images that it gets before its kubelet starts
		t.checkNetworkd,   // podnetworkd.go: what it adds for systemd-networkd
		t.addFileList,     // filelist.go: the list of all files above, so it comes last
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t.n.Sort()
	return t.n, nil
}

// Node returns everything that the i-th machine of the plan receives. It fails as Machine does.
func (r *Cluster) Node(i int) (*node.Node, error) {
	m := &r.Plan.Machines[i]
	n, err := r.Machine(m)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	return n, nil
}

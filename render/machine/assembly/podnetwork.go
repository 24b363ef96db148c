package assembly

import (
	"slices"

	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// addPodNetwork adds what the network of pods needs of the machine. With every cni it closes the
// platform's metadata service to pods, and keeps the machine's network manager off their
// interfaces. The network itself is API objects. An etcd machine gets none of this: its only pod,
// the member's, is on the host's network.
func (t *tree) addPodNetwork() error {
	if !t.m.Joins() {
		return nil
	}
	unmanaged := Unmanaged(t.m.System.Network, t.Plan.Config.PodInterfaces())
	t.n.Files = append(t.n.Files, unmanaged...)
	t.addWall()
	if t.Plan.Flannel() {
		t.addFlannel()
	}
	return nil
}

// addWall closes the metadata service to pods. Where the preflight check of the rules is ignored,
// the kubelet does not wait for them.
func (t *tree) addWall() {
	var rules []string
	for _, f := range t.Plan.Forbidden(t.m) {
		rules = append(rules, f.Rule())
	}
	if len(rules) == 0 {
		return
	}
	t.addUnitWith(plan.WallUnit, 0o644, templates.Wall(rules), true, true,
		"security.metadataService", "network.podSubnets", t.m.Settings.Path("platform"))
	if !slices.Contains(t.m.Settings.IgnorePreflight, "metadata-wall") {
		t.addFile(plan.UnitDir+"/kubelet.service.d/20-kiln-wall.conf", 0o644, templates.WallDropIn,
			"no kubelet without the rules of "+plan.WallUnit,
			t.m.Settings.Paths("ignorePreflight")...)
	}
}

// addFlannel adds what Flannel needs of the machine beside the API objects. With iptables it and
// kube-proxy look for their rules by themselves.
func (t *tree) addFlannel() {
	if t.Plan.Config.Spec.Network.Proxy == "nftables" {
		t.addFile(plan.UnitDir+"/nftables.service.d/90-kiln.conf", 0o644, templates.FirewallDropIn,
			"the rules of kube-proxy and Flannel come back after those of a firewall",
			"network.proxy")
	}
	t.addDir("/var/lib/cni", 0o700, "")
	t.addFile(plan.LeasesLock, 0o600, "", "the plugin host-local would let others read it")
}

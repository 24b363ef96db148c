package assembly

import (
	"slices"

	"kiln/render/cni"
	"kiln/render/interfaces"
	"kiln/render/plan"
	"kiln/templates"
)

// addPodNetwork adds the network of the machine's pods. With every cni it closes the platform's
// metadata service to pods, and keeps the machine's network manager off their interfaces. With cni
// flannel the rest is API objects. With cni routed it is a bridge with addresses from the machine's
// own pod CIDRs, a program that keeps routes to the other machines, and masquerading of traffic
// that leaves the cluster. An etcd machine gets none of this: its only pod, the member's, is on the
// host's network.
func (t *tree) addPodNetwork() error {
	if !t.m.Joins() {
		return nil
	}
	unmanaged := interfaces.Unmanaged(t.m.System.Network, t.Plan.Config.PodInterfaces())
	t.n.Files = append(t.n.Files, unmanaged...)
	t.addWall()
	if t.Plan.Flannel() {
		t.addFlannel()
	}
	if !t.Plan.Routed() {
		return nil
	}
	t.addFile(templates.RoutesPath, 0o600, templates.Routes, "program of kiln-routes.service")
	t.addUnit("kiln-routes.service", true, true)
	// The folders exist before kiln-routes.service starts: the unit's sandbox shows only folders
	// that existed then.
	t.addDir("/var/lib/cni", 0o700, "")
	t.addDir("/var/lib/kiln", 0o700, "")
	learn := templates.LearnBy(t.Plan.Encrypted())
	t.addFile(templates.LearnPath, 0o600, learn, "functions of kiln-routes.service")
	network, masked := &t.Plan.Config.Spec.Network, t.m.PodCIDRs
	way, why := t.Plan.PodWay(t.m)
	own, ways := []string{"network.podSubnets", t.m.Path + ".podCIDRs"}, t.Plan.PodWayFields()
	configure, path, conf := cni.Config, plan.CNIConfig, "the pods' network on this machine"
	if t.m.Pool {
		// The machine chooses its parts, and then writes the configuration of the network. It
		// masquerades what all pods send: those of other machines send nothing out of the cluster
		// through this one.
		configure, path, masked = cni.PoolConfig, plan.PoolCNIConfig, t.Plan.PodSubnets
		conf = "the pods' network, with ranges in place of the machine's parts"
		t.addDir(plan.CNIConfDir, 0o700, "")
		t.addFile(plan.KilnDir+"/parts", 0o644, cni.Parts(t.m.PodCIDRs, t.Plan.NodeMasks, way),
			"ranges of this machine's pods, the prefix length of its parts, how packets of pods "+
				"leave it ("+why+")",
			slices.Concat(own, []string{"network.nodeMaskSizes"}, ways)...)
	} else {
		own = append(own, t.m.Path+".addresses")
		t.addFile(plan.KilnDir+"/routes", 0o644, cni.Routes(t.m.PodCIDRs, t.m.Addresses, way),
			"this machine's pods, its address, how packets of pods leave it ("+why+")",
			slices.Concat(own, ways)...)
	}
	text, err := configure(t.m.PodCIDRs, network.MTU)
	if err != nil {
		return err
	}
	t.addFile(path, 0o600, text, conf, slices.Concat(own, []string{"network.mtu"})...)
	t.addFile(plan.KilnDir+"/masquerade", 0o644, cni.Masquerade(masked, t.Plan.PodSubnets),
		"family, pods of this machine, the cluster's pods")
	return nil
}

// addWall closes the metadata service to pods. Where its preflight check only warns, the kubelet
// starts without the rules.
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

// addFlannel adds what Flannel needs of the machine beside the API objects.
func (t *tree) addFlannel() {
	t.addFile(plan.UnitDir+"/nftables.service.d/90-kiln.conf", 0o644, templates.FirewallDropIn,
		"the rules of kube-proxy and Flannel come back after those of a firewall")
	t.addFile(plan.LeasesLock, 0o600, "", "the plugin host-local would let others read it")
}

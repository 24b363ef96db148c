package assembly

import (
	"fmt"
	"slices"
	"strings"

	"kiln/render/cni"
	"kiln/render/interfaces"
	"kiln/render/plan"
	"kiln/templates"
)

// addPodNetwork adds the network of the machine's pods. With cni routed that is a bridge with
// addresses from the machine's own pod CIDRs, a program that keeps routes to the other machines,
// and masquerading of traffic that leaves the cluster. With every cni it closes the
// platform's metadata service to pods, and keeps the machine's network manager off their
// interfaces. An etcd machine gets none of this: its only pod, the member's, is on the host's
// network.
func (t *tree) addPodNetwork() error {
	if !t.m.Joins() {
		return nil
	}
	unmanaged := interfaces.Unmanaged(t.m.System.Network, t.Plan.Config.PodInterfaces())
	t.n.Files = append(t.n.Files, unmanaged...)
	forbidden := t.Plan.Forbidden(t.m)
	if t.Plan.Routed() || len(forbidden) > 0 {
		t.addFile(templates.RoutesPath, 0o600, templates.Routes, "program of kiln-routes.service")
		t.addUnit("kiln-routes.service", true, true)
	}
	if len(forbidden) > 0 {
		var lines strings.Builder
		for _, f := range forbidden {
			family := map[bool]string{true: "-4", false: "-6"}[f.To.Is4()]
			fmt.Fprintf(&lines, "%s %s %s %s\n", family, f.Pods, f.To, f.Ports)
		}
		t.addFile(plan.KilnDir+"/forbidden", 0o644, lines.String(),
			"family, the cluster's pods, the service that is closed to them, its TCP ports",
			"security.metadataService", "network.podSubnets", t.m.Settings.Path("platform"))
	}
	if !t.Plan.Routed() {
		return nil
	}
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

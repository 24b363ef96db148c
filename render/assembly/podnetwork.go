package assembly

import (
	"fmt"
	"net/netip"
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
	conf, err := cni.Config(t.m.PodCIDRs, t.Plan.Config.Spec.Network.MTU)
	if err != nil {
		return err
	}
	// The folders exist before kiln-routes.service starts: the unit's sandbox shows only folders
	// that existed then.
	t.addDir("/var/lib/cni", 0o700, "")
	t.addDir("/var/lib/kiln", 0o700, "")
	t.addFile(plan.CNIConfig, 0o600, conf, "the pods' network on this machine",
		"network.mtu", "network.podSubnets", t.m.Path+".addresses", t.m.Path+".podCIDRs")

	t.addFile(templates.LearnPath, 0o600, templates.Learn, "functions of kiln-routes.service")
	way, why := t.Plan.PodWay(t.m)
	var routes strings.Builder
	for i, cidr := range t.m.PodCIDRs {
		fmt.Fprintf(&routes, "%s %s %s\n", cidr, t.m.Addresses[i], way)
	}
	t.addFile(plan.KilnDir+"/routes", 0o644, routes.String(),
		"this machine's pods, its address, how packets of pods leave it ("+why+")",
		"network.podSubnets", "network.vxlan", t.m.Path+".addresses", t.m.Path+".podCIDRs")
	var masquerade strings.Builder
	for i, cidr := range t.m.PodCIDRs {
		fmt.Fprintf(&masquerade, "%s %s %s\n", family(cidr.Addr()), cidr, t.Plan.PodSubnets[i])
	}
	t.addFile(plan.KilnDir+"/masquerade", 0o644, masquerade.String(),
		"family, this machine's pods, the cluster's pods")
	return nil
}

// family returns the name that ip and nft have for the family of an address.
func family(a netip.Addr) string {
	if a.Is4() {
		return "ip"
	}
	return "ip6"
}

package kinds

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// clusterIP checks that the address of a Service lies in the service subnets, and is not the one
// that the API server gives to its own Service, the first.
func (c *Checker) clusterIP(w *walk, o map[string]any, root *yamltext.Location) {
	spec, _ := o["spec"].(map[string]any)
	text, _ := spec["clusterIP"].(string)
	if len(c.ServiceSubnets) == 0 || text == "" || text == "None" {
		return
	}
	at := root.Key("spec").Key("clusterIP")
	address, err := netip.ParseAddr(text)
	within := func(s netip.Prefix) bool { return s.Contains(address) }
	switch {
	case err != nil:
		w.add(at, "%q is not an IP address; write one, or None", text)
	case !slices.ContainsFunc(c.ServiceSubnets, within):
		subnets := strings.Trim(fmt.Sprint(c.ServiceSubnets), "[]")
		w.add(at, "%s lies in no service subnet (%s); take an address of one, or leave it out",
			address, subnets)
	case slices.ContainsFunc(c.ServiceSubnets, func(s netip.Prefix) bool {
		return s.Masked().Addr().Next() == address
	}) && nameIn(o) != "kubernetes":
		w.add(at, "%s is the address of the Service kubernetes; take another", address)
	}
}

// nodeName checks that a pod names a machine of the cluster.
func (c *Checker) nodeName(w *walk, o map[string]any, root *yamltext.Location) {
	spec, _ := o["spec"].(map[string]any)
	name, _ := spec["nodeName"].(string)
	if name != "" && len(c.Nodes) > 0 && !slices.Contains(c.Nodes, name) {
		w.add(root.Key("spec").Key("nodeName"), "the cluster has no node %q%s", name,
			wording.Hint(name, c.Nodes))
	}
}

// nameIn returns the name of an object.
func nameIn(o map[string]any) string {
	metadata, _ := o["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

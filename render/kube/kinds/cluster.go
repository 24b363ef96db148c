package kinds

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"

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

// AddService makes known which addresses and ports of nodes a Service, in JSON, has. The first
// Service that was added with one of them has it, and the API server refuses it to others.
func (c *Checker) AddService(data []byte) {
	eachClaim(data, func(_ *yamltext.Location, service, claim string, _ int32) {
		c.claimed[claim] = cmp.Or(c.claimed[claim], service)
	})
}

// claims checks that a Service asks for no address and for no port of nodes that another one has,
// and for no port outside those that the API server gives.
func (c *Checker) claims(w *walk, data []byte) {
	eachClaim(data, func(at *yamltext.Location, service, claim string, port int32) {
		if by := c.claimed[claim]; by != "" && by != service {
			w.add(at, "%s belongs to the Service %s already; write another, or leave it out",
				claim, by)
		}
		if port != 0 && c.NodePorts.Size > 0 && !c.NodePorts.Contains(int(port)) {
			w.add(at, "%d is not one of the API server's ports for Services (%s); write one of "+
				"these, leave it out, or change service-node-port-range", port, &c.NodePorts)
		}
	})
}

// eachClaim calls use with each address that a Service asks for, and each port of nodes.
func eachClaim(data []byte, use func(at *yamltext.Location, service, claim string, port int32)) {
	s, ok := Decode[core.Service](data)
	if !ok {
		return
	}
	service := cmp.Or(s.Namespace, core.NamespaceDefault) + "/" + s.Name
	spec := (&yamltext.Location{}).Key("spec")
	if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != core.ClusterIPNone {
		use(spec.Key("clusterIP"), service, s.Spec.ClusterIP, 0)
	}
	for i, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			claim := fmt.Sprint(cmp.Or(p.Protocol, core.ProtocolTCP), " ", p.NodePort)
			use(spec.Key("ports").Index(i).Key("nodePort"), service, claim, p.NodePort)
		}
	}
}

func (c *Checker) nodeName(w *walk, o map[string]any, root *yamltext.Location) {
	spec, _ := o["spec"].(map[string]any)
	name, _ := spec["nodeName"].(string)
	if name != "" && len(c.Nodes) > 0 && !slices.Contains(c.Nodes, name) {
		w.add(root.Key("spec").Key("nodeName"), "the cluster has no node %q%s", name,
			wording.Hint(name, c.Nodes))
	}
}

func nameIn(o map[string]any) string {
	metadata, _ := o["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// issuers reports an issuer that the API server has for its own tokens, with which it exits, and
// the address of an issuer's document, which no token has.
func (c *Checker) issuers(w *walk, o map[string]any, root *yamltext.Location) {
	list, _ := o["jwt"].([]any)
	for i, jwt := range list {
		m, _ := jwt.(map[string]any)
		issuer, _ := m["issuer"].(map[string]any)
		url, _ := issuer["url"].(string)
		at := root.Key("jwt").Index(i).Key("issuer").Key("url")
		if slices.Contains(c.Issuers, url) {
			w.add(at, "%s issues the tokens of service accounts, which the API server takes "+
				"anyway; remove it", Show(url))
		} else if own, _, ok := strings.Cut(url, "/.well-known/"); ok {
			w.add(at, "%s is the address of its document; write %s", Show(url), own)
		}
	}
}

package assembly

import (
	"strconv"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// object is a map in the network configuration.
type object = map[string]any

// CloudInit returns cloud-init's network configuration, version 2. It uses only keys that every
// version of cloud-init from 22.4 on understands, and every program to which cloud-init passes them
// on. netplan reports whether the system has netplan. Without netplan, cloud-init translates the
// configuration itself and understands neither "default" nor ::/0 as the target of a route: default
// routers then stand under gateway4 and gateway6, which netplan has deprecated.
func CloudInit(interfaces []plan.Interface, netplan bool) ([]byte, error) {
	ethernets, bonds, vlans := object{}, object{}, object{}
	for i := range interfaces {
		n := &interfaces[i]
		out := object{}
		switch {
		case n.Bond != nil:
			out["interfaces"], out["parameters"] = n.Bond.Members, bondParameters(n.Bond)
			bonds[n.Name] = out
		case n.VLAN != nil:
			out["id"], out["link"] = n.VLAN.ID, n.VLAN.Link
			vlans[n.Name] = out
		default:
			if n.MAC != "" {
				out["match"], out["set-name"] = object{"macaddress": n.MAC}, n.Name
			}
			ethernets[n.Name] = out
		}
		addAddresses(out, n)
		addRoutes(out, n, netplan)
		// As on the other systems. Without it networkd waits some seconds for a router to speak.
		if netplan && n.Master == "" && !n.DHCP6 {
			out["accept-ra"] = false
		}
	}
	document := object{"version": 2}
	for key, kind := range map[string]object{
		"ethernets": ethernets, "bonds": bonds, "vlans": vlans,
	} {
		if len(kind) > 0 {
			document[key] = kind
		}
	}
	return yaml.Marshal(document)
}

// bondParameters returns the parameters of a bond. A time is a string there, in milliseconds
// without a unit.
func bondParameters(b *config.Bond) object {
	parameters := object{"mode": b.Mode, "mii-monitor-interval": strconv.Itoa(b.MIIMon)}
	for key, value := range map[string]string{
		"lacp-rate":            b.LACPRate,
		"transmit-hash-policy": b.TransmitHashPolicy,
		"primary":              b.Primary,
	} {
		if value != "" {
			parameters[key] = value
		}
	}
	return parameters
}

// addAddresses adds the addresses, the MTU and the name servers of an interface.
func addAddresses(out object, n *plan.Interface) {
	for key, on := range map[string]bool{"dhcp4": n.DHCP4, "dhcp6": n.DHCP6} {
		if on {
			out[key] = true
		}
	}
	if len(n.Addresses) > 0 {
		out["addresses"] = stringsOf(n.Addresses)
	}
	if n.MTU != 0 {
		out["mtu"] = n.MTU
	}
	servers := object{}
	if len(n.DNS) > 0 {
		servers["addresses"] = stringsOf(n.DNS)
	}
	if len(n.Search) > 0 {
		servers["search"] = n.Search
	}
	if len(servers) > 0 {
		out["nameservers"] = servers
	}
}

// addRoutes adds the routes of an interface, and its default routers as CloudInit describes.
func addRoutes(out object, n *plan.Interface, netplan bool) {
	var routes []object
	for _, r := range n.Routes {
		if is4 := r.Via.Is4(); !netplan && r.To.Bits() == 0 && len(n.Own(is4)) > 0 {
			out[map[bool]string{true: "gateway4", false: "gateway6"}[is4]] = r.Via.String()
			continue
		}
		route := object{"to": r.To.String(), "via": r.Via.String()}
		if r.Metric != 0 {
			route["metric"] = r.Metric
		}
		routes = append(routes, route)
	}
	if len(routes) > 0 {
		out["routes"] = routes
	}
}

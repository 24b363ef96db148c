package interfaces

import (
	"strconv"

	"sigs.k8s.io/yaml"

	"kiln/render/plan"
)

// CloudInit is cloud-init's network configuration, version 2, in what all its versions from 22.4 on and all programs behind it
// understand. Where there is no netplan, cloud-init translates it itself: it knows neither "default" nor ::/0, and the default routers stand
// under the names that netplan has given up since.
func CloudInit(list []plan.Interface, netplan bool) ([]byte, error) {
	type m = map[string]any
	ethernets, bonds, vlans := m{}, m{}, m{}
	for i := range list {
		n := &list[i]
		out := m{}
		switch {
		case n.Bond != nil:
			// Times are texts there, and milliseconds without a unit.
			parameters := m{"mode": n.Bond.Mode, "mii-monitor-interval": strconv.Itoa(n.Bond.MIIMon)}
			for key, value := range map[string]string{
				"lacp-rate": n.Bond.LACPRate, "transmit-hash-policy": n.Bond.TransmitHashPolicy, "primary": n.Bond.Primary,
			} {
				if value != "" {
					parameters[key] = value
				}
			}
			out["interfaces"], out["parameters"] = n.Bond.Members, parameters
			bonds[n.Name] = out
		case n.VLAN != nil:
			out["id"], out["link"] = n.VLAN.ID, n.VLAN.Link
			vlans[n.Name] = out
		default:
			if n.MAC != "" {
				out["match"], out["set-name"] = m{"macaddress": n.MAC}, n.Name
			}
			ethernets[n.Name] = out
		}
		for key, on := range map[string]bool{"dhcp4": n.DHCP4, "dhcp6": n.DHCP6} {
			if on {
				out[key] = true
			}
		}
		if len(n.Addresses) > 0 {
			out["addresses"] = texts(n.Addresses)
		}
		if n.MTU != 0 {
			out["mtu"] = n.MTU
		}
		var routes []m
		for _, r := range n.Routes {
			if is4 := r.Via.Is4(); !netplan && r.To.Bits() == 0 && len(n.Own(is4)) > 0 {
				out[map[bool]string{true: "gateway4", false: "gateway6"}[is4]] = r.Via.String()
				continue
			}
			route := m{"to": r.To.String(), "via": r.Via.String()}
			if r.Metric != 0 {
				route["metric"] = r.Metric
			}
			routes = append(routes, route)
		}
		if len(routes) > 0 {
			out["routes"] = routes
		}
		servers := m{}
		if len(n.DNS) > 0 {
			servers["addresses"] = texts(n.DNS)
		}
		if len(n.Search) > 0 {
			servers["search"] = n.Search
		}
		if len(servers) > 0 {
			out["nameservers"] = servers
		}
	}
	config := m{"version": 2}
	for key, kind := range map[string]m{"ethernets": ethernets, "bonds": bonds, "vlans": vlans} {
		if len(kind) > 0 {
			config[key] = kind
		}
	}
	return yaml.Marshal(config)
}

package serve

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// identity is by what a request says which machine it comes from.
type identity struct{ kind, value string } // mac or uuid

// stranger says why a request that names a machine's MAC address or UUID is not from the machine whose item it wants; nothing if it may be. An
// identity that no machine is known by says nothing of a machine that has none.
func (c *catalogue) stranger(it *item, query url.Values) string {
	for _, kind := range []string{"mac", "uuid"} {
		for _, text := range query[kind] {
			id := identity{kind, normal(kind, text)}
			owner, known := c.owners[id]
			switch {
			case it.node == "":
			case known && owner != it.node:
				return "its " + kind + " is that of another machine"
			case !known && c.has(kind, it.node):
				return "its " + kind + " is not that of the machine"
			}
		}
	}
	return ""
}

// at returns the machine that has an address; nothing if none has.
func (c *catalogue) at(a netip.Addr) string {
	for _, node := range slices.Sorted(maps.Keys(c.addresses)) {
		if slices.Contains(c.addresses[node], a) {
			return node
		}
	}
	return ""
}

// has says whether a machine's MAC address or UUID is known.
func (c *catalogue) has(kind, node string) bool {
	for id, owner := range c.owners {
		if id.kind == kind && owner == node {
			return true
		}
	}
	return false
}

// normal returns a MAC address or UUID in lower case and, whatever stands between its bytes, one form. iPXE writes ${mac:hexhyp}.
func normal(kind, text string) string {
	if kind == "mac" {
		if mac, err := net.ParseMAC(text); err == nil {
			return mac.String()
		}
	}
	return strings.ToLower(text)
}

// machine tells those apart who fetch one item: a machine is known by its name already, one of a pool by what it says of itself or by where it is.
func (it *item) machine(r *http.Request) string {
	if !it.pool {
		return ""
	}
	query := r.URL.Query()
	for _, kind := range []string{"uuid", "mac"} {
		if text := query.Get(kind); text != "" && len(text) <= 64 {
			return kind + " " + normal(kind, text)
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

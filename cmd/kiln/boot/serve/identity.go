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

// identity is a property of a machine that a request can name.
type identity struct{ kind, value string } // the kind is mac or uuid

// foreignIdentity returns the reason why a request with these identities in its query does not come
// from the machine of the item, or nothing if it may. An unknown identity is not foreign to a
// machine whose identity is not known.
func (c *catalogue) foreignIdentity(it *item, query url.Values) string {
	for _, kind := range []string{"mac", "uuid"} {
		for _, value := range query[kind] {
			owner, known := c.owners[identity{kind, normalize(kind, value)}]
			switch {
			case it.node == "":
			case known && owner != it.node:
				return "its " + kind + " is that of another machine"
			case !known && c.hasIdentity(it.node, kind):
				return "its " + kind + " is not that of the machine"
			}
		}
	}
	return ""
}

// hasIdentity reports whether the MAC address or UUID of a machine is known.
func (c *catalogue) hasIdentity(node, kind string) bool {
	for id, owner := range c.owners {
		if id.kind == kind && owner == node {
			return true
		}
	}
	return false
}

// owner returns the machine that has an address, or nothing.
func (c *catalogue) owner(a netip.Addr) string {
	for _, node := range slices.Sorted(maps.Keys(c.addresses)) {
		if slices.Contains(c.addresses[node], a) {
			return node
		}
	}
	return ""
}

// normalize returns a MAC address or UUID in lower case. It gives MAC addresses one form, whatever
// separates their bytes: iPXE writes ${mac:hexhyp} with hyphens.
func normalize(kind, value string) string {
	if kind == "mac" {
		if mac, err := net.ParseMAC(value); err == nil {
			return mac.String()
		}
	}
	return strings.ToLower(value)
}

// machine returns a name for the machine of a pool that sends a request: its UUID or MAC address in
// the query, or else the client's address. It returns nothing for an item of one machine.
func (it *item) machine(r *http.Request) string {
	if !it.pool {
		return ""
	}
	query := r.URL.Query()
	for _, kind := range []string{"uuid", "mac"} {
		if value := query.Get(kind); value != "" && len(value) <= 64 {
			return kind + " " + normalize(kind, value)
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// This file refuses changes that take away the place where machines find the API servers.

package rollout

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// lostEndpoint: running workers connect to the API servers by a name that the new certificates
// lack.
func lostEndpoint(d *transition, _ []*decision) string {
	old := d.old.Properties.Value("endpoint")
	if old == d.new.Properties.Value("endpoint") || old == "" {
		return ""
	}
	host := hostOf(old)
	for _, m := range d.new.Machines {
		t := m.Entries.Find(change.Key{Kind: "file", ID: "/etc/kubernetes/pki/apiserver.crt"})
		if t == nil {
			continue
		}
		for _, c := range t.Certificates() {
			if !covers(c.Names, host) {
				return fmt.Sprintf("endpoint %s → %s: workers that run look for %s, "+
					"which is no name of the new API servers' certificates",
					old, d.new.Properties.Value("endpoint"), host)
			}
		}
	}
	return ""
}

// hostOf returns the host of an endpoint.
func hostOf(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.Hostname()
	}
	return endpoint
}

// lostVIP: no new control plane carries an address at which the older API servers are found.
func lostVIP(d *transition, _ []*decision) string {
	old, now := carriedAddresses(d.old), carriedAddresses(d.new)
	for _, address := range old {
		if !slices.Contains(now, address) {
			return fmt.Sprintf("controlPlane.vip %s → %s: no new control plane carries %s, so "+
				"machines and people who look for the API servers there find none when the older "+
				"control planes are gone, or before", address,
				cmp.Or(strings.Join(now, ", "), "none"), address)
		}
	}
	return ""
}

// carriedAddresses returns the addresses that kube-vip carries on control planes.
func carriedAddresses(c *change.Cluster) (addresses []string) {
	for _, m := range c.Machines {
		pod := m.Entries.Find(change.Key{Kind: "file", ID: plan.ManifestsDir + "/kube-vip.yaml"})
		if pod == nil {
			continue
		}
		if match := vipVariable.FindSubmatch(pod.Content); match != nil &&
			!slices.Contains(addresses, string(match[1])) {
			addresses = append(addresses, string(match[1]))
		}
	}
	return addresses
}

// vipVariable finds the address in the environment of kube-vip.
var vipVariable = regexp.MustCompile(`(?m)^ *- name: address\n *value: ["']?([0-9a-f.:]+)`)

// covers reports whether a certificate with these names is valid for host.
func covers(names []string, host string) bool {
	addr, err := netip.ParseAddr(host)
	for _, name := range names {
		a, err2 := netip.ParseAddr(name)
		switch {
		case err == nil && err2 == nil && a == addr, err != nil && strings.EqualFold(name, host):
			return true
		case err != nil && strings.HasPrefix(name, "*."):
			if _, parent, ok := strings.Cut(host, "."); ok && strings.EqualFold(parent, name[2:]) {
				return true
			}
		}
	}
	return false
}

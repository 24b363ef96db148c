package render_test

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// line is one line KEY=VALUE of a file of sections.
type line struct{ section, key, value string }

// readINI reads a file of systemd or NetworkManager strictly: it has only sections and lines
// KEY=VALUE, and only known ones.
func readINI(t *testing.T, f *node.File, known map[string]string) (out []line) {
	t.Helper()
	section := ""
	for text := range strings.Lines(string(f.Content)) {
		text, ended := strings.CutSuffix(text, "\n")
		require.True(t, ended, f.Path)
		if strings.HasPrefix(text, "[") {
			section = strings.Trim(text, "[]")
			require.Equal(t, "["+section+"]", text)
			require.Contains(t, known, section, f.Path)
			out = append(out, line{section, "", ""})
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		require.True(t, ok && value != "" && strings.TrimSpace(value) == value,
			"%s: %s", f.Path, text)
		require.Contains(t, strings.Fields(known[section]), strings.TrimRight(key, "0123456789"),
			"%s: [%s]", f.Path, section)
		out = append(out, line{section, key, value})
	}
	return out
}

// The keys of systemd.link(5), systemd.netdev(5) and systemd.network(5), read at 252 and 257, and
// of nm-settings-keyfile(5), read at 1.48, that kiln writes; a key of several values ends in its
// number.
var (
	linkKeys   = map[string]string{"Match": "PermanentMACAddress", "Link": "Name"}
	netdevKeys = map[string]string{
		"NetDev": "Name Kind",
		"Bond":   "Mode MIIMonitorSec LACPTransmitRate TransmitHashPolicy",
		"VLAN":   "Id",
	}
	networkKeys = map[string]string{
		"Match":   "Name",
		"Link":    "MTUBytes",
		"Network": "Bond PrimarySlave DHCP IPv6AcceptRA Address DNS Domains VLAN",
		"Route":   "Destination Gateway Metric",
	}
	keyfileKeys = map[string]string{
		"connection": "id type interface-name master slave-type",
		"ethernet":   "mac-address mtu",
		"bond":       "mode miimon lacp_rate xmit_hash_policy primary",
		"vlan":       "id parent",
		"ipv4":       "method address gateway route dns dns-search",
		"ipv6":       "method address gateway route dns dns-search",
	}
)

func readLink(t *testing.T, lines []line, n *plan.Interface) {
	for _, l := range lines {
		switch l.key {
		case "PermanentMACAddress":
			require.Contains(t, []string{"", l.value}, n.MAC)
			n.MAC = l.value
		case "Name":
			require.Equal(t, n.Name, l.value)
		}
	}
}

func readNetdev(t *testing.T, lines []line, n *plan.Interface) {
	for _, l := range lines {
		switch l.section + " " + l.key {
		case "NetDev Name":
			require.Equal(t, n.Name, l.value)
		case "Bond ":
			n.Bond = &config.Bond{}
		case "Bond Mode":
			n.Bond.Mode = l.value
		case "Bond MIIMonitorSec":
			n.Bond.MIIMon = whole(t, strings.TrimSuffix(l.value, "ms"))
		case "Bond LACPTransmitRate":
			n.Bond.LACPRate = l.value
		case "Bond TransmitHashPolicy":
			n.Bond.TransmitHashPolicy = l.value
		case "VLAN Id":
			n.VLAN = &config.VLAN{ID: whole(t, l.value)}
		}
	}
}

func readNetwork(t *testing.T, lines []line, n *plan.Interface) {
	n.Addresses, n.DNS = []netip.Prefix{}, []netip.Addr{}
	for _, l := range lines {
		last := len(n.Routes) - 1
		switch l.section + " " + l.key {
		case "Match Name":
			require.Equal(t, n.Name, l.value)
		case "Link MTUBytes":
			n.MTU = whole(t, l.value)
		case "Network Bond":
			n.Master = l.value
		case "Network PrimarySlave":
			n.Primary = l.value == "true"
		case "Network DHCP":
			n.DHCP4 = l.value == "yes" || l.value == "ipv4"
			n.DHCP6 = l.value == "yes" || l.value == "ipv6"
		case "Network IPv6AcceptRA":
			require.Equal(t, n.DHCP6, l.value == "yes")
		case "Network Address":
			n.Addresses = append(n.Addresses, netip.MustParsePrefix(l.value))
		case "Network DNS":
			n.DNS = append(n.DNS, netip.MustParseAddr(l.value))
		case "Network Domains":
			n.Search = strings.Fields(l.value)
		case "Network VLAN":
			n.VLANs = append(n.VLANs, l.value)
		case "Route ":
			n.Routes = append(n.Routes, plan.Hop{})
		case "Route Destination":
			n.Routes[last].To = netip.MustParsePrefix(l.value)
		case "Route Gateway":
			n.Routes[last].Via = netip.MustParseAddr(l.value)
		case "Route Metric":
			n.Routes[last].Metric = whole(t, l.value)
		}
	}
}

func readKeyfile(t *testing.T, lines []line, n *plan.Interface) {
	n.Addresses, n.DNS = []netip.Prefix{}, []netip.Addr{}
	for _, l := range lines {
		everything := netip.MustParsePrefix("::/0")
		if l.section == "ipv4" {
			everything = netip.MustParsePrefix("0.0.0.0/0")
		}
		switch key := strings.TrimRight(l.key, "0123456789"); l.section[:2] + " " + key {
		case "co id", "co interface-name":
			require.Equal(t, n.Name, l.value)
		case "co master":
			n.Master = l.value
		case "et mac-address":
			n.MAC = l.value // the link file, which comes later, says the same
		case "et mtu":
			n.MTU = whole(t, l.value)
		case "bo ":
			n.Bond = &config.Bond{}
		case "bo mode":
			n.Bond.Mode = l.value
		case "bo miimon":
			n.Bond.MIIMon = whole(t, l.value)
		case "bo lacp_rate":
			n.Bond.LACPRate = l.value
		case "bo xmit_hash_policy":
			n.Bond.TransmitHashPolicy = l.value
		case "bo primary":
			n.Bond.Primary = l.value
		case "vl ":
			n.VLAN = &config.VLAN{}
		case "vl id":
			n.VLAN.ID = whole(t, l.value)
		case "vl parent":
			n.VLAN.Link = l.value
		case "ip method":
			if l.section == "ipv4" {
				n.DHCP4 = l.value == "auto"
			} else {
				n.DHCP6 = l.value == "auto"
			}
		case "ip address":
			n.Addresses = append(n.Addresses, netip.MustParsePrefix(l.value))
		case "ip gateway":
			n.Routes = append(n.Routes, plan.Hop{To: everything, Via: netip.MustParseAddr(l.value)})
		case "ip route":
			parts := append(strings.Split(l.value, ","), "0")
			n.Routes = append(n.Routes, plan.Hop{
				To: netip.MustParsePrefix(parts[0]), Via: netip.MustParseAddr(parts[1]),
				Metric: whole(t, parts[2]),
			})
		case "ip dns":
			for a := range strings.SplitSeq(strings.TrimSuffix(l.value, ";"), ";") {
				n.DNS = append(n.DNS, netip.MustParseAddr(a))
			}
		case "ip dns-search":
			n.Search = strings.Split(strings.TrimSuffix(l.value, ";"), ";")
		}
	}
}

func whole(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

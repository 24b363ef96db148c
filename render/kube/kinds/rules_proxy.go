package kinds

import (
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The rules of kube-proxy are those of Validate in k8s.io/kubernetes, pkg/proxy/apis/config/
// validation, read at 1.36.3. testdata/kinds/kube-proxy.yaml has values for each that are refused
// and accepted.

var proxyRules = inType("config/v1alpha1.", map[string]Rule{
	"KubeProxyConfiguration bindAddress":        {Check: address},
	"KubeProxyConfiguration configSyncPeriod":   duration,
	"KubeProxyConfiguration healthzBindAddress": {Check: hostPort("0.0.0.0:10256")},
	"KubeProxyConfiguration metricsBindAddress": {Check: hostPort("127.0.0.1:10249")},
	"KubeProxyConfiguration mode":               OneOf("iptables", "ipvs", "nftables"),
	"KubeProxyConfiguration oomScoreAdj":        Within(-1000, 1000),
	"KubeProxyConfiguration detectLocalMode": OneOf("ClusterCIDR", "NodeCIDR",
		"BridgeInterface", "InterfaceNamePrefix"),
	"KubeProxyConntrackConfiguration maxPerCore":            NotNegative,
	"KubeProxyConntrackConfiguration min":                   NotNegative,
	"KubeProxyConntrackConfiguration tcpCloseWaitTimeout":   duration,
	"KubeProxyConntrackConfiguration tcpEstablishedTimeout": duration,
	"KubeProxyConntrackConfiguration udpStreamTimeout":      duration,
	"KubeProxyConntrackConfiguration udpTimeout":            duration,
	"KubeProxyIPTablesConfiguration masqueradeBit":          Within(0, 31),
	"ClientConnectionConfiguration burst":                   NotNegative,
}, nil)

// duration is the rule of a duration that is not negative; 0 stands for the default.
var duration = lasting(0, math.MaxInt64)

var proxyDocuments = map[string][]Document{"KubeProxyConfiguration": {
	proxyModes, proxyPeriods, nodePorts,
}}

type proxySettings struct {
	Mode            string `json:"mode"`
	DetectLocalMode string `json:"detectLocalMode"`
	DetectLocal     struct {
		BridgeInterface     string `json:"bridgeInterface"`
		InterfaceNamePrefix string `json:"interfaceNamePrefix"`
	} `json:"detectLocal"`
	NodePortAddresses []string  `json:"nodePortAddresses"`
	IPTables          proxySync `json:"iptables"`
	NFTables          struct {
		proxySync
		MasqueradeBit *int64 `json:"masqueradeBit"`
	} `json:"nftables"`
	IPVS struct {
		proxySync
		ExcludeCIDRs  []string `json:"excludeCIDRs"`
		TCPTimeout    string   `json:"tcpTimeout"`
		TCPFinTimeout string   `json:"tcpFinTimeout"`
		UDPTimeout    string   `json:"udpTimeout"`
	} `json:"ipvs"`
}

type proxySync struct {
	SyncPeriod    string `json:"syncPeriod"`
	MinSyncPeriod string `json:"minSyncPeriod"`
}

// proxyModes checks the settings that count in one mode alone.
func proxyModes(f *Fault, data []byte) {
	c, ok := Decode[proxySettings](data)
	if !ok {
		return
	}
	report := func(at *Fault, message string) {
		if message != "" {
			at.Report("%s", message)
		}
	}
	switch c.Mode {
	case "nftables":
		if c.NFTables.MasqueradeBit != nil {
			report(f.Key("nftables", "masqueradeBit"),
				Within(0, 31).Check(*c.NFTables.MasqueradeBit))
		}
	case "ipvs":
		for i, cidr := range c.IPVS.ExcludeCIDRs {
			report(f.Key("ipvs", "excludeCIDRs").Index(i), network(cidr))
		}
		report(f.Key("ipvs", "tcpTimeout"), duration.Check(c.IPVS.TCPTimeout))
		report(f.Key("ipvs", "tcpFinTimeout"), duration.Check(c.IPVS.TCPFinTimeout))
		report(f.Key("ipvs", "udpTimeout"), duration.Check(c.IPVS.UDPTimeout))
	}
	switch {
	case c.DetectLocalMode == "BridgeInterface" && c.DetectLocal.BridgeInterface == "":
		f.Key("detectLocalMode").Report("BridgeInterface needs detectLocal.bridgeInterface")
	case c.DetectLocalMode == "InterfaceNamePrefix" && c.DetectLocal.InterfaceNamePrefix == "":
		f.Key("detectLocalMode").Report("InterfaceNamePrefix needs detectLocal.interfaceNamePrefix")
	}
}

// proxyPeriods checks how often the rules of the mode are written, with its defaults.
func proxyPeriods(f *Fault, data []byte) {
	c, ok := Decode[proxySettings](data)
	if !ok {
		return
	}
	section, given := "iptables", c.IPTables
	switch c.Mode {
	case "ipvs":
		section, given = "ipvs", c.IPVS.proxySync
	case "nftables":
		section, given = "nftables", c.NFTables.proxySync
	}
	f = f.Key(section)
	period, least := lengthOf(given.SyncPeriod), lengthOf(given.MinSyncPeriod)
	if period == 0 {
		period = defaultSyncPeriod
	}
	if given.MinSyncPeriod == "" || least == 0 && section != "ipvs" {
		least = defaultMinSyncPeriod[section]
	}
	switch {
	case period < 0:
		f.Key("syncPeriod").Report("%s is negative", period)
	case least < 0:
		f.Key("minSyncPeriod").Report("%s is negative", least)
	case least > period:
		f.Key("minSyncPeriod").Report("%s is longer than syncPeriod, %s", least, period)
	}
}

// The defaults of kube-proxy: pkg/proxy/apis/config/v1alpha1/defaults.go.
const defaultSyncPeriod = 30 * time.Second

var defaultMinSyncPeriod = map[string]time.Duration{
	"iptables": time.Second, "nftables": time.Second,
}

func lengthOf(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

func address(v any) string {
	s, _ := v.(string)
	if net.ParseIP(s) == nil {
		return Show(s) + " is not an IP address"
	}
	return ""
}

// bindAddress is the rule of an address whose port stands in another field.
func bindAddress(v any) string {
	if v == "localhost" {
		return ""
	}
	return address(v)
}

// hostPort returns the rule of an address, with or without a port.
func hostPort(example string) func(v any) string {
	return func(v any) string {
		s, _ := v.(string)
		if net.ParseIP(s) != nil {
			return "" // the default port follows
		}
		host, port, err := net.SplitHostPort(s)
		n, wrong := strconv.Atoi(port)
		if err != nil || net.ParseIP(host) == nil || wrong != nil || n < 0 || n > 65535 {
			return Show(s) + " is not an address with a port, such as " + example
		}
		return ""
	}
}

// nodePorts checks where Services with node ports are reached: networks, or words for addresses of
// the machine. Before 1.37 there is one such word, and it stands alone.
func nodePorts(f *Fault, data []byte) {
	c, ok := Decode[proxySettings](data)
	if !ok {
		return
	}
	words := []string{"primary"}
	if f.Minor >= 37 {
		words = []string{"primary", "localhost", "all"}
	}
	for i, s := range c.NodePortAddresses {
		at := f.Key("nodePortAddresses").Index(i)
		switch isWord := slices.Contains(words, s); {
		case !isWord:
			if message := network(s); message != "" {
				at.Report("%s, and not one of the words %s", message, strings.Join(words, ", "))
			}
		case f.Minor < 37 && len(c.NodePortAddresses) > 1:
			at.Report("%s stands alone", s)
		case slices.Index(c.NodePortAddresses, s) < i:
			at.Report("%s stands there twice", s)
		}
	}
}

func network(s string) string {
	if _, err := netip.ParsePrefix(s); err != nil {
		return Show(s) + " is not a network such as 10.0.0.0/24"
	}
	return ""
}

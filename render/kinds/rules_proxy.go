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

// proxyRules are the rules of fields of KubeProxyConfiguration, and of the types in it.
var proxyRules = inType("config/v1alpha1.", map[string]rule{
	"KubeProxyConfiguration bindAddress":        {check: address},
	"KubeProxyConfiguration configSyncPeriod":   duration,
	"KubeProxyConfiguration healthzBindAddress": {check: hostPort},
	"KubeProxyConfiguration metricsBindAddress": {check: hostPort},
	"KubeProxyConfiguration mode":               oneOf("iptables", "ipvs", "nftables"),
	"KubeProxyConfiguration oomScoreAdj":        within(-1000, 1000),
	"KubeProxyConfiguration detectLocalMode": oneOf("ClusterCIDR", "NodeCIDR", "BridgeInterface",
		"InterfaceNamePrefix"),
	"KubeProxyConntrackConfiguration maxPerCore":            notNegative,
	"KubeProxyConntrackConfiguration min":                   notNegative,
	"KubeProxyConntrackConfiguration tcpCloseWaitTimeout":   duration,
	"KubeProxyConntrackConfiguration tcpEstablishedTimeout": duration,
	"KubeProxyConntrackConfiguration udpStreamTimeout":      duration,
	"KubeProxyConntrackConfiguration udpTimeout":            duration,
	"KubeProxyIPTablesConfiguration masqueradeBit":          within(0, 31),
	"ClientConnectionConfiguration burst":                   notNegative,
}, nil)

// duration is the rule of a duration that is not negative; 0 stands for the default.
var duration = lasting(0, math.MaxInt64)

// proxyDocuments are the rules that concern several fields.
var proxyDocuments = map[string][]document{"KubeProxyConfiguration": {
	proxyModes, proxyPeriods, nodePorts,
}}

// proxySettings is the part of KubeProxyConfiguration that these rules read.
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

// proxySync is how often kube-proxy writes its rules, in one mode.
type proxySync struct {
	SyncPeriod    string `json:"syncPeriod"`
	MinSyncPeriod string `json:"minSyncPeriod"`
}

// proxyModes checks the settings that count in one mode alone.
func proxyModes(f *fault, data []byte) {
	c, ok := decode[proxySettings](data)
	if !ok {
		return
	}
	report := func(at *fault, message string) {
		if message != "" {
			at.report("%s", message)
		}
	}
	switch c.Mode {
	case "nftables":
		if c.NFTables.MasqueradeBit != nil {
			report(f.key("nftables", "masqueradeBit"),
				within(0, 31).check(*c.NFTables.MasqueradeBit))
		}
	case "ipvs":
		for i, cidr := range c.IPVS.ExcludeCIDRs {
			report(f.key("ipvs", "excludeCIDRs").index(i), network(cidr))
		}
		report(f.key("ipvs", "tcpTimeout"), duration.check(c.IPVS.TCPTimeout))
		report(f.key("ipvs", "tcpFinTimeout"), duration.check(c.IPVS.TCPFinTimeout))
		report(f.key("ipvs", "udpTimeout"), duration.check(c.IPVS.UDPTimeout))
	}
	switch {
	case c.DetectLocalMode == "BridgeInterface" && c.DetectLocal.BridgeInterface == "":
		f.key("detectLocalMode").report("BridgeInterface needs detectLocal.bridgeInterface")
	case c.DetectLocalMode == "InterfaceNamePrefix" && c.DetectLocal.InterfaceNamePrefix == "":
		f.key("detectLocalMode").report("InterfaceNamePrefix needs detectLocal.interfaceNamePrefix")
	}
}

// proxyPeriods checks how often the rules of the mode are written, with its defaults.
func proxyPeriods(f *fault, data []byte) {
	c, ok := decode[proxySettings](data)
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
	f = f.key(section)
	period, least := lengthOf(given.SyncPeriod), lengthOf(given.MinSyncPeriod)
	if period == 0 {
		period = defaultSyncPeriod
	}
	if given.MinSyncPeriod == "" || least == 0 && section != "ipvs" {
		least = defaultMinSyncPeriod[section]
	}
	switch {
	case period < 0:
		f.key("syncPeriod").report("%s is negative", period)
	case least < 0:
		f.key("minSyncPeriod").report("%s is negative", least)
	case least > period:
		f.key("minSyncPeriod").report("%s is longer than syncPeriod, %s", least, period)
	}
}

// The defaults of kube-proxy: pkg/proxy/apis/config/v1alpha1/defaults.go.
const defaultSyncPeriod = 30 * time.Second

var defaultMinSyncPeriod = map[string]time.Duration{
	"iptables": time.Second, "nftables": time.Second,
}

// lengthOf returns a duration, 0 if it cannot be read.
func lengthOf(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

func address(v any) string {
	s, _ := v.(string)
	if net.ParseIP(s) == nil {
		return show(s) + " is not an IP address"
	}
	return ""
}

func hostPort(v any) string {
	s, _ := v.(string)
	if net.ParseIP(s) != nil {
		return "" // the default port follows
	}
	host, port, err := net.SplitHostPort(s)
	n, wrong := strconv.Atoi(port)
	if err != nil || net.ParseIP(host) == nil || wrong != nil || n < 0 || n > 65535 {
		return show(s) + " is not an address with a port, such as 0.0.0.0:10249"
	}
	return ""
}

// nodePorts checks where Services with node ports are reached: networks, or words for addresses of
// the machine. Before 1.37 there is one such word, and it stands alone.
func nodePorts(f *fault, data []byte) {
	c, ok := decode[proxySettings](data)
	if !ok {
		return
	}
	words := []string{"primary"}
	if f.minor >= 37 {
		words = []string{"primary", "localhost", "all"}
	}
	for i, s := range c.NodePortAddresses {
		at := f.key("nodePortAddresses").index(i)
		switch isWord := slices.Contains(words, s); {
		case !isWord:
			if message := network(s); message != "" {
				at.report("%s, and not one of the words %s", message, strings.Join(words, ", "))
			}
		case f.minor < 37 && len(c.NodePortAddresses) > 1:
			at.report("%s stands alone", s)
		case slices.Index(c.NodePortAddresses, s) < i:
			at.report("%s stands there twice", s)
		}
	}
}

// network returns why a string is not a network.
func network(s string) string {
	if _, err := netip.ParsePrefix(s); err != nil {
		return show(s) + " is not a network such as 10.0.0.0/24"
	}
	return ""
}

package config

import (
	"crypto/tls"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

func (v *checker) controlPlane() {
	cp, at := &v.c.Spec.ControlPlane, v.spec.Key("controlPlane")
	v.controlPlaneFlags()
	v.openBinding("controllerManager", cp.ControllerManager.ExtraArgs)
	v.openBinding("scheduler", cp.Scheduler.ExtraArgs)
	v.election(cp.ControllerManager.ExtraArgs, at.Key("controllerManager").Key("extraArgs"))
	v.election(cp.Scheduler.ExtraArgs, at.Key("scheduler").Key("extraArgs"))
	v.controllers(cp.ControllerManager.ExtraArgs, at.Key("controllerManager").Key("extraArgs"))
	v.weakened(cp.APIServer.ExtraArgs, at.Key("apiServer").Key("extraArgs"))
	v.nodePorts(cp.APIServer.ExtraArgs, at.Key("apiServer").Key("extraArgs"))
	v.certSANs(cp.APIServer.CertSANs, at.Key("apiServer").Key("certSANs"))
	v.etcd(&cp.Etcd, at.Key("etcd"))
}

func (v *checker) election(args []Arg, at *yamltext.Location) {
	count := len(v.controlPlanes)
	for i, a := range args {
		on, err := strconv.ParseBool(a.Value)
		if a.Name == "leader-elect" && err == nil && !on && count > 1 {
			v.report(at.Index(i), "without an election, the %d control planes all do the same "+
				"work at once, against each other; remove it", count)
		}
	}
}

// neededControllers are controllers without which machines do not work, by both of their names.
var neededControllers = []struct {
	names   []string
	flannel bool // whether it is Flannel that needs it
	why     string
}{
	{
		[]string{"node-ipam-controller", "nodeipam"}, true,
		"Nodes get no networks for pods, without which Flannel does not start",
	},
	{
		[]string{"certificatesigningrequest-signing-controller", "csrsigning",
			"certificatesigningrequest-approving-controller", "csrapproving"}, false,
		"no kubelet can renew its certificate",
	},
}

func (v *checker) controllers(args []Arg, at *yamltext.Location) {
	hasFlannel := v.c.Spec.Network.CNI == "flannel"
	for i, a := range args {
		on, err := strconv.ParseBool(a.Value)
		noNetworks := a.Name == "allocate-node-cidrs" && err == nil && !on
		for _, needed := range neededControllers {
			off := a.Name == "controllers" && slices.ContainsFunc(strings.Split(a.Value, ","),
				func(word string) bool {
					name, isOff := strings.CutPrefix(word, "-")
					return isOff && slices.Contains(needed.names, name)
				})
			if needed.flannel && hasFlannel && (off || noNetworks) || off && !needed.flannel {
				v.report(at.Index(i), "%s; remove it", needed.why)
			}
		}
	}
}

// weakened warns of flags of the API server that take away what protects it.
func (v *checker) weakened(args []Arg, at *yamltext.Location) {
	hardened := v.c.Spec.Security.Hardened()
	plugins := []string{"NodeRestriction"}
	if hardened {
		plugins = append(plugins, "DenyServiceExternalIPs", "EventRateLimit")
	}
	for i, a := range args {
		given := strings.Split(a.Value, ",")
		var lost []string
		switch a.Name {
		case "enable-admission-plugins":
			lost = slices.DeleteFunc(slices.Clone(plugins), func(name string) bool {
				return slices.Contains(given, name)
			})
			if len(lost) > 0 {
				v.warn(WarnHardening, at.Index(i), "replaces kiln's list of plugins, which has %s "+
					"too; write all that you want", strings.Join(lost, ", "))
			}
		case "disable-admission-plugins":
			for _, name := range append(plugins, "PodSecurity", "ServiceAccount") {
				if slices.Contains(given, name) {
					lost = append(lost, name)
				}
			}
			if len(lost) > 0 {
				v.warn(WarnHardening, at.Index(i), "turns off %s, which Nodes and pods need; "+
					"remove it", strings.Join(lost, ", "))
			}
		case "tls-cipher-suites":
			for _, suite := range tls.InsecureCipherSuites() {
				if slices.Contains(given, suite.Name) {
					lost = append(lost, suite.Name)
				}
			}
			if len(lost) > 0 && hardened {
				v.warn(WarnHardening, at.Index(i), "%s has known weaknesses; remove it",
					strings.Join(lost, ", "))
			}
		}
	}
}

func (v *checker) certSANs(list []string, at *yamltext.Location) {
	for i, san := range list {
		here := at.Index(i)
		if v.repeated(list, i, "certSANs", here) {
			continue
		}
		if a, err := netip.ParseAddr(san); err == nil {
			if a.Zone() != "" {
				v.report(here, "%s has a zone, which certificates cannot hold; remove it",
					quote(san))
				continue
			}
			v.ofWorker(san, here)
			continue
		}
		name := strings.TrimPrefix(san, "*.")
		problem := hostProblem(name)
		switch {
		case allDigits.MatchString(name):
			v.report(here, "%s is neither an IP address nor a DNS name; "+
				"write it like 10.0.0.10 or api.example.com", quote(san))
		case problem != "":
			v.report(here, "%s %s", quote(san), problem)
		default:
			v.ofWorker(san, here)
		}
	}
}

// ofWorker checks that a name or an address in the API server's certificate is none of a machine
// without an API server: its kubelet's certificate has that too, of the same CA.
func (v *checker) ofWorker(san string, at *yamltext.Location) {
	a := readAddress(san)
	for i := range v.c.Spec.Nodes {
		n := &v.c.Spec.Nodes[i]
		if n.Role != roleControlPlane &&
			(strings.EqualFold(n.Name, san) || a.IsValid() && v.hasAddress(i, a)) {
			v.report(at, "%s is a name or an address of %s (nodes[%d])%s, whose kubelet could "+
				"answer for the API server; remove it, or take another one for the machine",
				quote(san), n.Name, i, v.line(v.spec.Key("nodes").Index(i)))
		}
	}
}

// neededFlags are boolean flags of the API server. It starts without them, and a part of the
// cluster that kiln sets up does not work.
var neededFlags = []struct {
	flag   string
	needed func(c *Cluster) bool
	why    string
}{
	{
		"allow-privileged", (*Cluster).hasProxy,
		"the pods of kube-proxy, which are privileged, are refused",
	},
	{
		"enable-bootstrap-token-auth", (*Cluster).hasPools,
		"machines of pools cannot join",
	},
}

func (c *Cluster) hasProxy() bool { return c.Spec.Network.Proxy != "none" }

func (c *Cluster) hasPools() bool { return len(c.Spec.Pools) > 0 }

// neededFlags checks that no flag of the API server turns off what the rest of the configuration
// needs.
func (v *checker) neededFlags() {
	at := v.spec.Key("controlPlane").Key("apiServer").Key("extraArgs")
	for i, a := range v.c.Spec.ControlPlane.APIServer.ExtraArgs {
		on, err := strconv.ParseBool(a.Value)
		for _, f := range neededFlags {
			if a.Name == f.flag && err == nil && !on && f.needed(v.c) {
				v.report(at.Index(i).Key("value"), "with %s %s; remove the flag",
					quote(a.Value), f.why)
			}
		}
	}
}

package check

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

const (
	schemeHTTP  = corev1.URISchemeHTTP
	schemeHTTPS = corev1.URISchemeHTTPS
)

// schemes holds what is spoken on the ports of the balancer and of kube-vip, by the names of the
// ports. The balancer passes its connections on, so its clients speak HTTPS with an API server.
var schemes = map[string]corev1.URIScheme{
	"api": schemeHTTPS, "health": schemeHTTP, "metrics": schemeHTTP,
}

type listener struct {
	source  string           // the setting that opens it, for messages
	program *machine.Program // nil if the program is not a static pod
	scheme  corev1.URIScheme
	address netip.AddrPort // an unspecified address means all of them
}

// overlaps reports whether l receives connections to an address and port, or would take them from
// another program that listens there.
func (l listener) overlaps(address netip.AddrPort) bool {
	a, b := l.address.Addr(), address.Addr()
	return l.address.Port() == address.Port() && (a == b || a.IsUnspecified() || b.IsUnspecified())
}

// checkPorts checks that every port is opened once, and that clients dial where programs listen.
func (c *inspection) checkPorts() {
	c.addKubeletPorts()
	c.addProxyPorts()
	for _, p := range c.programs {
		if p.Pod.Spec.HostNetwork {
			c.addProgramPorts(p)
		}
	}
	for i, l := range c.listeners {
		for _, other := range c.listeners[:i] {
			if l.overlaps(other.address) {
				c.fail("%s: port %d is already taken by %s (%s); choose another",
					l.source, l.address.Port(), other.source, other.address)
			}
		}
	}
	ours := c.components()
	for _, p := range c.programs {
		if p.IsComponent() && slices.Contains(ours, p.Name) {
			c.checkProbes(p)
		}
	}
	c.checkDials()
}

// addListener records that a program opens a port. Port 0 means that it does not.
func (c *inspection) addListener(
	source string, p *machine.Program, scheme corev1.URIScheme, host, port string,
) {
	address, err := machine.AddrPort(host, port)
	switch {
	case err != nil:
		c.fail("%s: %q is not an address and port; write both in numbers",
			source, net.JoinHostPort(host, port))
	case address.Port() != 0:
		c.listeners = append(c.listeners, listener{source, p, scheme, address})
	}
}

// addKubeletPorts adds the ports of the kubelet, with its defaults.
func (c *inspection) addKubeletPorts() {
	const source = "file " + plan.KubeletConfig + ": "
	k, health := c.kubelet, int32(target.KubeletHealthPort)
	if k.HealthzPort != nil {
		health = *k.HealthzPort
	}
	if k.EnableServer == nil || *k.EnableServer {
		port := machine.PortString(cmp.Or(k.Port, target.KubeletPort))
		c.addListener(source+"port", nil, schemeHTTPS, k.Address, port)
	}
	readOnly := machine.PortString(k.ReadOnlyPort)
	c.addListener(source+"readOnlyPort", nil, schemeHTTP, k.Address, readOnly)
	healthAddress := cmp.Or(k.HealthzBindAddress, "127.0.0.1")
	c.addListener(source+"healthzPort", nil, schemeHTTP, healthAddress, machine.PortString(health))
}

// addProxyPorts adds the ports of kube-proxy, which runs on every Node. Addresses and ports that
// are not set have kube-proxy's defaults (pkg/proxy/apis/config/v1alpha1/defaults.go, at v1.34.4).
func (c *inspection) addProxyPorts() {
	proxy := c.facts.proxy
	if proxy == nil || !c.machine.Joins() {
		return
	}
	health, metrics := "0.0.0.0", "127.0.0.1"
	if a, err := netip.ParseAddr(proxy.BindAddress); err == nil && !a.Unmap().Is4() {
		health, metrics = "::", "::1"
	}
	for _, bind := range []struct{ field, address, port string }{
		{"healthzBindAddress", cmp.Or(proxy.HealthzBindAddress, health), "10256"},
		{"metricsBindAddress", cmp.Or(proxy.MetricsBindAddress, metrics), "10249"},
	} {
		host, port, err := net.SplitHostPort(bind.address)
		if err != nil { // an address alone
			host, port = bind.address, bind.port
		}
		c.addListener("ConfigMap kube-proxy: "+bind.field, nil, schemeHTTP, host, port)
	}
}

// addProgramPorts adds the ports of a static pod in the host's network. The flags of etcd and of
// the programs with --secure-port say which those are. Any other program opens what it declares.
func (c *inspection) addProgramPorts(p *machine.Program) {
	switch {
	case p.IsComponent() && p.Name == target.Etcd:
		for _, flag := range []string{
			"listen-client-urls", "listen-client-http-urls", "listen-peer-urls",
			"listen-metrics-urls",
		} {
			for _, u := range machine.SplitList(p.Flag(flag)) {
				scheme, host, port := machine.SplitURL(u)
				c.addListener(p.String()+": --"+flag, p, scheme, host, port)
			}
		}
	case p.IsComponent() && machine.SecurePort(p.Name) != "":
		port := cmp.Or(p.Flag("secure-port"), machine.SecurePort(p.Name))
		c.addListener(p.String()+": --secure-port", p, schemeHTTPS, p.Flag("bind-address"), port)
	default:
		for _, port := range p.Ports {
			if cmp.Or(port.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
				c.addListener(p.String()+": containerPort", p,
					schemes[port.Name], port.HostIP, machine.PortString(port.ContainerPort))
			}
		}
	}
}

func (c *inspection) checkProbes(p *machine.Program) {
	for _, probe := range []struct {
		name string
		*corev1.Probe
	}{
		{"livenessProbe", p.LivenessProbe},
		{"readinessProbe", p.ReadinessProbe},
		{"startupProbe", p.StartupProbe},
	} {
		if probe.Probe == nil || probe.HTTPGet == nil {
			continue
		}
		get := probe.HTTPGet
		port := get.Port.String()
		for _, declared := range p.Ports {
			if get.Port.Type == intstr.String && declared.Name == get.Port.StrVal {
				port = machine.PortString(declared.ContainerPort)
			}
		}
		host := get.Host
		if host == "" && len(c.machine.Addresses) > 0 { // the pod's address, which is the machine's
			host = c.machine.Addresses[0].String()
		}
		scheme := cmp.Or(get.Scheme, schemeHTTP)
		c.requireListener(p.String()+": "+probe.name, p, scheme, host, port)
	}
}

func (c *inspection) checkDials() {
	const hook = "file " + templates.BootPath
	const loopback = "127.0.0.1"
	health := machine.PortString(target.KubeletHealthPort)
	c.requireListener(hook, nil, schemeHTTP, loopback, health)
	for _, name := range []string{target.ControllerManager, target.Scheduler} {
		if p := c.component(name); p != nil {
			c.requireListener(hook, p, schemeHTTPS, loopback, machine.SecurePort(name))
		}
	}
	if etcd := c.component(target.Etcd); etcd != nil {
		metrics := machine.PortString(target.EtcdMetricsPort)
		c.requireListener(hook, etcd, schemeHTTP, loopback, metrics)
	}
	if api := c.component(target.APIServer); api != nil {
		c.checkAPIDials(api)
	}
	balancer := c.component(target.HAProxy)
	if balancer != nil && slices.Contains(c.components(), target.HAProxy) {
		c.checkAPIDials(balancer)
	}
	if etcd := c.component(target.Etcd); etcd != nil {
		c.checkEtcdDials(etcd)
	}
}

// checkAPIDials checks that the hook and the kubeconfigs reach the API server, or the balancer.
func (c *inspection) checkAPIDials(p *machine.Program) {
	c.requireDial("file "+plan.KilnDir+"/machine: api", p, c.tree.HookData("api"))
	for _, path := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
		server := c.kubeconfigs[path].Clusters[0].Cluster.Server
		c.requireDial("file "+path+": server", p, server)
	}
}

func (c *inspection) checkEtcdDials(etcd *machine.Program) {
	for _, client := range []struct {
		program *machine.Program
		flag    string
	}{
		{c.component(target.APIServer), "etcd-servers"},
		{etcd, "advertise-client-urls"},
		{etcd, "initial-advertise-peer-urls"},
	} {
		for _, u := range machine.SplitList(client.program.Flag(client.flag)) {
			c.requireDial(client.program.String()+": --"+client.flag, etcd, u)
		}
	}
	c.requireDial("the hook of each member, and the backup", etcd, c.machine.EtcdHTTPURL())
}

// requireDial wants a URL that leads to this machine to lead to the program.
func (c *inspection) requireDial(source string, p *machine.Program, rawURL string) {
	if scheme, host, port := machine.SplitURL(rawURL); c.isOwnAddress(host) {
		c.requireListener(source, p, scheme, host, port)
	}
}

func (c *inspection) isOwnAddress(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && (a.IsLoopback() || slices.Contains(c.machine.Addresses, a))
}

// requireListener wants a program to listen at an address. p is nil if it is no static pod.
func (c *inspection) requireListener(
	source string, p *machine.Program, scheme corev1.URIScheme, host, port string,
) {
	address, err := machine.AddrPort(host, port)
	receives := func(l listener) bool {
		return l.program == p && l.scheme == scheme && l.overlaps(address)
	}
	if err != nil || !slices.ContainsFunc(c.listeners, receives) {
		asked := "the kubelet"
		if p != nil {
			asked = p.String()
		}
		c.fail("%s: asks %s://%s, where %s does not listen; correct its flags, or the address "+
			"that is asked", source, strings.ToLower(string(scheme)),
			net.JoinHostPort(host, port), asked)
	}
}

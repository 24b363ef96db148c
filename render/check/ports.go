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

	"kiln/render/plan"
	"kiln/templates"
)

const (
	schemeHTTP  = corev1.URISchemeHTTP
	schemeHTTPS = corev1.URISchemeHTTPS
)

// schemes are what is spoken on the ports of a balancer and kube-vip, by their names. The balancer passes on what it gets.
var schemes = map[string]corev1.URIScheme{"api": schemeHTTPS, "health": schemeHTTP, "metrics": schemeHTTP}

// checkPorts: every port is opened once, and whoever asks a program of the machine asks where that listens.
func (c *inspection) checkPorts() {
	c.addKubeletPorts()
	c.addProxyPorts()
	for _, p := range c.programs {
		if p.pod.Spec.HostNetwork {
			c.addProgramPorts(p)
		}
	}
	for i, l := range c.listeners {
		for _, other := range c.listeners[:i] {
			if l.overlaps(other.address) {
				c.fail("%s: port %d is already taken by %s (%s); choose another", l.source, l.address.Port(), other.source, other.address)
			}
		}
	}
	ours := c.components()
	for _, p := range c.programs {
		if p.isComponent() && slices.Contains(ours, p.Name) {
			c.checkProbes(p)
		}
	}
	c.checkDials()
}

// addListener notes that a program opens a port; 0 means that it does not.
func (c *inspection) addListener(by string, p *program, scheme corev1.URIScheme, host, port string) {
	at, err := addrPort(host, port)
	switch {
	case err != nil:
		c.fail("%s: %q is not an address and port; write both in numbers", by, net.JoinHostPort(host, port))
	case at.Port() != 0:
		c.listeners = append(c.listeners, listener{by, p, scheme, at})
	}
}

func (c *inspection) addKubeletPorts() {
	const by = "file " + plan.KubeletConfig + ": "
	k, health := c.kubelet, int32(plan.KubeletHealthPort)
	serves := k.EnableServer == nil || *k.EnableServer
	if k.HealthzPort != nil {
		health = *k.HealthzPort
	}
	if serves {
		c.addListener(by+"port", nil, schemeHTTPS, k.Address, portString(cmp.Or(k.Port, plan.KubeletPort)))
	}
	c.addListener(by+"readOnlyPort", nil, schemeHTTP, k.Address, portString(k.ReadOnlyPort))
	c.addListener(by+"healthzPort", nil, schemeHTTP, cmp.Or(k.HealthzBindAddress, "127.0.0.1"), portString(health))
}

func (c *inspection) addProxyPorts() {
	proxy := c.facts.proxy
	if proxy == nil || !c.machine.Joins() {
		return
	}
	for _, bind := range []struct{ field, address string }{
		{"healthzBindAddress", cmp.Or(proxy.HealthzBindAddress, "0.0.0.0:10256")},
		{"metricsBindAddress", cmp.Or(proxy.MetricsBindAddress, "127.0.0.1:10249")},
	} {
		host, port, _ := net.SplitHostPort(bind.address)
		c.addListener("ConfigMap kube-proxy: "+bind.field, nil, schemeHTTP, host, port)
	}
}

// addProgramPorts: a program that we do not know opens what its container declares.
func (c *inspection) addProgramPorts(p *program) {
	switch {
	case p.isComponent() && p.Name == plan.Etcd:
		for _, flag := range []string{"listen-client-urls", "listen-peer-urls", "listen-metrics-urls"} {
			for _, u := range splitList(p.flag(flag)) {
				scheme, host, port := splitURL(u)
				c.addListener(p.String()+": --"+flag, p, scheme, host, port)
			}
		}
	case p.isComponent() && securePorts[p.Name] != "":
		c.addListener(p.String()+": --secure-port", p, schemeHTTPS, p.flag("bind-address"), cmp.Or(p.flag("secure-port"), securePorts[p.Name]))
	default:
		for _, port := range p.Ports {
			if cmp.Or(port.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
				c.addListener(p.String()+": containerPort", p, schemes[port.Name], port.HostIP, portString(port.ContainerPort))
			}
		}
	}
}

// checkProbes: the kubelet asks a component of ours where that listens.
func (c *inspection) checkProbes(p *program) {
	for _, probe := range []struct {
		name string
		*corev1.Probe
	}{{"livenessProbe", p.LivenessProbe}, {"readinessProbe", p.ReadinessProbe}, {"startupProbe", p.StartupProbe}} {
		if probe.Probe == nil || probe.HTTPGet == nil {
			continue
		}
		get := probe.HTTPGet
		port := get.Port.String()
		for _, named := range p.Ports {
			if get.Port.Type == intstr.String && named.Name == get.Port.StrVal {
				port = portString(named.ContainerPort)
			}
		}
		host := get.Host
		if host == "" && len(c.machine.Addresses) > 0 { // the pod's address, which is the machine's
			host = c.machine.Addresses[0].String()
		}
		c.requireListener(p.String()+": "+probe.name, p, cmp.Or(get.Scheme, schemeHTTP), host, port)
	}
}

// checkDials: the hook and the clients on the same machine dial where a program listens.
func (c *inspection) checkDials() {
	const hook = "file " + templates.BootPath
	c.requireListener(hook, nil, schemeHTTP, "127.0.0.1", portString(plan.KubeletHealthPort))
	for _, name := range []string{plan.ControllerManager, plan.Scheduler} {
		if p := c.component(name); p != nil {
			c.requireListener(hook, p, schemeHTTPS, "127.0.0.1", securePorts[name])
		}
	}
	if etcd := c.component(plan.Etcd); etcd != nil {
		c.requireListener(hook, etcd, schemeHTTP, "127.0.0.1", portString(plan.EtcdMetricsPort))
	}
	if api := c.component(plan.APIServer); api != nil {
		c.requireDial("file "+plan.KilnDir+"/machine: api", api, c.hookData("api"))
		for _, path := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
			c.requireDial("file "+path+": server", api, c.kubeconfigs[path].Clusters[0].Cluster.Server)
		}
	}
	if balancer := c.component(plan.HAProxy); balancer != nil && slices.Contains(c.components(), plan.HAProxy) {
		c.requireDial("file "+plan.KilnDir+"/machine: api", balancer, c.hookData("api"))
		for _, path := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
			c.requireDial("file "+path+": server", balancer, c.kubeconfigs[path].Clusters[0].Cluster.Server)
		}
	}
	if etcd := c.component(plan.Etcd); etcd != nil {
		for _, client := range []struct {
			*program
			name string
		}{{c.component(plan.APIServer), "etcd-servers"}, {etcd, "advertise-client-urls"}, {etcd, "initial-advertise-peer-urls"}} {
			for _, u := range splitList(client.flag(client.name)) {
				c.requireDial(client.String()+": --"+client.name, etcd, u)
			}
		}
	}
}

// requireDial: a URL of this machine leads to the program. That of another one is not judged here.
func (c *inspection) requireDial(by string, p *program, rawURL string) {
	scheme, host, port := splitURL(rawURL)
	if a, err := netip.ParseAddr(host); err == nil && (a.IsLoopback() || slices.Contains(c.machine.Addresses, a)) {
		c.requireListener(by, p, scheme, host, port)
	}
}

// requireListener: the program listens at that address and port.
func (c *inspection) requireListener(by string, p *program, scheme corev1.URIScheme, host, port string) {
	at, err := addrPort(host, port)
	if err != nil || !slices.ContainsFunc(c.listeners, func(l listener) bool { return l.program == p && l.scheme == scheme && l.overlaps(at) }) {
		c.fail("%s: asks %s://%s, where the program does not listen; correct its flags, or who asks", by, strings.ToLower(string(scheme)), net.JoinHostPort(host, port))
	}
}

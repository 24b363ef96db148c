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

// ports: every port is opened once, and whoever asks a program of the machine asks where that listens.
func (c *inspection) ports() {
	c.kubeletPorts()
	c.proxyPorts()
	for _, p := range c.programs {
		if p.pod.Spec.HostNetwork {
			c.programPorts(p)
		}
	}
	for i, l := range c.listeners {
		for _, other := range c.listeners[:i] {
			if l.meets(other.at) {
				c.fail("%s: port %d is already taken by %s (%s); choose another", l.by, l.at.Port(), other.by, other.at)
			}
		}
	}
	ours := c.components()
	for _, p := range c.programs {
		if p.known() && slices.Contains(ours, p.Name) {
			c.probes(p)
		}
	}
	c.dials()
}

// opens notes that a program opens a port; 0 means that it does not.
func (c *inspection) opens(by string, p *program, scheme corev1.URIScheme, host, port string) {
	at, err := addrPort(host, port)
	switch {
	case err != nil:
		c.fail("%s: %q is not an address and port; write both in numbers", by, net.JoinHostPort(host, port))
	case at.Port() != 0:
		c.listeners = append(c.listeners, listener{by, p, scheme, at})
	}
}

func (c *inspection) kubeletPorts() {
	const by = "file " + plan.KubeletConfig + ": "
	k, health := c.kubelet, int32(plan.KubeletHealthPort)
	serves := k.EnableServer == nil || *k.EnableServer
	if k.HealthzPort != nil {
		health = *k.HealthzPort
	}
	if serves {
		c.opens(by+"port", nil, schemeHTTPS, k.Address, number(cmp.Or(k.Port, plan.KubeletPort)))
	}
	c.opens(by+"readOnlyPort", nil, schemeHTTP, k.Address, number(k.ReadOnlyPort))
	c.opens(by+"healthzPort", nil, schemeHTTP, cmp.Or(k.HealthzBindAddress, "127.0.0.1"), number(health))
}

func (c *inspection) proxyPorts() {
	proxy := c.facts.proxy
	if proxy == nil || !c.machine.Joins() {
		return
	}
	for _, bind := range []struct{ field, address string }{
		{"healthzBindAddress", cmp.Or(proxy.HealthzBindAddress, "0.0.0.0:10256")},
		{"metricsBindAddress", cmp.Or(proxy.MetricsBindAddress, "127.0.0.1:10249")},
	} {
		host, port, _ := net.SplitHostPort(bind.address)
		c.opens("ConfigMap kube-proxy: "+bind.field, nil, schemeHTTP, host, port)
	}
}

// programPorts: a program that we do not know opens what its container declares.
func (c *inspection) programPorts(p *program) {
	switch {
	case p.known() && p.Name == plan.Etcd:
		for _, flag := range []string{"listen-client-urls", "listen-peer-urls", "listen-metrics-urls"} {
			for _, u := range list(p.flag(flag)) {
				scheme, host, port := splitURL(u)
				c.opens(p.String()+": --"+flag, p, scheme, host, port)
			}
		}
	case p.known() && securePorts[p.Name] != "":
		c.opens(p.String()+": --secure-port", p, schemeHTTPS, p.flag("bind-address"), cmp.Or(p.flag("secure-port"), securePorts[p.Name]))
	default:
		for _, port := range p.Ports {
			if cmp.Or(port.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
				c.opens(p.String()+": containerPort", p, schemes[port.Name], port.HostIP, number(port.ContainerPort))
			}
		}
	}
}

// probes: the kubelet asks a component of ours where that listens.
func (c *inspection) probes(p *program) {
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
				port = number(named.ContainerPort)
			}
		}
		host := get.Host
		if host == "" && len(c.machine.Addresses) > 0 { // the pod's address, which is the machine's
			host = c.machine.Addresses[0].String()
		}
		c.asks(p.String()+": "+probe.name, p, cmp.Or(get.Scheme, schemeHTTP), host, port)
	}
}

// dials: the hook and the clients on the same machine dial where a program listens.
func (c *inspection) dials() {
	const hook = "file " + templates.BootPath
	c.asks(hook, nil, schemeHTTP, "127.0.0.1", number(plan.KubeletHealthPort))
	for _, name := range []string{plan.ControllerManager, plan.Scheduler} {
		if p := c.component(name); p != nil {
			c.asks(hook, p, schemeHTTPS, "127.0.0.1", securePorts[name])
		}
	}
	if etcd := c.component(plan.Etcd); etcd != nil {
		c.asks(hook, etcd, schemeHTTP, "127.0.0.1", number(plan.EtcdMetricsPort))
	}
	if api := c.component(plan.APIServer); api != nil {
		c.dial("file "+plan.KilnDir+"/machine: api", api, c.hookData("api"))
		for _, path := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
			c.dial("file "+path+": server", api, c.kubeconfigs[path].Clusters[0].Cluster.Server)
		}
	}
	if balancer := c.component(plan.HAProxy); balancer != nil && slices.Contains(c.components(), plan.HAProxy) {
		c.dial("file "+plan.KilnDir+"/machine: api", balancer, c.hookData("api"))
		for _, path := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
			c.dial("file "+path+": server", balancer, c.kubeconfigs[path].Clusters[0].Cluster.Server)
		}
	}
	if etcd := c.component(plan.Etcd); etcd != nil {
		for _, client := range []struct {
			*program
			name string
		}{{c.component(plan.APIServer), "etcd-servers"}, {etcd, "advertise-client-urls"}, {etcd, "initial-advertise-peer-urls"}} {
			for _, u := range list(client.flag(client.name)) {
				c.dial(client.String()+": --"+client.name, etcd, u)
			}
		}
	}
}

// dial: a URL of this machine leads to the program. That of another one is not judged here.
func (c *inspection) dial(by string, p *program, rawURL string) {
	scheme, host, port := splitURL(rawURL)
	if a, err := netip.ParseAddr(host); err == nil && (a.IsLoopback() || slices.Contains(c.machine.Addresses, a)) {
		c.asks(by, p, scheme, host, port)
	}
}

// asks: the program listens at that address and port.
func (c *inspection) asks(by string, p *program, scheme corev1.URIScheme, host, port string) {
	at, err := addrPort(host, port)
	if err != nil || !slices.ContainsFunc(c.listeners, func(l listener) bool { return l.program == p && l.scheme == scheme && l.meets(at) }) {
		c.fail("%s: asks %s://%s, where the program does not listen; correct its flags, or who asks", by, strings.ToLower(string(scheme)), net.JoinHostPort(host, port))
	}
}

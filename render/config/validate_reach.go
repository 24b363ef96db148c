package config

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// endpointAlias checks that a host alias of machines with a role does not send the endpoint's name
// to where no API server is. names are those of the alias.
func (v *checker) endpointAlias(a netip.Addr, names []string, role string, at *yamltext.Location) {
	if host := v.values.EndpointHost; host == "" || !slices.Contains(names, host) {
		return
	}
	const todo = "write the address of the load balancer, or remove the name"
	v.outside(a, at)
	for i, n := range v.c.Spec.Nodes {
		if n.Role != roleControlPlane && v.hasAddress(i, a) {
			v.report(at, "sends the endpoint's name to %s (%s), which has no API server; %s", a,
				n.Name, todo)
		}
	}
	if a.IsLoopback() && role != roleControlPlane {
		v.warn(WarnEndpointName, at, "sends the endpoint's name to the machine itself, and kiln "+
			"has no API server or balancer there; %s", todo)
	}
}

// reachesEndpoint checks that the interfaces of a worker, if all its addresses are written here,
// lead to the endpoint: one is in its network, or has a router.
func (v *checker) reachesEndpoint(m settings, i int) {
	a, list := v.values.EndpointAddress, v.c.Spec.Nodes[i].Interfaces
	if !a.IsValid() || len(list) == 0 || v.c.Spec.Workers.LocalBalancer != nil {
		return
	}
	holds := func(p netip.Prefix) bool { return p.IsValid() && p.Contains(a) }
	for j, n := range v.values.Nodes[i].Interfaces {
		if list[j].DHCP4 || list[j].DHCP6 || len(n.Gateways) > 0 ||
			slices.ContainsFunc(n.Addresses, holds) ||
			slices.ContainsFunc(n.Routes, func(r RouteValues) bool { return holds(r.To) }) {
			return
		}
	}
	v.report(m.at.Key("interfaces"), "the endpoint %s is in no network of these interfaces, and "+
		"none has a router, so that the machine never joins; add gateways to one of them", a)
}

// heartbeats checks that a Node shows that it lives more often than the controller-manager wants to
// see that. The kubelet renews its Lease each quarter of nodeLeaseDurationSeconds
// (k8s.io/kubernetes v1.36.3, pkg/kubelet/kubelet.go: nodeLeaseRenewIntervalFraction).
func (v *checker) heartbeats(m settings) {
	lease, isSet := m.Kubelet["nodeLeaseDurationSeconds"].(int64)
	if !isSet || lease <= 0 {
		lease = 40
	}
	between, grace := time.Duration(lease)*time.Second/4, 50*time.Second
	at := v.spec.Key("controlPlane").Key("controllerManager").Key("extraArgs")
	for i, a := range v.c.Spec.ControlPlane.ControllerManager.ExtraArgs {
		if d, err := time.ParseDuration(a.Value); err == nil &&
			a.Name == "node-monitor-grace-period" {
			grace, at = d, at.Index(i).Key("value")
		}
	}
	const why = "kubelets show each %s that they live, and the controller-manager waits %s for " +
		"that, so that Nodes are NotReady again and again; write "
	if grace <= between && isSet {
		v.reportKey(m, []string{"kubelet", "nodeLeaseDurationSeconds"}, why+"40", between, grace)
	} else if grace <= between {
		v.reportOnce(at, why+"50s", between, grace)
	}
}

// etcdHost warns of an endpoint of an external etcd where probably no member answers.
func (v *checker) etcdHost(endpoint string, at *yamltext.Location) {
	host, port, _ := net.SplitHostPort(strings.TrimPrefix(endpoint, "https://"))
	a, where := readAddress(host), ""
	if a.IsLoopback() || host == "localhost" {
		where = "each control plane itself"
	}
	for i, n := range v.c.Spec.Nodes {
		if a.IsValid() && v.hasAddress(i, a) || n.Name == host {
			where = n.Name
		}
	}
	if where != "" {
		v.warn(WarnEtcd, at, "is on %s, where kiln starts no etcd; write the address of a member",
			where)
	} else if port == strconv.Itoa(target.EtcdPeerPort) {
		v.warn(WarnEtcd, at, "has the port where members of etcd talk with each other; clients "+
			"such as the API server ask on %d", target.EtcdClientPort)
	}
}

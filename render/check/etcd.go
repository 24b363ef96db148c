package check

import (
	"crypto/x509"
	"slices"
	"strings"

	"kiln/render/plan"
)

// etcdTrust: the API server and the members that it uses know each other. Of an external cluster nothing is known.
func (c *inspection) etcdTrust() {
	p := c.cluster.Plan
	if len(p.EtcdMembers) == 0 {
		return
	}
	api, etcd := c.component(plan.APIServer), c.component(plan.Etcd)
	ca, client := c.need(api, "etcd-cafile"), c.need(api, "etcd-certfile")
	c.pair(client, c.need(api, "etcd-keyfile"))
	servers := list(api.flag("etcd-servers"))
	if c.machine.EtcdMember {
		server := c.need(etcd, "cert-file")
		c.shown(client, c.need(etcd, "trusted-ca-file"), asClient)
		c.shown(server, ca, asServer)
		for _, u := range servers {
			c.serves(server, api.String()+": --etcd-servers", u)
		}
		return
	}
	c.trusts(ca, &c.cluster.Public.EtcdCA)
	if err := c.verify(client.path, c.cluster.Public.EtcdCA.Certificate, asClient); api != nil && err != nil {
		c.fail("%s: %s: the members of etcd do not accept it: %w", client.by, client.path, err)
	}
	var want []string
	for _, i := range p.EtcdMembers {
		m := &p.Machines[i]
		want = append(want, m.EtcdClientURL())
		c.members("static pod kube-apiserver: --etcd-servers", []string{m.Name + "=" + m.EtcdClientURL()}, "etcd-server")
	}
	if api != nil && !slices.Equal(servers, want) {
		c.fail("%s: --etcd-servers is %q, want the members %q; leave the flag out", api, servers, want)
	}
}

// memberTrust: the member and its peers know each other.
func (c *inspection) memberTrust() {
	etcd := c.component(plan.Etcd)
	server, peer := c.need(etcd, "cert-file"), c.need(etcd, "peer-cert-file")
	trusted, peers := c.need(etcd, "trusted-ca-file"), c.need(etcd, "peer-trusted-ca-file")
	for _, show := range []struct {
		cert, ca named
		usage    x509.ExtKeyUsage
	}{
		{server, trusted, asClient}, // etcd dials itself with it, and the hook the others
		{peer, peers, asServer},
		{peer, peers, asClient},
	} {
		c.shown(show.cert, show.ca, show.usage)
	}
	c.trusts(trusted, &c.cluster.Public.EtcdCA)
	c.trusts(peers, &c.cluster.Public.EtcdCA)
	c.pair(server, c.need(etcd, "key-file"))
	c.pair(peer, c.need(etcd, "peer-key-file"))

	for _, flag := range []struct {
		name string
		cert named
	}{{"advertise-client-urls", server}, {"initial-advertise-peer-urls", peer}} {
		for _, u := range list(etcd.flag(flag.name)) {
			c.serves(flag.cert, etcd.String()+": --"+flag.name, u)
		}
	}
	c.members("static pod etcd: --initial-cluster", list(etcd.flag("initial-cluster")), "etcd-peer")
	// The hook knows two URLs of each: where it answers members, and where clients.
	for _, peer := range strings.Fields(c.hookData("etcd_peers")) {
		name, urls, _ := strings.Cut(peer, "=")
		peerURL, clientURL, _ := strings.Cut(urls, ",")
		by := "file " + plan.KilnDir + "/machine: etcd_peers"
		c.members(by, []string{name + "=" + peerURL}, "etcd-peer")
		c.members(by, []string{name + "=" + clientURL}, "etcd-server")
	}
	if etcd != nil && c.hookData("etcd_url") != etcd.flag("initial-advertise-peer-urls") {
		c.fail("file %s/machine: etcd_url is %s, but static pod etcd: --initial-advertise-peer-urls is %s: the hook would not find this member among the others; leave the flag out",
			plan.KilnDir, c.hookData("etcd_url"), etcd.flag("initial-advertise-peer-urls"))
	}
}

// members holds a list of etcd members, each with its URL, to the names in their certificates.
func (c *inspection) members(by string, members []string, base string) {
	for _, member := range members {
		name, u, _ := strings.Cut(member, "=")
		host, err := hostOf(u)
		if cert := c.facts.servers[base][name]; err != nil || cert == nil || cert.VerifyHostname(host) != nil {
			c.fail("%s: %s: no machine has a certificate of etcd's for this name and address; correct the node's addresses", by, member)
		}
	}
}

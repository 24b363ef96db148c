package check

import (
	"crypto/x509"
	"slices"
	"strings"

	"kiln/render/plan"
)

// checkEtcdTrust: the API server and the members that it uses know each other. Of an external cluster nothing is known.
func (c *inspection) checkEtcdTrust() {
	p := c.cluster.Plan
	if len(p.EtcdMembers) == 0 {
		return
	}
	api, etcd := c.component(plan.APIServer), c.component(plan.Etcd)
	ca, client := c.requiredFile(api, "etcd-cafile"), c.requiredFile(api, "etcd-certfile")
	c.requirePair(client, c.requiredFile(api, "etcd-keyfile"))
	servers := splitList(api.flag("etcd-servers"))
	if c.machine.EtcdMember {
		server := c.requiredFile(etcd, "cert-file")
		c.requireVerifies(client, c.requiredFile(etcd, "trusted-ca-file"), asClient)
		c.requireVerifies(server, ca, asServer)
		for _, u := range servers {
			c.requireCertificateFor(server, api.String()+": --etcd-servers", u)
		}
		return
	}
	c.requireAuthority(ca, &c.cluster.Public.EtcdCA)
	if err := c.verify(client.path, c.cluster.Public.EtcdCA.Certificate, asClient); api != nil && err != nil {
		c.fail("%s: %s: the members of etcd do not accept it: %w", client.source, client.path, err)
	}
	var want []string
	for _, i := range p.EtcdMembers {
		m := &p.Machines[i]
		want = append(want, m.EtcdClientURL())
		c.requireMembers("static pod kube-apiserver: --etcd-servers", []string{m.Name + "=" + m.EtcdClientURL()}, "etcd-server")
	}
	if api != nil && !slices.Equal(servers, want) {
		c.fail("%s: --etcd-servers is %q, want the members %q; leave the flag out", api, servers, want)
	}
}

// checkMemberTrust: the member and its peers know each other.
func (c *inspection) checkMemberTrust() {
	etcd := c.component(plan.Etcd)
	server, peer := c.requiredFile(etcd, "cert-file"), c.requiredFile(etcd, "peer-cert-file")
	trusted, peers := c.requiredFile(etcd, "trusted-ca-file"), c.requiredFile(etcd, "peer-trusted-ca-file")
	for _, show := range []struct {
		cert, ca reference
		usage    x509.ExtKeyUsage
	}{
		{server, trusted, asClient}, // etcd dials itself with it, and the hook the others
		{peer, peers, asServer},
		{peer, peers, asClient},
	} {
		c.requireVerifies(show.cert, show.ca, show.usage)
	}
	c.requireAuthority(trusted, &c.cluster.Public.EtcdCA)
	c.requireAuthority(peers, &c.cluster.Public.EtcdCA)
	c.requirePair(server, c.requiredFile(etcd, "key-file"))
	c.requirePair(peer, c.requiredFile(etcd, "peer-key-file"))

	for _, flag := range []struct {
		name string
		cert reference
	}{{"advertise-client-urls", server}, {"initial-advertise-peer-urls", peer}} {
		for _, u := range splitList(etcd.flag(flag.name)) {
			c.requireCertificateFor(flag.cert, etcd.String()+": --"+flag.name, u)
		}
	}
	c.requireMembers("static pod etcd: --initial-cluster", splitList(etcd.flag("initial-cluster")), "etcd-peer")
	// The hook knows two URLs of each: where it answers members, and where clients.
	for _, peer := range strings.Fields(c.hookData("etcd_peers")) {
		name, urls, _ := strings.Cut(peer, "=")
		peerURL, clientURL, _ := strings.Cut(urls, ",")
		by := "file " + plan.KilnDir + "/machine: etcd_peers"
		c.requireMembers(by, []string{name + "=" + peerURL}, "etcd-peer")
		c.requireMembers(by, []string{name + "=" + clientURL}, "etcd-server")
	}
	if etcd != nil && c.hookData("etcd_url") != etcd.flag("initial-advertise-peer-urls") {
		c.fail("file %s/machine: etcd_url is %s, but static pod etcd: --initial-advertise-peer-urls is %s: the hook would not find this member among the others; leave the flag out",
			plan.KilnDir, c.hookData("etcd_url"), etcd.flag("initial-advertise-peer-urls"))
	}
}

// requireMembers holds a list of etcd members, each with its URL, to the names in their certificates.
func (c *inspection) requireMembers(by string, members []string, base string) {
	for _, member := range members {
		name, u, _ := strings.Cut(member, "=")
		host, err := hostName(u)
		if cert := c.facts.servers[base][name]; err != nil || cert == nil || cert.VerifyHostname(host) != nil {
			c.fail("%s: %s: no machine has a certificate of etcd's for this name and address; correct the node's addresses", by, member)
		}
	}
}

package check

import (
	"crypto/x509"
	"slices"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// checkEtcdTrust checks that the API server and the etcd members that it uses accept each other. It
// passes if etcd is external, because then the plan has no members.
func (c *inspection) checkEtcdTrust() {
	if len(c.cluster.Plan.EtcdMembers) == 0 {
		return
	}
	api := c.component(target.APIServer)
	ca, client := c.requiredFile(api, "etcd-cafile"), c.requiredFile(api, "etcd-certfile")
	c.requirePair(client, c.requiredFile(api, "etcd-keyfile"))
	if c.machine.EtcdMember {
		c.checkLocalMember(api, ca, client)
	} else {
		c.checkRemoteMembers(api, ca, client)
	}
}

func (c *inspection) checkLocalMember(api *machine.Program, ca, client machine.Reference) {
	etcd := c.component(target.Etcd)
	server := c.requiredFile(etcd, "cert-file")
	c.requireTrusted(ca, pki.EtcdCA)
	c.requireVerifies(client, c.requiredFile(etcd, "trusted-ca-file"), asClient)
	c.requireVerifies(server, ca, asServer)
	for _, u := range machine.SplitList(api.Flag("etcd-servers")) {
		c.requireCertificateFor(api.String()+": --etcd-servers", u, server)
	}
}

func (c *inspection) checkRemoteMembers(api *machine.Program, ca, client machine.Reference) {
	p, etcdCA := c.cluster.Plan, c.cluster.Public.Authority(pki.EtcdCA)
	c.requireTrusted(ca, pki.EtcdCA)
	if err := c.verify(client.Path, etcdCA.Certificate, asClient); api != nil && err != nil {
		c.fail("%s: %s: the members of etcd do not accept it: %w", client.Source, client.Path, err)
	}
	var want []string
	for _, i := range p.EtcdMembers {
		m := &p.Machines[i]
		want = append(want, m.EtcdClientURL())
		c.requireMember("static pod kube-apiserver: --etcd-servers",
			m.Name+"="+m.EtcdClientURL(), "etcd-server")
	}
	servers := machine.SplitList(api.Flag("etcd-servers"))
	if api != nil && !slices.Equal(servers, want) {
		c.fail("%s: --etcd-servers is %q, want the members %q; leave the flag out",
			api, servers, want)
	}
}

// checkMemberTrust checks that the etcd member on this machine, its peers and its clients accept
// each other, and that the hook dials the members where they listen.
func (c *inspection) checkMemberTrust() {
	etcd := c.component(target.Etcd)
	if etcd != nil {
		if at := etcd.Locate(plan.EtcdData).Path; at != plan.EtcdData {
			c.fail("%s: its data is in %q, and the first boot looks for it in %s, which is etcd's "+
				"own; remove the patch, and mount a disk there", etcd, at, plan.EtcdData)
		}
	}
	server := c.requiredFile(etcd, "cert-file")
	serverCA := c.requiredFile(etcd, "trusted-ca-file")
	peer := c.requiredFile(etcd, "peer-cert-file")
	peerCA := c.requiredFile(etcd, "peer-trusted-ca-file")
	// etcd also dials itself with its serving certificate, and the hook dials the other members.
	c.requireVerifies(server, serverCA, asClient)
	for _, usage := range []x509.ExtKeyUsage{asServer, asClient} {
		c.requireVerifies(peer, peerCA, usage)
	}
	c.requireTrusted(serverCA, pki.EtcdCA)
	c.requireTrusted(peerCA, pki.EtcdCA)
	c.requirePair(server, c.requiredFile(etcd, "key-file"))
	c.requirePair(peer, c.requiredFile(etcd, "peer-key-file"))

	for _, flag := range []struct {
		name string
		cert machine.Reference
	}{{"advertise-client-urls", server}, {"initial-advertise-peer-urls", peer}} {
		for _, u := range machine.SplitList(etcd.Flag(flag.name)) {
			c.requireCertificateFor(etcd.String()+": --"+flag.name, u, flag.cert)
		}
	}
	for _, member := range machine.SplitList(etcd.Flag("initial-cluster")) {
		c.requireMember("static pod etcd: --initial-cluster", member, "etcd-peer")
	}
	// The hook knows two URLs of each member: one for its peers and one for HTTP.
	const source = "file " + plan.KilnDir + "/machine: etcd_peers"
	for _, member := range strings.Fields(c.tree.HookData("etcd_peers")) {
		name, urls, _ := strings.Cut(member, "=")
		peerURL, httpURL, _ := strings.Cut(urls, ",")
		c.requireMember(source, name+"="+peerURL, "etcd-peer")
		c.requireMember(source, name+"="+httpURL, "etcd-server")
	}
	known, advertised := c.tree.HookData("etcd_url"), etcd.Flag("initial-advertise-peer-urls")
	if etcd != nil && c.tree.HookData("etcd_peers") != "" && known != advertised {
		c.fail("file %s/machine: etcd_url is %s, "+
			"but static pod etcd: --initial-advertise-peer-urls is %s: "+
			"the hook would not find this member among the others; leave the flag out",
			plan.KilnDir, known, advertised)
	}
}

// requireMember wants a member of etcd, name=URL, to have a certificate for it with that base name.
func (c *inspection) requireMember(source, member, base string) {
	name, u, _ := strings.Cut(member, "=")
	host, err := machine.HostName(u)
	cert := c.facts.servers[base][name]
	if err != nil || cert == nil || cert.VerifyHostname(host) != nil {
		c.fail("%s: %s: no machine has a certificate of etcd's for this name and address; "+
			"correct the node's addresses", source, member)
	}
}

package check

import (
	"bytes"
	"crypto/x509"
	"maps"
	"net"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kiln/render/plan"
)

// trust: every certificate verifies where it is shown, belongs to its key and has the names by which it is reached;
// every client is who its server takes it for.
func (c *inspection) trust() {
	c.certificates()
	if c.machine.Joins() {
		c.kubeletTrust()
		c.reaches("file "+plan.KilnDir+"/machine: api", c.hookData("api"))
	} else {
		c.standalone()
	}
	for _, path := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
		c.client(c.kubeconfigs[path])
	}
	c.identities()
	if c.machine.ControlPlane() {
		c.apiServerTrust()
		c.etcdTrust()
		c.serviceAccounts()
	}
	if c.machine.EtcdMember {
		c.memberTrust()
	}
}

// standalone: the kubelet of an etcd machine looks for no API server, and opens no port but that of its health: nobody could be
// asked what a client may do there.
func (c *inspection) standalone() {
	for _, flag := range []string{"kubeconfig", "bootstrap-kubeconfig"} {
		if value := last(c.kubelet.flags[flag]); value != "" {
			c.fail("kubelet.service: --%s is %s, and an etcd machine is no Node; remove it", flag, value)
		}
	}
	if value := last(c.kubelet.flags["enable-server"]); value != "" && value != "false" {
		c.fail("kubelet.service: --enable-server is %s: a kubelet without an API server allows everything to everybody; set it to false on etcd machines (controlPlane.etcd.machines.kubeletExtraArgs), or remove it", value)
	}
	if on := c.kubelet.EnableServer; on == nil || *on || c.kubelet.ReadOnlyPort != 0 {
		c.fail("file %s: want enableServer: false and readOnlyPort: 0: a kubelet without an API server allows everything to everybody; remove the patch that changes it", plan.KubeletConfig)
	}
}

// kubeletTrust: the kubelet knows the API server's client by its CA, and its own certificate is for the addresses that
// the API server dials. A kubelet that joins with a token makes its own.
func (c *inspection) kubeletTrust() {
	k := c.kubelet
	ca, cert, key := k.clientCA(), k.file("tlsCertFile", k.TLSCertFile), k.file("tlsPrivateKeyFile", k.TLSPrivateKeyFile)
	needed := []named{ca, cert, key}
	if c.machine.Token {
		needed = needed[:1]
	}
	for _, file := range needed {
		if file.path == "" {
			c.fail("%s is not set; remove the patch that takes it away", file.by)
		}
	}
	c.trusts(ca, &c.cluster.Public.CA)
	if c.machine.Token {
		return
	}
	c.pair(cert, key)
	for address := range strings.SplitSeq(last(k.flags["node-ip"]), ",") {
		c.serves(cert, "kubelet.service: --node-ip", address)
	}
}

// client: a kubeconfig leads to an API server that has a certificate for that name, of the CA that the kubeconfig
// trusts, and that accepts the credential in it.
func (c *inspection) client(k *kubeconfig) {
	by := "file " + k.path + ": "
	cluster, user := k.Clusters[0].Cluster, k.Users[0].User
	c.reaches(by+"server", cluster.Server)
	c.trusts(named{by + "certificate-authority", cluster.CA}, &c.cluster.Public.CA)
	if user.Token != "" {
		id, secret, _ := strings.Cut(user.Token, ".")
		if known, ok := c.facts.tokens[id]; !ok || known.secret != secret {
			c.fail("file %s: the API server is not told of the token %s; remove the patch that takes its Secret away", k.path, id)
		}
		return
	}
	if user.Cert == "" {
		return // it only leads to the API server
	}
	cert := named{by + "client-certificate", user.Cert}
	c.pair(cert, named{by + "client-key", user.Key})
	if api := c.component(plan.APIServer); api != nil {
		c.shown(cert, api.file("client-ca-file"), asClient)
	} else if err := c.verify(user.Cert, c.cluster.Public.CA.Certificate, asClient); err != nil {
		c.fail("%s: %s: the API servers do not accept it: %w", cert.by, cert.path, err)
	}
}

// identities: clients have the names to which the API server's own rules give their rights.
func (c *inspection) identities() {
	if c.machine.Joins() && !c.machine.Token {
		for _, name := range c.hostNames() {
			c.identity(named{"kubelet.service: --kubeconfig", last(c.kubelet.flags["kubeconfig"])}, "system:node:"+name, "system:nodes")
		}
	}
	for _, name := range []string{plan.ControllerManager, plan.Scheduler} {
		for _, flag := range []string{"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"} {
			c.identity(c.component(name).file(flag), "system:"+name, "")
		}
	}
	if c.machine.ControlPlane() {
		c.identity(named{"the hook's kubeconfig", plan.AdminConf}, "kiln:install", "system:masters")
	}
}

// identity holds the client certificate of a kubeconfig to a name and, unless that is empty, a group.
func (c *inspection) identity(conf named, name, group string) {
	k := c.kubeconfigs[conf.path]
	if k == nil {
		return
	}
	cert := c.certificate(k.Users[0].User.Cert)
	if cert == nil {
		c.fail("%s: %s has no client certificate, want one for %s", conf.by, conf.path, name)
		return
	}
	if cert.Subject.CommonName != name || group != "" && !slices.Contains(cert.Subject.Organization, group) {
		c.fail("%s: %s is for %s, want the name %s%s; name the kubeconfig of %s", conf.by, k.Users[0].User.Cert, cert.Subject, name, ofGroup(group), name)
	}
}

func ofGroup(group string) string {
	if group == "" {
		return ""
	}
	return " in the group " + group
}

// apiServerTrust: the API server's clients, its own clients and those that it speaks for.
func (c *inspection) apiServerTrust() {
	api, manager := c.component(plan.APIServer), c.component(plan.ControllerManager)
	ca := &c.cluster.Public.CA
	for _, flag := range []named{
		c.need(api, "client-ca-file"), api.file("kubelet-certificate-authority"),
		c.need(manager, "client-ca-file"), manager.file("cluster-signing-cert-file"), c.need(manager, "root-ca-file"),
	} {
		c.trusts(flag, ca)
	}
	frontProxy := c.need(api, "proxy-client-cert-file")
	kubeletClient := c.need(api, "kubelet-client-certificate")
	for _, show := range []struct {
		cert, ca named
		usage    x509.ExtKeyUsage
	}{
		{c.need(api, "tls-cert-file"), manager.file("root-ca-file"), asServer},
		{kubeletClient, c.kubelet.clientCA(), asClient},
		{frontProxy, c.need(api, "requestheader-client-ca-file"), asClient},
		{frontProxy, c.need(manager, "requestheader-client-ca-file"), asClient},
	} {
		c.shown(show.cert, show.ca, show.usage)
	}
	c.pair(api.file("tls-cert-file"), c.need(api, "tls-private-key-file"))
	c.pair(kubeletClient, c.need(api, "kubelet-client-key"))
	c.pair(frontProxy, c.need(api, "proxy-client-key-file"))
	c.pair(manager.file("cluster-signing-cert-file"), manager.file("cluster-signing-key-file"))

	if cert, allowed := c.certificate(frontProxy.path), api.flag("requestheader-allowed-names"); cert != nil && allowed != "" && !slices.Contains(strings.Split(allowed, ","), cert.Subject.CommonName) {
		c.fail("%s: --requestheader-allowed-names: want %q, the name in %s, got %q", api, cert.Subject.CommonName, frontProxy.path, allowed)
	}
	const role = "system:kubelet-api-admin"
	if cert := c.certificate(kubeletClient.path); cert != nil && !slices.Contains(c.facts.bound[rbacv1.Subject{Kind: rbacv1.UserKind, Name: cert.Subject.CommonName}], role) {
		c.fail("%s: no ClusterRoleBinding gives %s the ClusterRole %s, so that logs, exec and metrics are forbidden; remove the patch that takes it away", kubeletClient.by, cert.Subject.CommonName, role)
	}

	p := c.cluster.Plan
	c.reaches(plan.AdminFile, p.EndpointURL())
	c.reaches("pods", "https://kubernetes.default.svc")
	for _, a := range p.ServiceIPs {
		c.reaches("pods", "https://"+net.JoinHostPort(a.String(), "443"))
	}
	if c.facts.proxy != nil {
		c.reaches("ConfigMap kube-proxy: server", c.facts.proxy.server)
	}
}

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

// serviceAccounts: the API server accepts the tokens that it signs itself, and those of the controller-manager.
func (c *inspection) serviceAccounts() {
	api, manager := c.component(plan.APIServer), c.component(plan.ControllerManager)
	var accepted [][]byte
	if api != nil {
		for _, value := range api.flags["service-account-key-file"] {
			key := c.publicKey(api.at(value).path)
			if key == nil {
				return // a file that only the user knows, or one that references finds missing
			}
			accepted = append(accepted, key)
		}
	}
	for _, signer := range []named{c.need(api, "service-account-signing-key-file"), c.need(manager, "service-account-private-key-file")} {
		if key := c.publicKey(signer.path); key != nil && api != nil && !slices.ContainsFunc(accepted, func(k []byte) bool { return bytes.Equal(k, key) }) {
			c.fail("%s: kube-apiserver's --service-account-key-file has not the public key of %s, so that its tokens are refused; name %s", signer.by, signer.path, plan.ServicePub)
		}
	}
}

// reaches: the API server on this machine has a certificate for the host of a URL; on a worker, all API servers do.
func (c *inspection) reaches(by, server string) {
	host, err := hostOf(server)
	if err != nil {
		c.fail("%s: %w", by, err)
		return
	}
	servers := c.facts.servers["apiserver"]
	if own := c.certificate(c.component(plan.APIServer).file("tls-cert-file").path); own != nil {
		servers = map[string]*x509.Certificate{c.machine.Name: own}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if servers[name].VerifyHostname(host) != nil {
			c.fail("%s: %s: the API server on %s has no certificate for %s; name the endpoint, or add it to controlPlane.apiServer.certSANs", by, server, name, host)
			return
		}
	}
}

// need is p.file of a flag that p cannot do without.
func (c *inspection) need(p *program, flag string) named {
	if p != nil && p.flag(flag) == "" {
		c.fail("%s: --%s is not set; remove the patch that takes it away", p, flag)
	}
	return p.file(flag)
}

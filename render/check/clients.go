package check

import (
	"crypto/x509"
	"maps"
	"slices"
	"strings"

	"kiln/render/plan"
)

// checkClient: a kubeconfig leads to an API server that has a certificate for that name, of the CA that the kubeconfig
// trusts, and that accepts the credential in it.
func (c *inspection) checkClient(k *kubeconfig) {
	by := "file " + k.path + ": "
	cluster, user := k.Clusters[0].Cluster, k.Users[0].User
	c.requireAPIServer(by+"server", cluster.Server)
	c.requireAuthority(reference{by + "certificate-authority", cluster.CA}, &c.cluster.Public.CA)
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
	cert := reference{by + "client-certificate", user.Cert}
	c.requirePair(cert, reference{by + "client-key", user.Key})
	if api := c.component(plan.APIServer); api != nil {
		c.requireVerifies(cert, api.file("client-ca-file"), asClient)
	} else if err := c.verify(user.Cert, c.cluster.Public.CA.Certificate, asClient); err != nil {
		c.fail("%s: %s: the API servers do not accept it: %w", cert.source, cert.path, err)
	}
}

// checkIdentities: clients have the names to which the API server's own rules give their rights.
func (c *inspection) checkIdentities() {
	if c.machine.Joins() && !c.machine.Token {
		for _, name := range c.hostNames() {
			c.requireIdentity(reference{"kubelet.service: --kubeconfig", lastValue(c.kubelet.flags["kubeconfig"])}, "system:node:"+name, "system:nodes")
		}
	}
	for _, name := range []string{plan.ControllerManager, plan.Scheduler} {
		for _, flag := range []string{"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"} {
			c.requireIdentity(c.component(name).file(flag), "system:"+name, "")
		}
	}
	if c.machine.ControlPlane() {
		c.requireIdentity(reference{"the hook's kubeconfig", plan.AdminConf}, "kiln:install", "system:masters")
	}
}

// requireIdentity holds the client certificate of a kubeconfig to a name and, unless that is empty, a group.
func (c *inspection) requireIdentity(conf reference, name, group string) {
	k := c.kubeconfigs[conf.path]
	if k == nil {
		return
	}
	cert := c.certificate(k.Users[0].User.Cert)
	if cert == nil {
		c.fail("%s: %s has no client certificate, want one for %s", conf.source, conf.path, name)
		return
	}
	if cert.Subject.CommonName != name || group != "" && !slices.Contains(cert.Subject.Organization, group) {
		c.fail("%s: %s is for %s, want the name %s%s; name the kubeconfig of %s", conf.source, k.Users[0].User.Cert, cert.Subject, name, ofGroup(group), name)
	}
}

func ofGroup(group string) string {
	if group == "" {
		return ""
	}
	return " in the group " + group
}

// requireAPIServer: the API server on this machine has a certificate for the host of a URL; on a worker, all API servers do.
func (c *inspection) requireAPIServer(by, server string) {
	host, err := hostName(server)
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

package check

import (
	"crypto/x509"
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// checkClient checks a kubeconfig: its server is an API server with a certificate for that name, it
// trusts that certificate's CA, and the API server accepts its credential.
func (c *inspection) checkClient(path string) {
	k, source := c.kubeconfigs[path], "file "+path+": "
	cluster, user := k.Clusters[0].Cluster, k.Users[0].User
	ca := c.cluster.Public.Authority(pki.CA)
	c.requireAPIServer(source+"server", cluster.Server)
	c.requireTrusted(machine.Reference{
		Source: source + "certificate-authority", Path: cluster.CA,
	}, pki.CA)
	if user.Token != "" {
		id, secret, _ := strings.Cut(user.Token, ".")
		if known, ok := c.facts.tokens[id]; !ok || known.secret != secret {
			c.fail("file %s: the API server is not told of the token %s; "+
				"remove the patch that takes its Secret away", path, id)
		}
		return
	}
	if user.Cert == "" {
		return // the kubeconfig only names the API server
	}
	cert := machine.Reference{Source: source + "client-certificate", Path: user.Cert}
	c.requirePair(cert, machine.Reference{Source: source + "client-key", Path: user.Key})
	if api := c.component(target.APIServer); api != nil {
		c.requireVerifies(cert, api.File("client-ca-file"), asClient)
	} else if err := c.verify(user.Cert, ca.Certificate, asClient); err != nil {
		c.fail("%s: %s: the API servers do not accept it: %w", cert.Source, cert.Path, err)
	}
}

// checkIdentities checks that clients have the names for which the API server has rules of its own.
func (c *inspection) checkIdentities() {
	if c.machine.Joins() && !c.machine.Pool {
		kubeletConf := machine.Reference{
			Source: "kubelet.service: --kubeconfig", Path: c.kubelet.Flag("kubeconfig"),
		}
		for _, name := range c.tree.HostNames() {
			c.requireIdentity(kubeletConf, "system:node:"+name, "system:nodes")
		}
	}
	for _, name := range []string{target.ControllerManager, target.Scheduler} {
		for _, flag := range []string{
			"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig",
		} {
			c.requireIdentity(c.component(name).File(flag), "system:"+name, "")
		}
	}
	if c.machine.ControlPlane() && c.cluster.Public.HasInstall(c.machine.Name) {
		hookConf := machine.Reference{Source: "the hook's kubeconfig", Path: plan.AdminConf}
		c.requireIdentity(hookConf, "kiln:install", "system:masters")
	}
}

// requireIdentity adds an error unless the client certificate of a kubeconfig has the name and the
// group. An empty group is not checked. It passes if the machine has no such kubeconfig.
func (c *inspection) requireIdentity(conf machine.Reference, name, group string) {
	k := c.kubeconfigs[conf.Path]
	if k == nil {
		return
	}
	certPath := k.Users[0].User.Cert
	cert := c.certificate(certPath)
	if cert == nil {
		c.fail("%s: %s has no client certificate, want one for %s", conf.Source, conf.Path, name)
		return
	}
	subject := cert.Subject
	if subject.CommonName == name && (group == "" || slices.Contains(subject.Organization, group)) {
		return
	}
	inGroup := ""
	if group != "" {
		inGroup = " in the group " + group
	}
	c.fail("%s: %s is for %s, want the name %s%s; name the kubeconfig of %s",
		conf.Source, certPath, subject, name, inGroup, name)
}

// requireAPIServer wants the API server here, or all of them, to have a certificate for a URL.
func (c *inspection) requireAPIServer(source, server string) {
	servers, known := c.facts.servers["apiserver"], &c.facts.reached
	api := c.component(target.APIServer)
	if cert := c.certificate(api.File("tls-cert-file").Path); cert != nil {
		servers = map[string]*x509.Certificate{c.machine.Name: cert}
		known = &once.Values[read[string]]{}
	}
	lacking, err := readOnce(known, []byte(server), func([]byte) (string, error) {
		host, err := machine.HostName(server)
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			if err == nil && servers[name].VerifyHostname(host) != nil {
				return name + " has no certificate for " + host, nil
			}
		}
		return "", err
	})
	if err != nil {
		c.fail("%s: %w", source, err)
	}
	if lacking != "" {
		c.fail("%s: %s: the API server on %s; "+
			"name the endpoint, or add it to controlPlane.apiServer.certSANs",
			source, server, lacking)
	}
}

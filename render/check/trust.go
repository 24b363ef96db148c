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

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

// checkTrust: every certificate verifies where it is shown, belongs to its key and has the names by which it is reached;
// every client is who its server takes it for.
func (c *inspection) checkTrust() {
	c.checkCertificates()
	if c.machine.Joins() {
		c.checkKubeletTrust()
		c.requireAPIServer("file "+plan.KilnDir+"/machine: api", c.hookData("api"))
	} else {
		c.checkStandaloneKubelet()
	}
	for _, path := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
		c.checkClient(c.kubeconfigs[path])
	}
	c.checkIdentities()
	if c.machine.ControlPlane() {
		c.checkAPIServerTrust()
		c.checkEtcdTrust()
		c.checkServiceAccounts()
	}
	if c.machine.EtcdMember {
		c.checkMemberTrust()
	}
}

// checkStandaloneKubelet: the kubelet of an etcd machine looks for no API server, and opens no port but that of its health: nobody could be
// asked what a client may do there.
func (c *inspection) checkStandaloneKubelet() {
	for _, flag := range []string{"kubeconfig", "bootstrap-kubeconfig"} {
		if value := lastValue(c.kubelet.flags[flag]); value != "" {
			c.fail("kubelet.service: --%s is %s, and an etcd machine is no Node; remove it", flag, value)
		}
	}
	if value := lastValue(c.kubelet.flags["enable-server"]); value != "" && value != "false" {
		c.fail("kubelet.service: --enable-server is %s: a kubelet without an API server allows everything to everybody; set it to false on etcd machines (controlPlane.etcd.machines.kubeletExtraArgs), or remove it", value)
	}
	if on := c.kubelet.EnableServer; on == nil || *on || c.kubelet.ReadOnlyPort != 0 {
		c.fail("file %s: want enableServer: false and readOnlyPort: 0: a kubelet without an API server allows everything to everybody; remove the patch that changes it", plan.KubeletConfig)
	}
}

// checkKubeletTrust: the kubelet knows the API server's client by its CA, and its own certificate is for the addresses that
// the API server dials. A kubelet that joins with a token makes its own.
func (c *inspection) checkKubeletTrust() {
	k := c.kubelet
	ca, cert, key := k.clientCA(), k.file("tlsCertFile", k.TLSCertFile), k.file("tlsPrivateKeyFile", k.TLSPrivateKeyFile)
	needed := []reference{ca, cert, key}
	if c.machine.Token {
		needed = needed[:1]
	}
	for _, file := range needed {
		if file.path == "" {
			c.fail("%s is not set; remove the patch that takes it away", file.source)
		}
	}
	c.requireAuthority(ca, &c.cluster.Public.CA)
	if c.machine.Token {
		return
	}
	c.requirePair(cert, key)
	for address := range strings.SplitSeq(lastValue(k.flags["node-ip"]), ",") {
		c.requireCertificateFor(cert, "kubelet.service: --node-ip", address)
	}
}

// checkAPIServerTrust: the API server's clients, its own clients and those that it speaks for.
func (c *inspection) checkAPIServerTrust() {
	api, manager := c.component(plan.APIServer), c.component(plan.ControllerManager)
	ca := &c.cluster.Public.CA
	for _, flag := range []reference{
		c.requiredFile(api, "client-ca-file"), api.file("kubelet-certificate-authority"),
		c.requiredFile(manager, "client-ca-file"), manager.file("cluster-signing-cert-file"), c.requiredFile(manager, "root-ca-file"),
	} {
		c.requireAuthority(flag, ca)
	}
	frontProxy := c.requiredFile(api, "proxy-client-cert-file")
	kubeletClient := c.requiredFile(api, "kubelet-client-certificate")
	for _, show := range []struct {
		cert, ca reference
		usage    x509.ExtKeyUsage
	}{
		{c.requiredFile(api, "tls-cert-file"), manager.file("root-ca-file"), asServer},
		{kubeletClient, c.kubelet.clientCA(), asClient},
		{frontProxy, c.requiredFile(api, "requestheader-client-ca-file"), asClient},
		{frontProxy, c.requiredFile(manager, "requestheader-client-ca-file"), asClient},
	} {
		c.requireVerifies(show.cert, show.ca, show.usage)
	}
	c.requirePair(api.file("tls-cert-file"), c.requiredFile(api, "tls-private-key-file"))
	c.requirePair(kubeletClient, c.requiredFile(api, "kubelet-client-key"))
	c.requirePair(frontProxy, c.requiredFile(api, "proxy-client-key-file"))
	c.requirePair(manager.file("cluster-signing-cert-file"), manager.file("cluster-signing-key-file"))

	if cert, allowed := c.certificate(frontProxy.path), api.flag("requestheader-allowed-names"); cert != nil && allowed != "" && !slices.Contains(strings.Split(allowed, ","), cert.Subject.CommonName) {
		c.fail("%s: --requestheader-allowed-names: want %q, the name in %s, got %q", api, cert.Subject.CommonName, frontProxy.path, allowed)
	}
	const role = "system:kubelet-api-admin"
	if cert := c.certificate(kubeletClient.path); cert != nil && !slices.Contains(c.facts.rolesOf[rbacv1.Subject{Kind: rbacv1.UserKind, Name: cert.Subject.CommonName}], role) {
		c.fail("%s: no ClusterRoleBinding gives %s the ClusterRole %s, so that logs, exec and metrics are forbidden; remove the patch that takes it away", kubeletClient.source, cert.Subject.CommonName, role)
	}

	p := c.cluster.Plan
	c.requireAPIServer(plan.AdminFile, p.EndpointURL())
	c.requireAPIServer("pods", "https://kubernetes.default.svc")
	for _, a := range p.ServiceIPs {
		c.requireAPIServer("pods", "https://"+net.JoinHostPort(a.String(), "443"))
	}
	if c.facts.proxy != nil {
		c.requireAPIServer("ConfigMap kube-proxy: server", c.facts.proxy.server)
	}
}

// checkServiceAccounts: the API server accepts the tokens that it signs itself, and those of the controller-manager.
func (c *inspection) checkServiceAccounts() {
	api, manager := c.component(plan.APIServer), c.component(plan.ControllerManager)
	var accepted [][]byte
	if api != nil {
		for _, value := range api.flags["service-account-key-file"] {
			key := c.publicKey(api.locate(value).path)
			if key == nil {
				return // a file that only the user knows, or one that references finds missing
			}
			accepted = append(accepted, key)
		}
	}
	for _, signer := range []reference{c.requiredFile(api, "service-account-signing-key-file"), c.requiredFile(manager, "service-account-private-key-file")} {
		if key := c.publicKey(signer.path); key != nil && api != nil && !slices.ContainsFunc(accepted, func(k []byte) bool { return bytes.Equal(k, key) }) {
			c.fail("%s: kube-apiserver's --service-account-key-file has not the public key of %s, so that its tokens are refused; name %s", signer.source, signer.path, plan.ServicePub)
		}
	}
}

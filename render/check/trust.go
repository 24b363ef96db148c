package check

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// checkTrust checks connections from both sides: certificates verify, fit their keys and the
// dialled names, and clients have the names that servers expect.
func (c *inspection) checkTrust() {
	c.checkCertificates()
	if c.machine.Joins() {
		c.checkKubeletTrust()
		c.requireAPIServer("file "+plan.KilnDir+"/machine: api", c.tree.HookData("api"))
	} else {
		c.checkStandaloneKubelet()
	}
	for _, path := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
		c.checkClient(path)
	}
	c.checkIdentities()
	if c.machine.ControlPlane() {
		c.checkAPIServerTrust()
		c.checkEtcdTrust()
		c.checkServiceAccounts()
		c.checkEncryption()
	}
	if c.machine.EtcdMember {
		c.checkMemberTrust()
	}
}

// checkKubeletTrust checks that the kubelet knows the API server's client by its CA, and has a
// certificate for its addresses. A pool's kubelets make their own.
func (c *inspection) checkKubeletTrust() {
	k := c.kubelet
	ca := k.ClientCA()
	cert := k.File("tlsCertFile", k.TLSCertFile)
	key := k.File("tlsPrivateKeyFile", k.TLSPrivateKeyFile)
	needed := []machine.Reference{ca, cert, key}
	if c.machine.Pool {
		needed = []machine.Reference{ca}
	}
	for _, file := range needed {
		if file.Path == "" {
			c.fail("%s is not set; remove the patch that takes it away", file.Source)
		}
	}
	c.requireTrusted(ca, pki.CA)
	if c.machine.Pool {
		return
	}
	c.requirePair(cert, key)
	c.checkKubeletNames(cert.Path)
	if client := c.kubeconfigs[plan.KubeletConf]; client != nil {
		c.checkKubeletNames(client.Users[0].User.Cert)
	}
	for address := range strings.SplitSeq(k.Flag("node-ip"), ",") {
		c.requireCertificateFor("kubelet.service: --node-ip", address, cert)
	}
}

// checkKubeletNames checks that a kubelet's certificate is not valid for the API server, since one
// CA signs both. A control plane's own names stand in both.
func (c *inspection) checkKubeletNames(path string) {
	cert, own := c.certificate(path), c.machine.KubeletNames()
	if cert == nil {
		return
	}
	for _, name := range c.facts.apiNames {
		isOwn := c.machine.ControlPlane() && (slices.Contains(own.DNS, name) ||
			slices.ContainsFunc(own.IPs, func(a netip.Addr) bool { return a.String() == name }))
		if !isOwn && cert.VerifyHostname(name) == nil {
			c.fail("%s: the kubelet's certificate is for %s, which is a name or an address of "+
				"the API server; rename the machine, or take the name out of the certificate",
				path, name)
		}
	}
}

// checkStandaloneKubelet checks that an etcd machine's kubelet looks for no API server, and opens
// no port but its health's: nobody could say what a client may do.
func (c *inspection) checkStandaloneKubelet() {
	for _, flag := range []string{"kubeconfig", "bootstrap-kubeconfig"} {
		if value := c.kubelet.Flag(flag); value != "" {
			c.fail("kubelet.service: --%s is %s, and an etcd machine is no Node; remove it",
				flag, value)
		}
	}
	if value := c.kubelet.Flag("enable-server"); value != "" && value != "false" {
		c.fail("kubelet.service: --enable-server is %s: "+
			"a kubelet without an API server allows everything to everybody; "+
			"set it to false on etcd machines (controlPlane.etcd.machines.kubeletExtraArgs), "+
			"or remove it", value)
	}
	if on := c.kubelet.EnableServer; on == nil || *on || c.kubelet.ReadOnlyPort != 0 {
		c.fail("file %s: want enableServer: false and readOnlyPort: 0: "+
			"a kubelet without an API server allows everything to everybody; "+
			"remove the patch that changes it", plan.KubeletConfig)
	}
}

// checkAPIServerTrust checks the certificates of the API server's clients, those that it shows as a
// client itself, and the names by which it is dialled.
func (c *inspection) checkAPIServerTrust() {
	api, manager := c.component(target.APIServer), c.component(target.ControllerManager)
	for _, file := range []machine.Reference{
		c.requiredFile(api, "client-ca-file"),
		api.File("kubelet-certificate-authority"),
		c.requiredFile(manager, "client-ca-file"),
		c.requiredFile(manager, "root-ca-file"),
	} {
		c.requireTrusted(file, pki.CA)
	}
	c.requireIssuer(manager.File("cluster-signing-cert-file"), pki.CA)
	for _, program := range []*machine.Program{api, manager} {
		c.requireTrusted(program.File("requestheader-client-ca-file"), pki.FrontProxyCA)
	}
	frontProxy := c.requiredFile(api, "proxy-client-cert-file")
	kubeletClient := c.requiredFile(api, "kubelet-client-certificate")
	for _, shown := range []struct {
		cert, ca machine.Reference
		usage    x509.ExtKeyUsage
	}{
		{c.requiredFile(api, "tls-cert-file"), manager.File("root-ca-file"), asServer},
		{kubeletClient, c.kubelet.ClientCA(), asClient},
		{frontProxy, c.requiredFile(api, "requestheader-client-ca-file"), asClient},
		{frontProxy, c.requiredFile(manager, "requestheader-client-ca-file"), asClient},
	} {
		c.requireVerifies(shown.cert, shown.ca, shown.usage)
	}
	c.requirePair(api.File("tls-cert-file"), c.requiredFile(api, "tls-private-key-file"))
	c.requirePair(kubeletClient, c.requiredFile(api, "kubelet-client-key"))
	c.requirePair(frontProxy, c.requiredFile(api, "proxy-client-key-file"))
	c.requirePair(manager.File("cluster-signing-cert-file"),
		manager.File("cluster-signing-key-file"))

	c.checkFrontProxy(api, frontProxy)
	c.checkKubeletClient(kubeletClient)
	c.checkAPIServerNames()
}

// checkFrontProxy checks that the API server accepts the name of its own front proxy client.
// Without the flag it accepts any name.
func (c *inspection) checkFrontProxy(api *machine.Program, client machine.Reference) {
	cert, allowed := c.certificate(client.Path), api.Flag("requestheader-allowed-names")
	if cert == nil || allowed == "" {
		return
	}
	if name := cert.Subject.CommonName; !slices.Contains(strings.Split(allowed, ","), name) {
		c.fail("%s: --requestheader-allowed-names: want %q, the name in %s, got %q",
			api, name, client.Path, allowed)
	}
}

// checkKubeletClient checks that the API server's client for kubelets has the rights for them.
func (c *inspection) checkKubeletClient(client machine.Reference) {
	const role = "system:kubelet-api-admin"
	cert := c.certificate(client.Path)
	if cert == nil {
		return
	}
	user := rbacv1.Subject{Kind: rbacv1.UserKind, Name: cert.Subject.CommonName}
	if !slices.Contains(c.facts.rolesOf[user], role) {
		c.fail("%s: no ClusterRoleBinding gives %s the ClusterRole %s, "+
			"so that logs, exec and metrics are forbidden; remove the patch that takes it away",
			client.Source, user.Name, role)
	}
}

// checkAPIServerNames checks the names by which operators and pods dial the API server.
func (c *inspection) checkAPIServerNames() {
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

// checkServiceAccounts checks that the API server accepts the tokens that it and the manager sign.
// With the bundle the key is also that of the stage, and the other one is accepted.
func (c *inspection) checkServiceAccounts() {
	api, manager := c.component(target.APIServer), c.component(target.ControllerManager)
	var accepted [][]byte
	if api != nil {
		for _, value := range api.Flags["service-account-key-file"] {
			keys := c.publicKeys(api.Locate(value).Path)
			if len(keys) == 0 {
				return // only the user knows this file, or checkReferences finds it missing
			}
			accepted = append(accepted, keys...)
		}
	}
	isAccepted := func(key []byte) bool {
		return slices.ContainsFunc(accepted, func(k []byte) bool { return bytes.Equal(k, key) })
	}
	for _, signer := range []machine.Reference{
		c.requiredFile(api, "service-account-signing-key-file"),
		c.requiredFile(manager, "service-account-private-key-file"),
	} {
		keys := c.publicKeys(signer.Path)
		if len(keys) == 0 || api == nil {
			continue
		}
		if !isAccepted(keys[0]) {
			c.fail("%s: kube-apiserver's --service-account-key-file does not hold the public key "+
				"of %s, so that its tokens are refused; name %s",
				signer.Source, signer.Path, plan.ServicePub)
		}
	}
	if c.cluster.Bundle == nil || api == nil {
		return
	}
	for _, key := range c.cluster.Bundle.ServiceAccountKeys()[1:] {
		if block, _ := pem.Decode(key.PublicPEM()); !isAccepted(block.Bytes) {
			c.fail("%s: --service-account-key-file does not hold both keys of the rotation, "+
				"so that the other machines' tokens are refused; name %s", api, plan.ServicePub)
		}
	}
}

// checkEncryption checks the order of the keys of Secrets: the first writes, and all read. Without
// the bundle, or with another file of the user's, it passes.
func (c *inspection) checkEncryption() {
	api := c.component(target.APIServer)
	f := c.tree.File(plan.Encryption)
	if c.cluster.Bundle == nil || f == nil ||
		api.File("encryption-provider-config").Path != plan.Encryption {
		return
	}
	rest := string(f.Content)
	for _, key := range c.cluster.Bundle.EncryptionKeys() {
		_, after, found := strings.Cut(rest, base64.StdEncoding.EncodeToString(key.Key))
		if !found {
			c.fail("file %s: does not have the key %s in its place: the first key writes Secrets, "+
				"and the others read what is there", f.Path, key.Name)
			return
		}
		rest = after
	}
}

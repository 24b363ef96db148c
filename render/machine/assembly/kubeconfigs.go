package assembly

import (
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/plan"
)

// addKubeconfigs adds the components' kubeconfigs, which name certificates and keys by their files.
// An etcd machine gets none, because nothing on it calls the API server.
func (t *tree) addKubeconfigs() error {
	p, m := t.Plan, t.m
	if !m.Joins() {
		return nil
	}
	add := func(path, user, server, crt, key string) {
		t.addFile(path, 0o600, t.kubeconfig(user, server, crt, key),
			"how "+user+" finds the API server and who it is")
	}
	if m.Pool {
		t.addSecret(plan.BootstrapConf, "", pki.TokenName(m.Name), func(b *pki.Bundle) []byte {
			token := b.PoolToken(m.Name).Bearer()
			return manifests.Kubeconfig(p.Name, "kubelet-bootstrap", p.APIURL(m),
				manifests.Credentials{CAFile: plan.CACert, Token: token})
		}, "how the kubelet asks for its first certificate")
	} else {
		add(plan.KubeletConf, "system:node:"+m.Name, p.APIURL(m),
			plan.KubeletCurrent, plan.KubeletCurrent)
	}
	if m.ControlPlane() {
		for _, c := range []struct{ path, base, user string }{
			{plan.ManagerConf, "controller-manager", "system:kube-controller-manager"},
			{plan.SchedulerConf, "scheduler", "system:kube-scheduler"},
			{plan.AdminConf, pki.InstallBase, "kiln:install"},
		} {
			crt, key := plan.Cert(c.base)
			if c.base == pki.InstallBase && !t.Public.HasInstall(m.Name) {
				crt, key = "", "" // CIS 1.1.13 and 1.1.14 want the file
			}
			add(c.path, c.user, m.LocalURL(), crt, key)
		}
	}
	if p.HasVIP(m) {
		crt, key := plan.Cert("kube-vip")
		add(plan.VIPConf, "kube-vip", m.LocalURL(), crt, key)
	}
	if p.Hardened() && p.Config.Spec.Network.Proxy != "none" {
		// No program reads this file, but CIS 4.1.3 and 4.1.4 warn on machines without it.
		server := p.ProxyURL()
		if p.Balanced(m) {
			server = p.BalancerURL()
		}
		t.addFile(plan.ProxyConf, 0o600, t.kubeconfig("none", server, "", ""),
			"a kubeconfig without a credential: kube-proxy has its service account")
	}
	return nil
}

// kubeconfig returns a kubeconfig that names files. Those of all machines with one server and the
// same files differ in the user alone, whose name needs no quotes in YAML.
func (r *Cluster) kubeconfig(user, server, crt, key string) string {
	const someone = "system:node:NAME"
	conf := r.kubeconfigs.Of([]byte(server+" "+crt+" "+key), func() []byte {
		return manifests.Kubeconfig(r.Plan.Name, someone, server, manifests.Credentials{
			CAFile: plan.CACert, CertFile: crt, KeyFile: key,
		})
	})
	return strings.ReplaceAll(string(conf), someone, user)
}

// PersonKubeconfig returns a kubeconfig with a client certificate and its key inside, for somebody
// outside of the cluster's machines. It trusts all roots of the API server.
func PersonKubeconfig(p *plan.Plan, half *pki.Public, cert *pki.Certificate) []byte {
	return manifests.Kubeconfig(p.Name, cert.Spec.CommonName, p.EndpointURL(),
		manifests.Credentials{CA: half.TrustPEM(pki.CA), Cert: cert.CertPEM(), Key: cert.Key.PEM()})
}

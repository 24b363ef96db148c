package render

import (
	"fmt"
	"path"
	"time"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/templates"
)

// tree collects what one machine receives.
type tree struct {
	*Cluster
	m *plan.Machine
	n *node.Node
}

// machine returns everything that m receives. Each step below adds one kind of thing; the manifest of all files is the
// last, for it lists the others.
func (r *Cluster) machine(m *plan.Machine) (*node.Node, error) {
	t := &tree{Cluster: r, m: m, n: &node.Node{Name: m.Name, Role: m.Role, Login: m.System.Login, AuthorizedKeys: m.Settings.SSHAuthorizedKeys}}
	for _, step := range []func() error{
		t.trust, t.kubeconfigs, t.apiServer, t.pods, t.kubelet, t.system, t.podNetwork, t.interfaces, t.hook, t.backups, t.user, t.fileManifest,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t.n.Sort()
	return t.n, nil
}

// file adds a file of root's that is not secret. from are the fields of the configuration that it is made from.
func (t *tree) file(path string, mode uint32, content, why string, from ...string) {
	t.n.Files = append(t.n.Files, node.File{Path: path, Mode: mode, Content: []byte(content), Why: why, From: from})
}

// secret adds a file of mode 0600 with a secret: name and generation, and what is shown, are all that a reviewer may see of
// it. Without the bundle content is not called.
func (t *tree) secret(path, owner, name string, content func(b *pki.Bundle) []byte, why string, shown ...string) {
	f := node.File{Path: path, Mode: 0o600, Why: why, Secret: t.Public.Mark(name), Shown: shown}
	f.User, f.Group = t.owner(owner)
	if t.Bundle != nil {
		f.Content = content(t.Bundle)
	}
	t.n.Files = append(t.n.Files, f)
}

// authority adds the certificate of a CA, whose secret has that name.
func (t *tree) authority(path, owner, name string, ca *pki.Authority, why string) {
	user, group := t.owner(owner)
	t.n.Files = append(t.n.Files, node.File{
		Path: path, Mode: 0o644, User: user, Group: group, Content: ca.PEM(), Why: why,
		Shown: []string{"certificate " + t.Public.Mark(name) + ": " + pki.Summary(ca.Certificate)},
	})
}

func (t *tree) dir(path string, mode uint32, owner string) {
	user, group := t.owner(owner)
	t.n.Dirs = append(t.n.Dirs, node.Dir{Path: path, Mode: mode, User: user, Group: group})
}

// owner returns the user and group in the document for an owner, which is etcd's user or, if empty, root.
func (t *tree) owner(of string) (user, group string) {
	if of == plan.EtcdUser {
		return t.m.System.Etcd.Owner(of)
	}
	return of, of
}

// trust adds CAs, certificates and keys. A worker gets the cluster's CA certificate and its own two pairs, an etcd machine etcd's CA
// certificate and its member's two pairs, nothing else.
func (t *tree) trust() error {
	public, m := t.Public, t.m
	t.dir(plan.KubernetesDir, 0o755, "")
	t.dir(plan.KubeletDir, 0o700, "")
	t.dir(plan.KubeletPKI, 0o700, "")
	if m.Joins() {
		t.dir(plan.PKIDir, 0o755, "")
		t.authority(plan.CACert, "", "ca", &public.CA, "the cluster's CA")
	}
	if m.ControlPlane() {
		if t.Plan.OnlineSigning {
			t.secret(plan.CAKey, "", "ca", func(b *pki.Bundle) []byte { return b.CAKey.BarePEM() }, "signs certificate requests, in the controller-manager")
		}
		t.authority(plan.FrontProxyCA, "", "front-proxy-ca", &public.FrontProxyCA, "CA of the API aggregation layer")
		t.secret(plan.ServiceKey, "", "service-account", func(b *pki.Bundle) []byte { return b.ServiceAccountKey.BarePEM() }, "signs service account tokens")
		t.servicePublic()
		t.etcdTrust()
	}
	if m.EtcdMember {
		t.memberTrust()
	}
	for _, spec := range public.Specs(t.Plan, m) {
		if err := t.pair(spec); err != nil {
			return err
		}
	}
	return nil
}

// servicePublic adds the public half of the key of service accounts, which the public half of the bundle does not hold.
func (t *tree) servicePublic() {
	f := node.File{Path: plan.ServicePub, Mode: 0o600, Why: "verifies service account tokens", Shown: []string{"<public key of " + t.Public.Mark("service-account") + ">"}}
	if t.Bundle != nil {
		f.Content = t.Bundle.ServiceAccountKey.PublicPEM()
	}
	t.n.Files = append(t.n.Files, f)
}

// pair adds a certificate with its key.
func (t *tree) pair(spec pki.Spec) error {
	described, err := t.Public.Template(spec)
	if err != nil {
		return err
	}
	shown := []string{"certificate " + t.Public.Mark(spec.Name) + ": " + pki.Summary(described)}
	var cert *pki.Certificate
	if t.Bundle != nil {
		if cert, err = t.Bundle.Issue(spec); err != nil {
			return err
		}
	}
	if spec.CertPath == spec.KeyPath {
		t.secret(spec.CertPath, spec.Owner, spec.Name, func(*pki.Bundle) []byte { return cert.BothPEM() }, "certificate and key of "+spec.Base, shown...)
		// The kubelet rotates by pointing this link elsewhere and insists that it is a link (kubeadm.md §4.5).
		t.n.Links = append(t.n.Links, node.Link{Path: plan.KubeletCurrent, Target: path.Base(spec.CertPath)})
		return nil
	}
	f := node.File{Path: spec.CertPath, Mode: 0o644, Why: "certificate of " + spec.Base, Shown: shown}
	f.User, f.Group = t.owner(spec.Owner)
	if cert != nil {
		f.Content = cert.CertPEM()
	}
	t.n.Files = append(t.n.Files, f)
	t.secret(spec.KeyPath, spec.Owner, spec.Name, func(*pki.Bundle) []byte { return cert.Key.BarePEM() }, "key of "+spec.Base)
	return nil
}

// etcdTrust adds what an API server needs for etcd, ours or an external one.
func (t *tree) etcdTrust() {
	c := t.Plan.Config
	ext := c.Spec.ControlPlane.Etcd.External
	if ext == nil {
		t.authority(plan.EtcdCA, "", "etcd-ca", &t.Public.EtcdCA, "CA of etcd, for the API server")
		return
	}
	const external = "controlPlane.etcd.external"
	crt, key := plan.Cert("apiserver-etcd-client")
	t.file(plan.EtcdCA, 0o644, string(c.Text(ext.CAFrom)), "CA of the external etcd", external+".caFrom")
	t.file(crt, 0o644, string(c.Text(ext.CertFrom)), "the API server's certificate for the external etcd", external+".certFrom")
	t.n.Files = append(t.n.Files, node.File{Path: key, Mode: 0o600, Content: c.Text(ext.KeyFrom), Secret: "external-etcd-client", Why: "key of that certificate", From: []string{external + ".keyFrom"}})
}

// memberTrust adds what a member of etcd needs beside its certificates.
func (t *tree) memberTrust() {
	if etcd := t.m.System.Etcd; !etcd.Image {
		t.n.Users = append(t.n.Users, node.User{Name: plan.EtcdUser, ID: etcd.UID, Home: plan.EtcdData})
	}
	t.dir("/etc/etcd", 0o755, "")
	t.dir(plan.EtcdPKIDir, 0o700, plan.EtcdUser)
	t.dir(plan.EtcdData, 0o700, plan.EtcdUser)
	t.authority(plan.EtcdOwnCA, plan.EtcdUser, "etcd-ca", &t.Public.EtcdCA, "CA of etcd, for its members")
}

// kubeconfigs adds the components' kubeconfigs, which name files. On an etcd machine nothing looks for the API server.
func (t *tree) kubeconfigs() error {
	p, m := t.Plan, t.m
	if !m.Joins() {
		return nil
	}
	add := func(path, user, server, crt, key string) {
		t.file(path, 0o600, string(manifests.Kubeconfig(p.Name, user, server, manifests.Credentials{CAFile: plan.CACert, CertFile: crt, KeyFile: key})),
			"how "+user+" finds the API server and who it is")
	}
	if m.Token {
		t.secret(plan.BootstrapConf, "", pki.TokenName(m), func(b *pki.Bundle) []byte {
			return manifests.Kubeconfig(p.Name, "kubelet-bootstrap", p.APIURL(m), manifests.Credentials{CAFile: plan.CACert, Token: b.MachineToken(m).Bearer()})
		}, "how the kubelet asks for its first certificate")
	} else {
		add(plan.KubeletConf, "system:node:"+m.Name, p.APIURL(m), plan.KubeletCurrent, plan.KubeletCurrent)
	}
	if m.ControlPlane() {
		for _, c := range []struct{ path, base, user string }{
			{plan.ManagerConf, "controller-manager", "system:kube-controller-manager"},
			{plan.SchedulerConf, "scheduler", "system:kube-scheduler"},
			{plan.AdminConf, "install", "kiln:install"},
		} {
			crt, key := plan.Cert(c.base)
			add(c.path, c.user, m.LocalURL(), crt, key)
		}
	}
	if p.HasVIP(m) {
		crt, key := plan.Cert("kube-vip")
		add(plan.VIPConf, "kube-vip", m.LocalURL(), crt, key)
	}
	if p.Hardened() && p.Config.Spec.Network.Proxy != "none" {
		// Nothing reads it, but CIS 4.1.3 and 4.1.4 warn on machines that have none.
		server := p.ProxyURL()
		if p.Balanced(m) {
			server = p.BalancerURL()
		}
		conf := manifests.Kubeconfig(p.Name, "none", server, manifests.Credentials{CAFile: plan.CACert})
		t.file(plan.ProxyConf, 0o600, string(conf), "a kubeconfig without a credential: kube-proxy has its service account")
	}
	return nil
}

// apiServer adds the settings that the API server reads from files.
func (t *tree) apiServer() error {
	if !t.m.ControlPlane() {
		return nil
	}
	t.dir(plan.APIServerDir, 0o700, "")
	const name = "encryption"
	key := fmt.Sprintf("g%d", t.Public.Generation(name))
	t.secret(plan.Encryption, "", name, func(b *pki.Bundle) []byte { return manifests.Encryption(t.Plan, key, b.EncryptionKey) },
		"how the API server writes Secrets to etcd")
	if t.Plan.Hardened() {
		t.dir(plan.AuditDir, 0o700, "")
	}
	settings, err := t.apiServerSettings(t.m, nil)
	if err != nil {
		return err
	}
	for path, doc := range settings {
		t.file(path, 0o600, string(doc), "settings of the API server")
	}
	return nil
}

// pods adds the static pods, and what a worker's balancer reads.
func (t *tree) pods() error {
	if !t.Plan.StaticPods(t.m) {
		return nil
	}
	if t.Plan.Balanced(t.m) {
		t.file(plan.BalancerConf, 0o644, string(manifests.Balancer(t.Plan)), "how the balancer finds the API servers; its user reads it", "workers.localBalancer", "nodes")
	}
	t.dir(plan.ManifestsDir, 0o700, "")
	pods, err := t.staticPods(t.m, nil)
	if err != nil {
		return err
	}
	for path, doc := range pods {
		t.file(path, 0o600, string(doc), "static pod")
	}
	return nil
}

// kubelet adds the kubelet's configuration and unit. The unit has a condition: before the hook has allowed it, the
// kubelet does not start, whoever starts it.
func (t *tree) kubelet() error {
	conf, err := t.kubeletConfig(t.m, nil)
	if err != nil {
		return err
	}
	t.file(plan.KubeletConfig, 0o600, string(conf), "the kubelet's configuration")
	if err := t.logind(conf); err != nil {
		return err
	}
	command := plan.Command(t.m.Settings.KubeletPath, t.Plan.KubeletFlags(t.m))
	t.unit("kubelet.service", true, false)
	dropIn := templates.KubeletDropIn
	if t.m.Pool {
		dropIn = templates.PoolKubeletDropIn
	}
	t.file(plan.KubeletDropIn, 0o600, dropIn(command[0], command[1:]...), "the kubelet's command line",
		append(t.m.Settings.Paths("labels"), t.m.Path+".addresses", t.m.Settings.Path("kubeletPath"), t.m.Settings.Path("kubeletExtraArgs"))...)
	return nil
}

// tokenExpiry is when m's bootstrap token ends.
func (r *Cluster) tokenExpiry(m *plan.Machine) time.Time {
	if m.Pool {
		return r.Public.Issued.Add(time.Duration(m.TokenLifetime))
	}
	return r.Public.InstallEnd()
}

// Admin returns the operator's kubeconfig, which holds its certificate and key. It is for no machine.
func (r *Cluster) Admin() ([]byte, error) {
	cert, err := r.Bundle.Issue(r.Public.AdminSpec(r.Plan))
	if err != nil {
		return nil, err
	}
	return manifests.Kubeconfig(r.Plan.Name, "kubernetes-admin", r.Plan.EndpointURL(), manifests.Credentials{
		CA: r.Public.CA.PEM(), Cert: cert.CertPEM(), Key: cert.Key.PEM(),
	}), nil
}

// validity returns when all of m's certificates are valid: the latest beginning and the earliest end, without the
// install credential, which is meant to end.
func (r *Cluster) validity(m *plan.Machine) (from, until time.Time) {
	ca := r.Public.CA.Certificate
	if !m.Joins() {
		ca = r.Public.EtcdCA.Certificate
	}
	from, until = ca.NotBefore, ca.NotAfter
	for _, s := range r.Public.Specs(r.Plan, m) {
		if s.Base == "install" {
			continue
		}
		if s.NotBefore.After(from) {
			from = s.NotBefore
		}
		if s.NotAfter.Before(until) {
			until = s.NotAfter
		}
	}
	return from, until
}

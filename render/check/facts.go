package check

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/plan"
)

// facts is what Check knows of the whole cluster, read once and then only looked at.
type facts struct {
	cluster *Cluster

	// servers are the names in the serving certificates of API servers and members of etcd, by the certificate's base and
	// the machine's name.
	servers map[string]map[string]*x509.Certificate
	// bound are the ClusterRoles of each subject.
	bound map[rbacv1.Subject][]string
	// tokens are the bootstrap tokens that the API server is to know, by their public half.
	tokens map[string]bootstrapToken
	// dns are the addresses of the Service kube-dns; none if there is no such Service.
	dns   []string
	proxy *proxyConfig // nil without kube-proxy
	// images are what kiln images prints.
	images map[string]string
	// bundled are the secrets of the bundle that files are searched for, tokenOf the machines and pools by the secret half of their bootstrap
	// token. searched are the names of both: a file that is marked with one has to hold it.
	bundled  []bundled
	tokenOf  map[string]string
	searched map[string]bool
	// examined are what was found in contents, by their SHA-256; origins are the places that files
	// come from, by their paths, in words.
	examined, origins sync.Map
	kept              atomic.Int64 // how many of examined

	// errs is what does not hold of the cluster as a whole.
	errs []error

	kubelets sync.Map // *kubeletConfig by its text: many machines, few configurations
}

// bootstrapToken is what the API server is to know of a token; groups are separated by commas.
type bootstrapToken struct{ secret, groups string }

// proxyConfig is what Check reads of kube-proxy's configuration.
type proxyConfig struct {
	server             string // of its kubeconfig
	ClusterCIDR        string `json:"clusterCIDR"`
	HealthzBindAddress string `json:"healthzBindAddress"`
	MetricsBindAddress string `json:"metricsBindAddress"`
}

// readFacts reads the plan and the API objects of a cluster.
func readFacts(c *Cluster) *facts {
	f := &facts{
		cluster: c, servers: map[string]map[string]*x509.Certificate{}, bound: map[rbacv1.Subject][]string{},
		tokens: map[string]bootstrapToken{}, images: c.Plan.UsedImages(), tokenOf: map[string]string{}, searched: map[string]bool{},
	}
	f.readServers()
	f.readSecrets()
	for _, o := range c.Objects {
		if err := f.readObject(o); err != nil {
			f.fail("%s %s: %w", o.Kind, o.Name, err)
		}
	}
	f.rights()
	f.vipRights()
	f.networks()
	return f
}

func (f *facts) fail(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// readServers takes the names of every serving certificate of control planes and members of etcd from their specifications.
// Each machine's own check holds its certificates to them.
func (f *facts) readServers() {
	p := f.cluster.Plan
	for i := range p.Machines {
		m := &p.Machines[i]
		if !m.ControlPlane() && !m.EtcdMember {
			continue
		}
		for _, spec := range f.cluster.Public.Specs(p, m) {
			if !slices.Contains(spec.Usages, x509.ExtKeyUsageServerAuth) {
				continue
			}
			cert := &x509.Certificate{DNSNames: spec.Names.DNS}
			for _, a := range spec.Names.IPs {
				cert.IPAddresses = append(cert.IPAddresses, net.IP(a.AsSlice()))
			}
			if f.servers[spec.Base] == nil {
				f.servers[spec.Base] = map[string]*x509.Certificate{}
			}
			f.servers[spec.Base][m.Name] = cert
		}
	}
}

// readObject takes from an API object what the machines depend on.
func (f *facts) readObject(o manifests.Object) error {
	switch id := o.Kind + " " + o.Namespace + "/" + o.Name; {
	case o.Kind == "ClusterRoleBinding":
		var b rbacv1.ClusterRoleBinding
		if err := yaml.Unmarshal(o.YAML, &b); err != nil {
			return err
		}
		for _, s := range b.Subjects {
			s.APIGroup = "" // it follows from the kind
			f.bound[s] = append(f.bound[s], b.RoleRef.Name)
		}
	case strings.HasPrefix(id, "Secret kube-system/bootstrap-token-"):
		var s corev1.Secret
		if yaml.Unmarshal(o.YAML, &s) != nil {
			return errors.New("not a Secret") // what cannot be read is not quoted
		}
		f.tokens[s.StringData["token-id"]] = bootstrapToken{s.StringData["token-secret"], s.StringData["auth-extra-groups"]}
	case id == "Service kube-system/kube-dns":
		var s corev1.Service
		if err := yaml.Unmarshal(o.YAML, &s); err != nil {
			return err
		}
		if f.dns = s.Spec.ClusterIPs; len(f.dns) == 0 && s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
			f.dns = []string{s.Spec.ClusterIP}
		}
	case id == "ConfigMap kube-system/kube-proxy" && f.cluster.Plan.Config.Spec.Network.Proxy != "none":
		return f.readProxy(o.YAML)
	case o.Kind == "Deployment" || o.Kind == "DaemonSet":
		return f.readWorkload(o)
	}
	return nil
}

func (f *facts) readProxy(doc []byte) error {
	var cm corev1.ConfigMap
	if err := yaml.Unmarshal(doc, &cm); err != nil {
		return err
	}
	f.proxy = &proxyConfig{}
	if err := yaml.Unmarshal([]byte(cm.Data["config.conf"]), f.proxy); err != nil {
		return fmt.Errorf("config.conf: %w", err)
	}
	k, err := readKubeconfig([]byte(cm.Data["kubeconfig.conf"]))
	if err != nil {
		return fmt.Errorf("kubeconfig.conf: %w", err)
	}
	f.proxy.server = k.Clusters[0].Cluster.Server
	return nil
}

// grant is a right that one of several subjects has to have, for all of them belong to the same client.
type grant struct {
	needed bool
	any    []rbacv1.Subject
	role   string
	what   string // does not work without it
}

// rights: whoever we give an identity has its rights from an object, except where the API server itself binds them: the
// nodes, the controller-manager, the scheduler and system:masters.
func (f *facts) rights() {
	p := f.cluster.Plan
	const csr = "system:certificates.k8s.io:certificatesigningrequests:"
	grants := []grant{
		{true, groups(pki.AdminGroup), "cluster-admin", "the operator's admin.conf may do nothing"},
		{p.OnlineSigning, groups("system:nodes"), csr + "selfnodeclient", "no kubelet's certificate is renewed"},
		{f.proxy != nil, []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: plan.KubeProxy}}, "system:node-proxier", "kube-proxy sees no Services"},
	}
	seen := map[string]bool{}
	for i := range p.Machines {
		m := &p.Machines[i]
		extra := f.tokens[f.cluster.Bundle.MachineToken(m).ID].groups
		if !m.Token || seen[extra] {
			continue
		}
		seen[extra] = true
		joining := groups(append(strings.Split(extra, ","), "system:bootstrappers")...)
		grants = append(grants,
			grant{true, joining, "system:node-bootstrapper", "no machine joins with a token"},
			grant{true, joining, csr + "nodeclient", "no machine that joins with a token gets a certificate"})
	}
	for _, g := range grants {
		if g.needed && !slices.ContainsFunc(g.any, func(s rbacv1.Subject) bool { return slices.Contains(f.bound[s], g.role) }) {
			f.fail("objects: no ClusterRoleBinding gives %s %s the ClusterRole %s, so that %s; remove the patch that takes it away", g.any[0].Kind, g.any[0].Name, g.role, g.what)
		}
	}
}

func groups(names ...string) (out []rbacv1.Subject) {
	for _, name := range names {
		out = append(out, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name})
	}
	return out
}

// kubelet returns a parsed kubelet configuration.
func (f *facts) kubelet(text []byte) (*kubeletConfig, error) {
	if done, ok := f.kubelets.Load(string(text)); ok {
		return done.(*kubeletConfig), nil
	}
	conf := &kubeletConfig{}
	if err := yaml.Unmarshal(text, &conf.KubeletConfiguration); err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	walk(fields, func(value string) {
		if strings.HasPrefix(value, "/") {
			conf.paths = append(conf.paths, value)
		}
	})
	slices.Sort(conf.paths)
	f.kubelets.Store(string(text), conf)
	return conf, nil
}

func walk(v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			walk(e, visit)
		}
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	case string:
		visit(v)
	}
}

// objects: a control plane brings the objects that the facts are of, and the first one reports what is wrong with the
// cluster as a whole.
func (c *inspection) objects() {
	if !c.machine.ControlPlane() {
		return
	}
	if p := c.cluster.Plan; c.machine == &p.Machines[p.ControlPlanes[0]] {
		for _, err := range c.facts.errs {
			c.fail("%w", err)
		}
	}
	dir := plan.KilnDir + "/objects"
	index := c.files[dir+"/index"]
	if index == nil {
		c.fail("file %s/index: missing; the API server would get no objects", dir)
		return
	}
	lines := strings.Split(strings.TrimSuffix(string(index.Content), "\n"), "\n")
	if len(lines) != len(c.cluster.Objects) {
		c.fail("file %s: lists %d objects of %d", index.Path, len(lines), len(c.cluster.Objects))
		return
	}
	for i, o := range c.cluster.Objects {
		path, name, _ := strings.Cut(lines[i], "\t")
		if f := c.files[dir+"/"+name]; path != o.Path || f == nil || !bytes.Equal(f.Content, o.YAML) {
			c.fail("file %s: line %d: the object of %s is not what it should be", index.Path, i+1, o.Path)
		}
	}
}

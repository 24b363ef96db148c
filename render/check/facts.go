package check

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// facts is what Check knows of the whole cluster, read once and then only looked at.
type facts struct {
	cluster *Cluster

	// servers are the names in the serving certificates of API servers and members of etcd, by the certificate's base and
	// the machine's name.
	servers map[string]map[string]*x509.Certificate
	// rolesOf are the ClusterRoles of each subject.
	rolesOf map[rbacv1.Subject][]string
	// tokens are the bootstrap tokens that the API server is to know, by their public half.
	tokens map[string]bootstrapToken
	// dns are the addresses of the Service kube-dns; none if there is no such Service.
	dns   []string
	proxy *proxyConfig // nil without kube-proxy
	// images are what kiln images prints.
	images map[string]string
	// searcher finds the secrets of this cluster in the contents of files.
	searcher *searcher
	// origins holds, for the path of a file, the places of the configuration that it comes from, as
	// a message shows them.
	origins sync.Map

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
		cluster: c, servers: map[string]map[string]*x509.Certificate{}, rolesOf: map[rbacv1.Subject][]string{},
		tokens: map[string]bootstrapToken{}, images: c.Plan.UsedImages(), searcher: newSearcher(c.Plan, c.Bundle),
	}
	f.readServers()
	for _, o := range c.Objects {
		if err := f.readObject(o); err != nil {
			f.fail("%s %s: %w", o.Kind, o.Name, err)
		}
	}
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
			f.rolesOf[s] = append(f.rolesOf[s], b.RoleRef.Name)
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

// kubeletConfig returns a parsed kubelet configuration.
func (f *facts) kubeletConfig(text []byte) (*kubeletConfig, error) {
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
	visitStrings(fields, func(value string) {
		if strings.HasPrefix(value, "/") {
			conf.paths = append(conf.paths, value)
		}
	})
	slices.Sort(conf.paths)
	f.kubelets.Store(string(text), conf)
	return conf, nil
}

// Cluster is what the checks know of a cluster beside the machine that they look at.
type Cluster struct {
	Plan   *plan.Plan
	Public *pki.Public
	// Bundle is nil if the cluster is rendered without secrets. Then keys, signatures and tokens are
	// not checked.
	Bundle *pki.Bundle
	// Objects are what the API server is to hold, in their order.
	Objects []manifests.Object
	// Joining are the machines that join with a token, by the name of the token's Secret.
	Joining map[string]*plan.Machine
	// Origin returns the places in the configuration that a file of a machine comes from, for messages.
	Origin func(m *plan.Machine, f *node.File) []config.Place
}

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

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
)

// Cluster is what the checks know of a cluster, apart from the machine that they look at.
type Cluster struct {
	secret.Cluster
	// Bundle is nil if the cluster is rendered without secrets. Then keys, signatures and tokens
	// are not checked.
	Bundle *pki.Bundle
	// Origin returns the sources of a file of a machine. Messages show them.
	Origin Sources
	// Source returns the source of a value in a file of a machine.
	Source machine.Source
	// Cause returns the place in the configuration that brought a mistake into a file of a machine.
	// path leads to the mistake in the file, inner on in the document whose text is there, and
	// wrong reports whether a version of the file has the mistake.
	Cause func(
		m *plan.Machine, f *node.File, path, inner string, wrong func(text []byte) bool,
	) config.Place
}

// facts is what the checks know of the whole cluster. It is read once; only its caches change.
type facts struct {
	cluster *Cluster

	// servers holds the names in the serving certificates of API servers and etcd members, by the
	// certificate's base and the machine's name.
	servers map[string]map[string]*x509.Certificate
	// apiNames are all names and addresses in the certificates of API servers, sorted.
	apiNames []string
	// rolesOf holds the names of the ClusterRoles that are bound to a subject.
	rolesOf map[rbacv1.Subject][]string
	// tokens holds the bootstrap tokens that the API objects define, by token ID.
	tokens map[string]bootstrapToken
	// dns holds the addresses of the Service kube-dns. It is empty if there is no such Service.
	dns []string
	// proxy is nil if the cluster has no kube-proxy.
	proxy *proxyConfig
	// images are those that kiln images prints, by program.
	images map[string]string
	// confidential checks the secrets of the machines.
	confidential *secretsChecker

	// What the contents of files are read as.
	kubelets    once.Values[read[*machine.KubeletConfig]]
	pods        once.Values[read[[]*machine.Program]]
	kubeconfigs once.Values[read[*machine.Kubeconfig]]
	sandboxes   once.Values[read[string]]
	reached     once.Values[read[string]] // of the URL of a server
	configuring once.Values[bool]         // whether it configures a program

	checkers sync.Map // *checker by the minor

	// commands checks the command lines of the machines.
	commands *machine.Checker

	// errs are the errors of the cluster as a whole.
	errs []error
}

// bootstrapToken is a token as the API objects define it. The groups are separated by commas.
type bootstrapToken struct{ secret, groups string }

type proxyConfig struct {
	server             string // of its kubeconfig
	BindAddress        string `json:"bindAddress"`
	ClusterCIDR        string `json:"clusterCIDR"`
	HealthzBindAddress string `json:"healthzBindAddress"`
	MetricsBindAddress string `json:"metricsBindAddress"`
}

// readFacts reads the plan and the API objects of a cluster.
func readFacts(c *Cluster) *facts {
	f := &facts{
		cluster:      c,
		servers:      map[string]map[string]*x509.Certificate{},
		rolesOf:      map[rbacv1.Subject][]string{},
		tokens:       map[string]bootstrapToken{},
		images:       c.Plan.UsedImages(),
		confidential: newSecretsChecker(&c.Cluster, c.Bundle, c.Origin),
		commands:     machine.New(c.Plan, c.Source),
	}
	f.readServers()
	for _, o := range c.Objects {
		if err := f.readObject(o); err != nil {
			name := " " + o.Name
			if strings.HasPrefix(o.Name, "bootstrap-token-") {
				name = " of a bootstrap token" // its name has a part of the token
			}
			f.fail("%s%s: %w", o.Kind, name, err)
		}
	}
	return f
}

func (f *facts) fail(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// readServers reads the names of servers from the specifications, with which each machine compares.
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
			if spec.Base == "apiserver" {
				f.apiNames = append(f.apiNames, cert.DNSNames...)
				f.apiNames = append(f.apiNames, addressStrings(spec)...)
			}
		}
	}
	slices.Sort(f.apiNames)
	f.apiNames = slices.Compact(f.apiNames)
}

// readObject reads what the machines depend on. The error never quotes a Secret.
func (f *facts) readObject(o manifests.Object) error {
	switch id := o.Kind + " " + o.Namespace + "/" + o.Name; {
	case o.Kind == "ClusterRoleBinding":
		var b rbacv1.ClusterRoleBinding
		if err := o.Decode(&b); err != nil {
			return err
		}
		for _, s := range b.Subjects {
			s.APIGroup = "" // it follows from the kind
			f.rolesOf[s] = append(f.rolesOf[s], b.RoleRef.Name)
		}
	case strings.HasPrefix(id, "Secret kube-system/bootstrap-token-"):
		var s corev1.Secret
		if o.Decode(&s) != nil {
			return errors.New("not a Secret") // the decoder's error could quote it
		}
		f.tokens[s.StringData["token-id"]] = bootstrapToken{
			secret: s.StringData["token-secret"],
			groups: s.StringData["auth-extra-groups"],
		}
	case id == "Service kube-system/kube-dns":
		var s corev1.Service
		if err := o.Decode(&s); err != nil {
			return err
		}
		f.dns = s.Spec.ClusterIPs
		if ip := s.Spec.ClusterIP; len(f.dns) == 0 && ip != "" && ip != corev1.ClusterIPNone {
			f.dns = []string{ip}
		}
	case id == "ConfigMap kube-system/kube-proxy" &&
		f.cluster.Plan.Config.Spec.Network.Proxy != "none":
		return f.readProxy(o.YAML)
	}
	return nil
}

func (f *facts) readProxy(doc []byte) error {
	var cm corev1.ConfigMap
	if err := yaml.Unmarshal(doc, &cm); err != nil {
		return err
	}
	proxy := &proxyConfig{}
	if err := yaml.Unmarshal([]byte(cm.Data["config.conf"]), proxy); err != nil {
		return fmt.Errorf("config.conf: %w", err)
	}
	k, err := machine.ReadKubeconfig([]byte(cm.Data["kubeconfig.conf"]))
	if err != nil {
		return fmt.Errorf("kubeconfig.conf: %w", err)
	}
	proxy.server = k.Clusters[0].Cluster.Server
	f.proxy = proxy
	return nil
}

type read[T any] struct {
	value T
	err   error
}

// readOnce reads a content with from, unless that was done before.
func readOnce[T any](
	known *once.Values[read[T]], content []byte, from func([]byte) (T, error),
) (T, error) {
	r := known.Of(content, func() read[T] {
		value, err := from(content)
		return read[T]{value, err}
	})
	return r.value, r.err
}

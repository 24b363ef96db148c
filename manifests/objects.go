package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// BootstrapToken is a token for the API server.
type BootstrapToken struct {
	Pool       string // whose machines join with it
	ID, Secret string
	Expires    time.Time
}

// tokenGroup is the group that machines of pools are in while they join.
const tokenGroup = "system:bootstrappers:kiln"

// Objects returns the objects that come before the add-ons, in the order in which they are applied.
func Objects(p *plan.Plan, tokens []BootstrapToken) Source {
	var names []string
	var patches []*Patch
	if p.Roles {
		// This file is first: a Node that is written to before the policy exists has to wait for
		// its roles.
		names = append(names, "objects/worker-roles.yaml")
	}
	if p.Flannel() {
		// No Node is Ready before its pod of Flannel runs, and each object takes a tenth of a
		// second.
		names = append(names, "objects/flannel.yaml")
		patches = append(patches, flannel(p)...)
	}
	names = append(names, "objects/access.yaml")
	if p.VIP.IsValid() {
		names = append(names, "objects/kube-vip.yaml")
	}
	if readers := p.Config.Spec.ControlPlane.MetricsReaders; len(readers) > 0 {
		names = append(names, "objects/metrics.yaml")
		patches = append(patches, metricsReaders(readers))
	}
	if p.Pools {
		names = append(names, "objects/tokens.yaml")
		patches = append(patches, tokenPolicy(p))
	}
	if p.Config.Spec.Network.Proxy != "none" {
		names = append(names, "objects/kube-proxy.yaml")
		patches = append(patches, kubeProxy(p)...)
	}
	if p.Config.Spec.DNS.Provider != "none" {
		names = append(names, "objects/coredns.yaml")
		patches = append(patches, coreDNS(p)...)
		if budget(p) {
			names = append(names, "objects/coredns-budget.yaml")
		}
	}
	names = append(names, "objects/marker.yaml")
	src := Source{Base: base(names...), Patches: patches}
	for _, t := range tokens {
		src.Base = Join(src.Base, tokenSecret(t))
	}
	return src
}

func metricsReaders(readers []string) *Patch {
	var subjects list
	for _, reader := range readers {
		namespace, name, _ := strings.Cut(reader, "/")
		subjects = append(subjects, object{
			"kind": "ServiceAccount", "namespace": namespace, "name": name,
		})
	}
	patch := newPatch("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "kiln:metrics")
	patch.set(plan.Origin{Field: "controlPlane.metricsReaders"}, object{"subjects": subjects})
	return patch
}

// budget reports whether CoreDNS has a PodDisruptionBudget: if there are several pods, and several
// machines. On the only machine of a cluster a drain would wait for ever, since an evicted pod
// becomes ready nowhere else.
func budget(p *plan.Plan) bool {
	machines := 0
	for i := range p.Machines {
		if p.Machines[i].Joins() {
			machines++
		}
	}
	return p.Config.Spec.DNS.Replicas > 1 && machines > 1
}

func tokenSecret(t BootstrapToken) []byte {
	return marshal(object{
		"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
		"metadata": object{"name": "bootstrap-token-" + t.ID, "namespace": system},
		"stringData": object{
			"description":                    "machines of " + t.Pool + " join with it",
			"token-id":                       t.ID,
			"token-secret":                   t.Secret,
			"expiration":                     t.Expires.UTC().Format(time.RFC3339),
			"usage-bootstrap-authentication": "true",
			"auth-extra-groups":              tokenGroup,
		},
	})
}

// TokenPath returns what a state shows in place of the path in the API of a bootstrap token's
// Secret, whose name is half of the token. mark names the token.
func TokenPath(apiPath, mark string) string {
	return path.Dir(apiPath) + tokenName + mark + ">"
}

const tokenName = "/bootstrap-token-<id of "

// IsTokenPath reports whether TokenPath made a path.
func IsTokenPath(shown string) bool { return strings.Contains(shown, tokenName) }

// tokenPolicy returns the patch with the names of the API servers, and so of the control planes. It
// is for the policy that limits what a token can request.
func tokenPolicy(p *plan.Plan) *Patch {
	taken := "['" + strings.Join(p.APIServerNames().DNS, "', '") + "']" // a list of CEL
	return policyVariables("objects/tokens.yaml", "bootstrap.kiln.dev",
		map[string]string{"taken": taken})
}

// policyVariables returns a patch that sets variables of a ValidatingAdmissionPolicy by their
// names. It has all of them, since a list there is replaced whole.
func policyVariables(file, name string, values map[string]string) *Patch {
	var policy struct {
		Spec struct {
			Variables []object `json:"variables"`
		} `json:"spec"`
	}
	embedded(file, "ValidatingAdmissionPolicy", &policy)
	var all list
	for _, v := range policy.Spec.Variables {
		key, _ := v["name"].(string)
		if value, ok := values[key]; ok {
			v = object{"name": key, "expression": value}
		}
		all = append(all, v)
	}
	patch := newPatch("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", name)
	patch.set(plan.Origin{Field: "nodes"}, object{"spec": object{"variables": all}})
	return patch
}

// Marker returns the object that is applied last. It tells a replaced machine that all others were
// applied, so that it does not undo later changes. By objects, their digest, kiln knows of which
// state they are.
func Marker(p *plan.Plan, cluster, objects string) []byte {
	return marshal(object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": object{"name": markerName, "namespace": system},
		"data": object{"cluster": cluster, "name": p.Name, "kubernetesVersion": p.Version,
			MarkerObjects: objects},
	})
}

// Digest returns a digest of API objects. Everybody may read it: of Secrets it has the paths alone.
// The order of the objects does not matter.
func Digest(objects []Object) string {
	hash := sha256.New()
	for _, o := range slices.SortedFunc(slices.Values(objects), func(a, b Object) int {
		return strings.Compare(a.Path, b.Path)
	}) {
		fmt.Fprintln(hash, o.Path)
		if !o.Secret {
			hash.Write(o.YAML)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:markerHash])
}

// markerHash is the bytes of the objects' SHA-256 in the marker, which tells states apart.
const markerHash = 8

const markerName = "kiln"

const (
	// MarkerPath is the marker's path in the API.
	MarkerPath = "/api/v1/namespaces/" + system + "/configmaps/" + markerName
	// FieldManager is the name under which the hook applies all objects.
	FieldManager = "kiln"
	// MarkerObjects is the key of the digest in the marker's data.
	MarkerObjects = "objects"
)

func coreDNS(p *plan.Plan) []*Patch {
	corefiles := newPatch("v1", "ConfigMap", system, "coredns")
	corefiles.set(plan.Origin{Field: "network.dnsDomain"},
		object{"data": object{"Corefile": corefile(p.DNSDomain)}})
	service := newPatch("v1", "Service", system, "kube-dns")
	service.set(plan.Origin{Field: "network.serviceSubnets"},
		object{"spec": object{"clusterIP": p.DNSAddress.String()}})
	deployment := newPatch("apps/v1", "Deployment", system, "coredns")
	deployment.set(plan.Origin{Field: "dns.replicas"},
		object{"spec": object{"replicas": p.Config.Spec.DNS.Replicas}})
	for _, step := range p.ImageSteps(target.CoreDNS) {
		deployment.set(step.From, podTemplate(object{"name": "coredns", "image": step.Ref}))
	}
	return []*Patch{corefiles, service, deployment}
}

func podTemplate(container object) object {
	return object{"spec": object{"template": object{"spec": object{"containers": list{container}}}}}
}

func corefile(domain string) string {
	var settings struct {
		Data struct {
			Corefile string `json:"Corefile"`
		} `json:"data"`
	}
	embedded("objects/coredns.yaml", "ConfigMap", &settings)
	return strings.ReplaceAll(settings.Data.Corefile, "cluster.local", domain)
}

func kubeProxy(p *plan.Plan) []*Patch {
	var cidrs []string
	for _, s := range p.PodSubnets {
		cidrs = append(cidrs, s.String())
	}
	bind := "0.0.0.0"
	if p.PodSubnets[0].Addr().Is6() {
		bind = "::"
	}
	conf := object{
		"apiVersion":       "kubeproxy.config.k8s.io/v1alpha1",
		"kind":             "KubeProxyConfiguration",
		"bindAddress":      bind,
		"clientConnection": object{"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"},
		"clusterCIDR":      strings.Join(cidrs, ","),
		"mode":             p.Config.Spec.Network.Proxy,
	}
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	cluster := object{"certificate-authority": account + "ca.crt", "server": p.ProxyURL()}
	user := object{"tokenFile": account + "token"}
	context := object{"cluster": "default", "namespace": "default", "user": "default"}
	kubeconfig := object{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": "default",
		"clusters":        list{object{"name": "default", "cluster": cluster}},
		"users":           list{object{"name": "default", "user": user}},
		"contexts":        list{object{"name": "default", "context": context}},
	}
	settings := newPatch("v1", "ConfigMap", system, "kube-proxy")
	settings.set(plan.Origin{Field: "network"},
		object{"data": object{"config.conf": string(marshal(conf))}})
	settings.set(plan.Kiln, object{"data": object{"kubeconfig.conf": string(marshal(kubeconfig))}})
	daemons := newPatch("apps/v1", "DaemonSet", system, "kube-proxy")
	for _, step := range p.ImageSteps(target.KubeProxy) {
		daemons.set(step.From, podTemplate(object{"name": "kube-proxy", "image": step.Ref}))
	}
	// One DaemonSet serves all machines, so it gets the proxy that is set for all of them.
	if env := variables(p.ProxyVariables(&p.Config.Spec.Machines.Proxy)); len(env) > 0 {
		daemons.set(plan.Origin{Field: "machines.proxy"},
			podTemplate(object{"name": "kube-proxy", "env": env}))
	}
	return []*Patch{settings, daemons}
}

// Sort puts objects into the order in which they can be applied: namespaces, then definitions of
// custom resources, then all others. Objects of the same rank keep their order.
func Sort(objects []Object) {
	slices.SortStableFunc(objects, func(a, b Object) int { return a.rank() - b.rank() })
}

// rank is the place of the object's kind in the order of Sort.
func (o *Object) rank() int {
	switch {
	case o.Kind == "Namespace" && strings.HasPrefix(o.Path, "/api/v1/"):
		return 0
	case o.Kind == customResource && strings.HasPrefix(o.Path, "/apis/apiextensions.k8s.io/"):
		return 1
	}
	return 2
}

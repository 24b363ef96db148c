package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// KernelDefaults are the kernel settings without which a kubelet with protectKernelDefaults does
// not start (Kubernetes 1.36, pkg/kubelet/cm, setupKernelTunables).
var KernelDefaults = map[string]string{
	"kernel.keys.root_maxbytes": "25000000",
	"kernel.keys.root_maxkeys":  "1000000",
	"kernel.panic":              "10",
	"kernel.panic_on_oops":      "1",
	"vm.overcommit_memory":      "1",
	"vm.panic_on_oom":           "0",
}

// ProtectKernelDefaults reports whether the kubelet of a machine does not start without
// KernelDefaults.
func (c *Cluster) ProtectKernelDefaults(m *Effective) bool {
	if set, ok := m.Kubelet["protectKernelDefaults"].(bool); ok {
		return set
	}
	return c.Spec.Security.Hardened()
}

// coreResources are what the API server stores of the core group, beside Secrets.
var coreResources = strings.Fields("configmaps endpoints events limitranges namespaces nodes " +
	"persistentvolumeclaims persistentvolumes pods podtemplates replicationcontrollers " +
	"resourcequotas serviceaccounts services")

// encryptedResources checks the names of resources.
func (v *checker) encryptedResources() {
	list := v.c.Spec.Security.EncryptedResources
	for i, name := range list {
		at := v.spec.Key("security").Key("encryptedResources").Index(i)
		switch first := slices.Index(list, name); {
		case name == "secrets":
			v.report(at, "Secrets are as encryption says; remove it")
		case first < i:
			v.report(at, "%s is already encryptedResources[%d]; remove one", quote(name), first)
		case !groupResource.MatchString(name):
			v.report(at, "%s is not a resource; write it like widgets.example.com, without "+
				"capital letters and *", quote(name))
		case !strings.Contains(name, ".") && !slices.Contains(coreResources, name):
			v.report(at, "%s is not a resource of the core group; write its group too, such as "+
				"deployments.apps", quote(name))
		}
	}
}

// metricsReaders checks the names of service accounts.
func (v *checker) metricsReaders() {
	list := v.c.Spec.ControlPlane.MetricsReaders
	for i, reader := range list {
		at := v.spec.Key("controlPlane").Key("metricsReaders").Index(i)
		namespace, name, ok := strings.Cut(reader, "/")
		switch first := slices.Index(list, reader); {
		case first < i:
			v.report(at, "%s is already metricsReaders[%d]; remove one", quote(reader), first)
		case !ok || len(validation.IsDNS1123Label(namespace)) > 0 ||
			len(validation.IsDNS1123Subdomain(name)) > 0:
			v.report(at, "%s is not a service account; write it like monitoring/prometheus",
				quote(reader))
		}
	}
}

// groupResource matches the plural name of a resource, and its group.
var groupResource = regexp.MustCompile(`^[a-z0-9]+(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// security checks the exempt namespaces, the encrypted resources, and the flags of the API server
// that contradict the profile.
func (v *checker) security() {
	at := v.spec.Key("security").Key("podSecurity").Key("exemptNamespaces")
	seen := map[string]int{}
	for i, name := range v.c.Spec.Security.PodSecurity.ExemptNamespaces {
		first, repeated := seen[name]
		switch {
		case name == "kube-system":
			v.report(at.Index(i), "kube-system is always exempt; remove it")
		case repeated:
			v.report(at.Index(i), "%s is already exemptNamespaces[%d]; remove one",
				quote(name), first)
		default:
			v.label(name, at.Index(i))
		}
		seen[name] = i
	}
	v.encryptedResources()
	v.metricsReaders()
	args := v.spec.Key("controlPlane").Key("apiServer").Key("extraArgs")
	v.authorization(args)
	if !v.c.Spec.Security.Hardened() {
		return
	}
	// The API server does not start with both (Kubernetes 1.36,
	// pkg/kubeapiserver/options/authentication.go).
	for i, a := range v.c.Spec.ControlPlane.APIServer.ExtraArgs {
		if strings.HasPrefix(a.Name, "oidc-") || a.Name == "anonymous-auth" {
			v.report(args.Index(i).Key("name"), "%s contradicts the authentication "+
				"configuration of security.profile cis; "+
				"patch that instead (kind AuthenticationConfiguration, name kube-apiserver), "+
				"or write security.profile: baseline", quote(a.Name))
		}
	}
}

// kernelDefaults checks that the sysctls of a machine do not keep its kubelet from starting.
func (v *checker) kernelDefaults(m settings) {
	if !v.c.ProtectKernelDefaults(&m.Effective) {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(KernelDefaults)) {
		want := KernelDefaults[key]
		for _, name := range []string{key, strings.ReplaceAll(key, ".", "/")} {
			if set, ok := m.Sysctls[name]; ok && set != want {
				v.reportKey(m, []string{"sysctls", name}, "with %s the kubelet does not start, "+
					"it wants %s; remove it, or set kubelet.protectKernelDefaults: false",
					quote(set), want)
			}
		}
	}
}

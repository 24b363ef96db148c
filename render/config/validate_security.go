package config

import (
	"maps"
	"slices"
	"strings"
)

// KernelDefaults are the kernel settings that a kubelet with protectKernelDefaults insists on:
// pkg/kubelet/cm, setupKernelTunables, read at 1.36.
var KernelDefaults = map[string]string{
	"kernel.keys.root_maxbytes": "25000000",
	"kernel.keys.root_maxkeys":  "1000000",
	"kernel.panic":              "10",
	"kernel.panic_on_oops":      "1",
	"vm.overcommit_memory":      "1",
	"vm.panic_on_oom":           "0",
}

// ProtectKernelDefaults says that a machine's kubelet does not start unless KernelDefaults hold.
func (c *Cluster) ProtectKernelDefaults(m *Effective) bool {
	if set, ok := m.Kubelet["protectKernelDefaults"].(bool); ok {
		return set
	}
	return c.Spec.Security.Hardened()
}

// security checks what the profile does not go together with.
func (v *checker) security() {
	at := v.spec.Key("security").Key("podSecurity").Key("exemptNamespaces")
	seen := map[string]int{}
	for i, name := range v.c.Spec.Security.PodSecurity.ExemptNamespaces {
		first, repeated := seen[name]
		switch {
		case name == "kube-system":
			v.report(at.Index(i), "kube-system is exempt always; remove it")
		case repeated:
			v.report(at.Index(i), "%s is already exemptNamespaces[%d]; remove one", quote(name), first)
		default:
			v.label(name, at.Index(i))
		}
		seen[name] = i
	}
	if !v.c.Spec.Security.Hardened() {
		return
	}
	// The API server refuses to start with both: pkg/kubeapiserver/options/authentication.go, read
	// at 1.36.
	for i, a := range v.c.Spec.ControlPlane.APIServer.ExtraArgs {
		if strings.HasPrefix(a.Name, "oidc-") || a.Name == "anonymous-auth" {
			here := v.spec.Key("controlPlane").Key("apiServer").Key("extraArgs").Index(i).Key("name")
			v.report(here, "%s cannot stand beside the authentication configuration of security.profile cis; patch that instead (kind AuthenticationConfiguration, name kube-apiserver), or write security.profile: baseline", quote(a.Name))
		}
	}
}

// kernelDefaults checks that a machine's own kernel settings are not those with which its kubelet
// would not start.
func (v *checker) kernelDefaults(m layered, said map[string]bool) {
	if !v.c.ProtectKernelDefaults(&m.Effective) {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(KernelDefaults)) {
		want := KernelDefaults[key]
		for _, name := range []string{key, strings.ReplaceAll(key, ".", "/")} {
			if set, ok := m.Sysctls[name]; ok && set != want {
				v.reportLayer(said, m, "sysctls", "%s: %s keeps the kubelet from starting, which wants %s; remove it, or set kubelet.protectKernelDefaults: false", name, quote(set), want)
			}
		}
	}
}

package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
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

// SysctlProfiles are the kernel settings of each sysctlProfile. Those of busy are KubeKey's
// (v3.1.12) that a kernel of today still has too low; memory maps are as many as Ubuntu 24.04 has.
// kube-proxy sets how many connections the kernel tracks, and systemd how many processes there are.
var SysctlProfiles = map[string]map[string]string{
	"busy": {
		"fs.aio-max-nr":                     "262144",
		"fs.inotify.max_user_instances":     "524288",
		"fs.inotify.max_user_watches":       "524288",
		"net.core.netdev_max_backlog":       "65535",
		"net.core.somaxconn":                "32768",
		"net.ipv4.neigh.default.gc_thresh1": "512",
		"net.ipv4.neigh.default.gc_thresh2": "2048",
		"net.ipv4.neigh.default.gc_thresh3": "4096",
		"net.ipv4.tcp_max_syn_backlog":      "1048576",
		"vm.max_map_count":                  "1048576",
	},
}

// ProtectKernelDefaults reports whether a machine's kubelet needs KernelDefaults to start.
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

func (v *checker) encryptedResources() {
	list := v.c.Spec.Security.EncryptedResources
	for i, name := range list {
		at := v.spec.Key("security").Key("encryptedResources").Index(i)
		switch {
		case name == "secrets":
			v.report(at, "Secrets are as encryption says; remove it")
		case v.repeated(list, i, "encryptedResources", at):
		case strings.HasSuffix(name, ".core"):
			v.report(at, "the core group has no name; write %s", strings.TrimSuffix(name, ".core"))
		case !groupResource.MatchString(name):
			v.report(at, "%s is not a resource; write it like widgets.example.com, without "+
				"capital letters and *", quote(name))
		case !strings.Contains(name, ".") && !slices.Contains(coreResources, name):
			hint := wording.Hint(name, coreResources)
			if hint == "" {
				hint = "; write its group too, such as deployments.apps"
			}
			v.report(at, "%s is not a resource of the core group%s", quote(name), hint)
		}
	}
}

func (v *checker) metricsReaders() {
	list := v.c.Spec.ControlPlane.MetricsReaders
	for i, reader := range list {
		at := v.spec.Key("controlPlane").Key("metricsReaders").Index(i)
		namespace, name, ok := strings.Cut(reader, "/")
		switch {
		case v.repeated(list, i, "metricsReaders", at):
		case !ok || len(validation.IsDNS1123Label(namespace)) > 0 ||
			len(validation.IsDNS1123Subdomain(name)) > 0:
			v.report(at, "%s is not a service account; write it like monitoring/prometheus",
				quote(reader))
		}
	}
}

var kmsEndpoint = regexp.MustCompile(
	`^unix://(/run|/var/run|/opt)(/[A-Za-z0-9][A-Za-z0-9._-]*){2,8}$`)

var groupResource = regexp.MustCompile(`^[a-z0-9]+(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// security checks security, the readers of metrics, and flags that contradict the profile.
func (v *checker) security() {
	at := v.spec.Key("security").Key("podSecurity").Key("exemptNamespaces")
	exempt := v.c.Spec.Security.PodSecurity.ExemptNamespaces
	for i, name := range exempt {
		switch {
		case name == "kube-system":
			v.report(at.Index(i), "kube-system is always exempt; remove it")
		case !v.repeated(exempt, i, "exemptNamespaces", at.Index(i)):
			v.label(name, at.Index(i))
		}
	}
	v.encryptedResources()
	kms, socket := v.c.Spec.Security.KMS, v.spec.Key("security").Key("kms").Key("endpoint")
	switch {
	case kms == nil:
	case strings.Contains(kms.Name, ":"):
		v.report(v.spec.Key("security").Key("kms").Key("name"), "%s has a colon, which the API "+
			"server does not take; write letters, digits and '-'", quote(kms.Name))
	case kmsEndpoint.MatchString(kms.Endpoint):
		if v.c.Mentions(kms.Folder()) == 1 {
			v.warn(WarnKMSPlugin, socket, "no file, unit or script here has the folder %s in it, "+
				"and API servers are not healthy without the plugin; bring it, as a static pod in "+
				"files perhaps", kms.Folder())
		}
	default:
		v.report(socket, "%s is not a socket in a "+
			"folder of its own below /run, /var/run or /opt; write it like "+
			"unix:///run/kms/vault.sock", quote(kms.Endpoint))
	}
	v.metricsReaders()
	args := v.spec.Key("controlPlane").Key("apiServer").Key("extraArgs")
	v.authorization(args)
	if !v.c.Spec.Security.Hardened() {
		return
	}
	// The API server does not start with both (Kubernetes 1.36,
	// pkg/kubeapiserver/options/authentication.go).
	for i, a := range v.c.Spec.ControlPlane.APIServer.ExtraArgs {
		switch {
		case a.Name == "anonymous-auth":
			v.report(args.Index(i).Key("name"), "anonymous-auth contradicts the authentication "+
				"configuration of security.profile cis, which answers requests without a "+
				"credential for nothing but /livez, /readyz and /healthz; remove the flag")
		case strings.HasPrefix(a.Name, "oidc-"):
			v.report(args.Index(i).Key("name"), "%s contradicts the authentication "+
				"configuration of security.profile cis; "+
				"patch that instead (kind AuthenticationConfiguration, name kube-apiserver), "+
				"or write security.profile: baseline", quote(a.Name))
		}
	}
}

func (v *checker) kernelDefaults(m settings) {
	if !v.c.ProtectKernelDefaults(m.Effective) {
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

// authorization checks the authorizers of the API server, flag authorization-mode. The CIS
// benchmark wants Node and RBAC, and refuses AlwaysAllow (1.2.6 to 1.2.8). AlwaysAllow is refused
// with every profile, because each pod and each kubelet has a credential. A client without a
// credential gets nothing from AlwaysAllow: with it the API server refuses anonymous requests, also
// with anonymous-auth=true (Kubernetes 1.34 to 1.37, pkg/kubeapiserver/options/authentication.go,
// ApplyAuthorization).
func (v *checker) authorization(at *yamltext.Location) {
	args := v.c.Spec.ControlPlane.APIServer.ExtraArgs
	last := -1 // a repeated flag adds to the list, and the last entry is a place as good as any
	var modes []string
	for i, a := range args {
		if a.Name == "authorization-mode" {
			modes, last = append(modes, strings.Split(a.Value, ",")...), i
		}
	}
	if last < 0 {
		return
	}
	at = at.Index(last).Key("value")
	has := func(mode string) bool { // one in other letters has a problem of its own
		return slices.ContainsFunc(modes, func(m string) bool { return strings.EqualFold(m, mode) })
	}
	missing := missingOf(has, "Node", "RBAC")
	right := sound(modes)
	if strings.Join(modes, ",") != args[last].Value {
		right = "one such flag, with " + right
	}
	others := has("ABAC") || has("Webhook") // may allow what these two would
	switch {
	case has("AlwaysAllow"):
		v.report(at, "AlwaysAllow lets every client with any credential do everything; write %s",
			right)
	case missing != "" && v.c.Spec.Security.Hardened():
		v.report(at, "%s leaves out %s, which security.profile cis needs; write %s",
			quote(args[last].Value), missing, right)
	case !has("RBAC") && !others:
		v.report(at, "%s leaves out RBAC, and nothing would allow what controllers do; write %s",
			quote(args[last].Value), right)
	}
	for i, mode := range modes {
		if mode != "" && slices.Contains(modes[:i], mode) {
			v.report(at, "names %s twice, and the API server exits with that; write %s", mode,
				right)
			return
		}
	}
}

// missingOf returns the names that has does not have, with and between them.
func missingOf(has func(string) bool, names ...string) string {
	return strings.Join(slices.DeleteFunc(names, has), " and ")
}

// sound returns authorizers without AlwaysAllow, each once, behind Node and RBAC.
func sound(modes []string) string {
	list := []string{"Node", "RBAC"}
	for _, mode := range modes {
		known := func(m string) bool { return strings.EqualFold(m, mode) }
		if mode != "" && mode != "AlwaysAllow" && !slices.ContainsFunc(list, known) {
			list = append(list, mode)
		}
	}
	return strings.Join(list, ",")
}

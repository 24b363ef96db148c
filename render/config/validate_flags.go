package config

import (
	"path"
	"regexp"
	"strings"

	"kiln/render/yamlpath"
)

// Flags that kiln owns, as patterns: what they say follows from other fields or from where the
// documents put things.
var (
	ownAPIServerFlags = []string{
		"advertise-address", "bind-address", "client-ca-file", "encryption-provider-config*", "etcd-*", "kubelet-client-*", "proxy-client-*", "requestheader-*",
		"secure-port", "service-account-*key-file", "service-cluster-ip-range", "tls-cert-file", "tls-private-key-file",
	}
	ownControllerManagerFlags = []string{
		"authentication-kubeconfig", "authorization-kubeconfig", "bind-address", "client-ca-file", "cluster-cidr", "cluster-signing-*",
		"kubeconfig", "root-ca-file", "secure-port", "service-account-private-key-file", "service-cluster-ip-range",
	}
	ownSchedulerFlags = []string{"authentication-kubeconfig", "authorization-kubeconfig", "bind-address", "kubeconfig", "secure-port"}
	ownEtcdFlags      = []string{
		"*cert*", "*key-file", "*trusted-ca-file", "advertise-client-urls", "data-dir", "initial-*", "listen-*", "name",
	}
	// The kubelet's flags win over its configuration, so those of owned fields are owned too.
	ownKubeletFlags = []string{
		"address", "anonymous-auth", "authentication-*", "authorization-*", "bootstrap-kubeconfig", "cert-dir", "cgroup-driver",
		"client-ca-file", "cluster-dns", "cluster-domain", "config", "config-dir", "container-runtime-endpoint", "healthz-*",
		"hostname-override", "kubeconfig", "node-ip", "node-labels", "pod-manifest-path", "port", "read-only-port",
		"register-with-taints", "root-dir", "rotate-certificates", "tls-cert-file", "tls-private-key-file",
	}
)

var (
	flagName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,126}[a-z0-9])?$`)
	featureGate = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*=(true|false)$`)
)

// args checks further flags of a component against the ones that kiln owns. Whether the component
// has a flag is not known here: that changes from release to release.
func (v *checker) args(args []Arg, owned []string, at *yamlpath.Location) {
	for i, a := range args {
		here := at.Index(i)
		switch {
		case flagName.MatchString(a.Name):
			if owns(owned, a.Name) {
				v.report(here.Key("name"), "%s is set by kiln; remove it, the value follows from other fields", quote(a.Name))
			}
		case strings.HasPrefix(a.Name, "-") && flagName.MatchString(strings.TrimLeft(a.Name, "-")):
			v.report(here.Key("name"), "%s begins with dashes; write %s", quote(a.Name), strings.TrimLeft(a.Name, "-"))
		case strings.Contains(a.Name, "="):
			v.report(here.Key("name"), "%s holds the value too; write that under value", quote(a.Name))
		default:
			v.report(here.Key("name"), "%s is not a flag; write lower-case letters, digits and '-', such as audit-log-maxage", quote(a.Name))
		}
		if hasControl(a.Value) {
			v.report(here.Key("value"), "has a line end or control character; a flag's value is one line")
			continue
		}
		if a.Name == "feature-gates" {
			for gate := range strings.SplitSeq(a.Value, ",") {
				if !featureGate.MatchString(gate) {
					v.report(here.Key("value"), "%s is not a feature gate; write them like NodeSwap=true,UserNamespacesSupport=false", quote(gate))
					break
				}
			}
		}
	}
}

// owns says whether a flag matches one of the patterns.
func owns(owned []string, name string) bool {
	for _, pattern := range owned {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

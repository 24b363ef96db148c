package config

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// Flags that kiln owns, as patterns: their values follow from other fields, or from the places of
// files in the documents.
var (
	ownAPIServerFlags = []string{
		"advertise-address", "bind-address", "client-ca-file", "encryption-provider-config*",
		"etcd-*", "kubelet-client-*", "proxy-client-*", "requestheader-*", "secure-port",
		"service-account-*key-file", "service-cluster-ip-range", "tls-cert-file",
		"tls-private-key-file",
	}
	ownControllerManagerFlags = []string{
		"authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file",
		"cluster-cidr", "cluster-signing-*", "kubeconfig", "root-ca-file", "secure-port",
		"service-account-private-key-file", "service-cluster-ip-range",
	}
	ownSchedulerFlags = []string{
		"authentication-kubeconfig", "authorization-kubeconfig", "kubeconfig", "secure-port",
	}
	ownEtcdFlags = []string{
		"*cert*", "*key-file", "*trusted-ca-file", "advertise-client-urls", "data-dir", "initial-*",
		"listen-*", "name",
	}
	// A flag of the kubelet overrides the field of its configuration, so the flags of owned fields
	// are owned too.
	ownKubeletFlags = []string{
		"address", "anonymous-auth", "authentication-*", "authorization-*", "bootstrap-kubeconfig",
		"cert-dir", "cgroup-driver", "client-ca-file", "cluster-dns", "cluster-domain", "config",
		"config-dir", "container-runtime-endpoint", "healthz-*", "hostname-override", "kubeconfig",
		"node-ip", "node-labels", "pod-manifest-path", "port", "read-only-port",
		"register-with-taints", "root-dir", "rotate-certificates", "tls-cert-file",
		"tls-private-key-file",
	}
)

// insteadOf says what to write in place of a flag that kiln owns, if a field has its value.
var insteadOf = map[string]string{
	"advertise-address":        "write nodes[].addresses",
	"cgroup-driver":            "remove it: containerd and the kubelet both use systemd's",
	"cluster-cidr":             "write network.podSubnets",
	"cluster-dns":              "write network.serviceSubnets, from which it follows",
	"cluster-domain":           "write network.dnsDomain",
	"data-dir":                 "mount a disk at /var/lib/etcd instead",
	"etcd-servers":             "write controlPlane.etcd.external",
	"hostname-override":        "write the node's name",
	"node-ip":                  "write nodes[].addresses, or nodeAddress of a pool",
	"node-labels":              "write labels",
	"register-with-taints":     "write taints",
	"root-dir":                 "mount a disk at /var/lib/kubelet instead",
	"service-cluster-ip-range": "write network.serviceSubnets",
}

// flagName matches the name of a flag.
var flagName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,126}[a-z0-9])?$`)

// args checks the further flags of a component against the owned ones. Method knownFlags checks
// whether the component of that minor has them.
func (v *checker) args(args []Arg, owned []string, at *yamltext.Location) {
	for i, a := range args {
		here := at.Index(i)
		v.argName(a.Name, owned, here.Key("name"))
		if hasControl(a.Value) {
			v.report(here.Key("value"), "has a line end or control character; "+
				"a flag's value is one line")
		}
	}
}

// argName checks the name of a flag.
func (v *checker) argName(name string, owned []string, at *yamltext.Location) {
	bare := strings.TrimLeft(name, "-")
	switch {
	case flagName.MatchString(name):
		if owns(owned, name) {
			v.report(at, "%s is set by kiln; %s", quote(name), cmp.Or(insteadOf[name],
				"remove it: the programs and the checks of the machine rely on its value, and no "+
					"field changes it"))
		}
	case strings.HasPrefix(name, "-") && flagName.MatchString(bare):
		v.report(at, "%s begins with dashes; write %s", quote(name), bare)
	case strings.Contains(name, "="):
		v.report(at, "%s holds the value too; write that under value", quote(name))
	default:
		v.report(at, "%s is not a flag; write lower-case letters, digits and '-', "+
			"such as audit-log-maxage", quote(name))
	}
}

// owns reports whether a flag matches one of the patterns.
func owns(owned []string, name string) bool {
	for _, pattern := range owned {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

package config

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/text/yamltext"
)

// ownFlags are the flags that kiln owns, as patterns: their values follow from other fields, or
// from the places of files in the documents. A flag of the kubelet overrides the field of its
// configuration, so the flags of owned fields are owned too.
var ownFlags = map[string][]string{
	flags.APIServer: {
		"advertise-address", "bind-address", "client-ca-file", "encryption-provider-config",
		"etcd-*file", "etcd-servers", "kubelet-client-*", "proxy-client-*", "requestheader-*",
		"secure-port", "service-account-*key-file", "service-cluster-ip-range", "tls-cert-file",
		"tls-private-key-file",
	},
	flags.ControllerManager: {
		"authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file",
		"cluster-cidr", "cluster-signing-*", "kubeconfig", "node-cidr-mask-size*",
		"root-ca-file", "secure-port",
		"service-account-private-key-file", "service-cluster-ip-range",
	},
	flags.Scheduler: {
		"authentication-kubeconfig", "authorization-kubeconfig", "kubeconfig", "secure-port",
	},
	flags.Etcd: {
		"*cert*", "*key-file", "*trusted-ca-file", "advertise-client-urls", "data-dir",
		"experimental-compact-hash-check-enabled", "experimental-initial-corrupt-check",
		"initial-advertise-peer-urls", "initial-cluster*", "listen-client-*", "listen-peer-*",
		"name",
	},
	flags.Kubelet: {
		"address", "anonymous-auth", "authentication-*", "authorization-*", "bootstrap-kubeconfig",
		"cert-dir", "cgroup-driver", "client-ca-file", "cluster-dns", "cluster-domain", "config",
		"config-dir", "container-runtime-endpoint", "healthz-*", "hostname-override", "kubeconfig",
		"node-ip", "node-labels", "pod-manifest-path", "port", "read-only-port",
		"register-with-taints", "root-dir", "rotate-certificates", "tls-cert-file",
		"tls-private-key-file",
	},
}

// insteadOf says what to write in place of a flag that kiln owns, if a field has its value.
var insteadOf = map[string]string{
	"advertise-address":        "write nodes[].addresses",
	"cgroup-driver":            "remove it: containerd and the kubelet both use systemd's",
	"cluster-cidr":             "write network.podSubnets",
	"cluster-dns":              "write kubelet.clusterDNS",
	"cluster-domain":           "write network.dnsDomain",
	"cluster-signing-duration": "write certificates.lifetime",
	"config-dir": "put the files into " + KubeletDropIns + " with files; kiln takes their fields " +
		"for kubelet",
	"data-dir":                 "mount a disk at /var/lib/etcd instead",
	"etcd-servers":             "write controlPlane.etcd.external",
	"node-cidr-mask-size":      "write network.nodeMaskSizes",
	"node-cidr-mask-size-ipv4": "write network.nodeMaskSizes",
	"node-cidr-mask-size-ipv6": "write network.nodeMaskSizes",
	"hostname-override":        "write the node's name",
	"node-ip":                  "write nodes[].addresses, or nodeAddress of a pool",
	"node-labels":              "write labels",
	"register-with-taints":     "write taints",
	"root-dir":                 "mount a disk at /var/lib/kubelet instead",
	"secure-port": "remove it: the default is in probes, checks and addresses, and no field " +
		"changes it",
	"service-cluster-ip-range": "write network.serviceSubnets",
}

// reservedFor says why a flag of the patterns is reserved that kiln does not write.
var reservedFor = map[string]string{
	"bind-address":                 "probes and machines ask different addresses of it",
	"client-cert-allowed-hostname": "it would shut out clients that kiln gives certificates",
	"client-cert-file":             noProxy, "client-key-file": noProxy,
	"cluster-signing-kube-apiserver-client-cert-file": oneSigner,
	"cluster-signing-kube-apiserver-client-key-file":  oneSigner,
	"cluster-signing-kubelet-client-cert-file":        oneSigner,
	"cluster-signing-kubelet-client-key-file":         oneSigner,
	"cluster-signing-kubelet-serving-cert-file":       oneSigner,
	"cluster-signing-kubelet-serving-key-file":        oneSigner,
	"cluster-signing-legacy-unknown-cert-file":        oneSigner,
	"cluster-signing-legacy-unknown-key-file":         oneSigner,
	"discovery-cacert":                                noDiscovery,
	"discovery-cert":                                  noDiscovery,
	"discovery-key":                                   noDiscovery,
	"experimental-initial-corrupt-check":              ownChecks,
	"experimental-compact-hash-check-enabled":         ownChecks,
	"peer-cert-allowed-cn":                            ownMembers,
	"peer-cert-allowed-hostname":                      ownMembers,
	"peer-client-cert-file":                           "a member has one certificate, from kiln",
	"peer-client-key-file":                            "a member has one certificate, from kiln",
	"requestheader-uid-headers":                       "kiln writes the front proxy's headers",
	"self-signed-cert-validity":                       "etcd has its certificates from kiln",
}

const (
	noProxy     = "it is for a proxy of etcd, and no machine has one"
	ownChecks   = "kiln turns the check on by feature-gates, which excludes it"
	ownMembers  = "it would shut out members that kiln gives certificates"
	noDiscovery = "members find each other by initial-cluster, which kiln writes"
	oneSigner   = "kiln writes cluster-signing-cert-file, which excludes it"
)

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

func (v *checker) argName(name string, owned []string, at *yamltext.Location) {
	bare := strings.TrimLeft(name, "-")
	switch {
	case flagName.MatchString(name):
		if why := reservedFor[name]; owns(owned, name) && why != "" {
			v.report(at, "%s is reserved: %s; remove it", quote(name), why)
		} else if owns(owned, name) {
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

func owns(owned []string, name string) bool {
	for _, pattern := range owned {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// controlPlaneFlags checks the further flags of the control plane's programs, by themselves and
// against those that the programs of the cluster's minor have.
func (v *checker) controlPlaneFlags() {
	cp, at := &v.c.Spec.ControlPlane, v.spec.Key("controlPlane")
	for _, program := range []struct {
		name, key string
		args      []Arg
	}{
		{flags.APIServer, "apiServer", cp.APIServer.ExtraArgs},
		{flags.ControllerManager, "controllerManager", cp.ControllerManager.ExtraArgs},
		{flags.Scheduler, "scheduler", cp.Scheduler.ExtraArgs},
		{flags.Etcd, "etcd", cp.Etcd.ExtraArgs},
	} {
		owned, here := ownFlags[program.name], at.Key(program.key).Key("extraArgs")
		v.args(program.args, owned, here)
		if p, ok := flags.FindProgram(program.name, v.version.minor); ok {
			for _, f := range p.Check(writtenWell(program.args, owned), nil) {
				v.reportFlag(f, here.Index(f.Arg))
			}
		}
	}
}

// writtenWell returns flags for a check in which those are empty of which method args reports a
// problem already.
func writtenWell(args []Arg, owned []string) []flags.Arg {
	out := make([]flags.Arg, len(args))
	for i, a := range args {
		if flagName.MatchString(a.Name) && !owns(owned, a.Name) && !hasControl(a.Value) {
			out[i] = flags.Arg(a)
		}
	}
	return out
}

// reportFlag reports a flag or a feature gate, at its entry, with which a program would exit.
func (v *checker) reportFlag(f flags.Finding, at *yamltext.Location) {
	if f.Warning {
		return // the check of the finished machine warns
	}
	if f.Gate == "" {
		at = at.Key(map[bool]string{true: "value", false: "name"}[f.InValue])
	}
	v.report(at, "%s %s", quote(f.Word), f.Message)
}

// kubeletFlags checks the further flags and the feature gates of a machine's kubelet against those
// that a kubelet of its minor has. The tables may not have the minor of an old kubelet; then
// nothing is checked. A mistake that many machines share is reported once.
func (v *checker) kubeletFlags(m settings) {
	minor := v.c.KubeletMinor(m.Effective)
	kubelet, ok := flags.FindProgram(flags.Kubelet, minor)
	if !ok {
		return
	}
	gates := map[string]bool{}
	fields, _ := m.Kubelet["featureGates"].(map[string]any)
	for name, value := range fields {
		if on, isBool := value.(bool); isBool {
			gates[name] = on
		}
	}
	args := writtenWell(m.KubeletExtraArgs, ownFlags[flags.Kubelet])
	id := fmt.Sprint(minor, args, gates)
	found, known := v.kubeletFindings[id]
	if !known {
		found = kubelet.Check(args, gates)
		v.kubeletFindings[id] = found
	}
	for _, f := range found {
		path := fmt.Sprintf("%s.kubeletExtraArgs[%d]", m.Source["kubeletExtraArgs"], f.Arg)
		if f.Gate != "" {
			field := "kubelet.featureGates." + f.Gate
			path = m.Source[field] + "." + field
		}
		if id := path + " " + f.Word; !v.reported[id] {
			v.reported[id] = true
			v.reportFlag(f, locate(v.root, path))
		}
	}
}

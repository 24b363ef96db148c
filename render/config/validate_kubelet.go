package config

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/kube/kinds"
	"kiln.dev/kiln/render/text/yamltext"
)

// The kind of the fields below kubelet.
const kubeletAPI, kubeletKind = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"

// ownKubeletFields maps the fields of KubeletConfiguration that users may not set to the reason:
// where the value comes from, or what to write instead.
var ownKubeletFields = map[string]string{
	"address":                  "the kubelet listens on all addresses",
	"apiVersion":               "write only the fields",
	"authentication":           "the cluster's CA and the API server decide",
	"authorization":            "the API server decides",
	"cgroupDriver":             "kubelet and containerd both use systemd's",
	"clusterDomain":            "write network.dnsDomain",
	"containerRuntimeEndpoint": "it is containerd's socket",
	"healthzBindAddress":       "the first boot asks the kubelet for its health on loopback",
	"healthzPort":              "the first boot asks the kubelet for its health on 10248",
	"kind":                     "write only the fields",
	"port":                     "the API server reaches the kubelet on 10250",
	"readOnlyPort":             "it is closed",
	"registerWithTaints":       "write taints",
	"rotateCertificates":       "it follows from certificates.signing",
	"serverTLSBootstrap":       "write certificates.kubeletServing",
	"staticPodPath":            "it is /etc/kubernetes/manifests on machines with static pods",
	"tlsCertFile":              "the machine's certificate is in its document",
	"tlsPrivateKeyFile":        "the machine's key is in its document",
}

// harmfulFields maps fields of KubeletConfiguration to the value with which no machine joins.
var harmfulFields = map[string]struct {
	value bool
	why   string
}{
	"registerNode": {false, "the machine gets no Node, for which its first boot waits"},
	"runOnce":      {true, "the kubelet starts the static pods and exits"},
}

// kubeletProblem returns why a user may not set a field to a value, or "".
func kubeletProblem(key string, value any) string {
	if why, own := ownKubeletFields[key]; own {
		return fmt.Sprintf("is set by kiln; remove it (%s)", why)
	}
	if harm, harmful := harmfulFields[key]; harmful && value == harm.value {
		return fmt.Sprintf("with %t %s; remove it", harm.value, harm.why)
	}
	return ""
}

// kubelet checks fields of KubeletConfiguration against those that a kubelet of the cluster may
// have. A layer may be for machines with older kubelets, up to three minors
// (https://kubernetes.io/releases/version-skew-policy), so a field that one of them takes is left
// to the check of the finished machine. So are values that depend on each other.
func (v *checker) kubelet(fields map[string]any, at *yamltext.Location) {
	rest := make(map[string]any, len(fields))
	for _, key := range slices.Sorted(maps.Keys(fields)) { // drop-ins have one place for all
		value := fields[key]
		if problem := kubeletProblem(key, value); problem != "" {
			v.report(at.Key(key), "%s", problem)
		} else {
			rest[key] = value
		}
	}
	servers, _ := fields["clusterDNS"].([]any)
	for i, server := range servers {
		text, _ := server.(string)
		a, err := netip.ParseAddr(text)
		isIn := func(n netip.Prefix) bool { return n.Contains(a) }
		if err == nil && !slices.ContainsFunc(v.c.values.ServiceSubnets, isIn) &&
			v.c.Mentions(text) == 1 {
			v.warn(WarnDNSAddress, at.Key("clusterDNS").Index(i), "%s stands in no add-on, file, "+
				"unit or script, so that nothing may answer pods there", quote(text))
		}
	}
	for key, enforced := range map[string]string{
		"kubeReservedCgroup": "kube-reserved", "systemReservedCgroup": "system-reserved",
	} {
		name, _ := fields[key].(string)
		if slice := path.Base(name); name != "" && v.c.Mentions(enforced) > 0 &&
			slice != "system.slice" && v.c.Mentions(slice) == 1 {
			v.warn(WarnCgroup, at.Key(key), "no unit here is or names %s, and the kubelet exits "+
				"if it is not there; bring the unit, or remove %s from enforceNodeAllocatable",
				slice, enforced)
		}
	}
	if len(v.found) > maxDetailed {
		return // so many problems are not shown, and guesses at the right names take time
	}
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		value := rest[key]
		for _, found := range v.misfits(map[string]any{key: value}) {
			here := yamltext.Locate(v.root, at, found.Path)
			v.report(here, "%s%s", found.Message, v.quoting(found.Message, here))
		}
	}
}

// maxDetailed is the number of problems after which fields of kubelets are no longer checked.
const maxDetailed = 2 * maxProblems

// misfits returns what is wrong with fields for a kubelet of the cluster's minor, and nothing if
// they fit an older one.
func (v *checker) misfits(fields map[string]any) (first []kinds.Finding) {
	for older := range target.KubeletSkew + 1 {
		found := kinds.New(v.version.minor-older).
			Fields(kubeletAPI, kubeletKind, fields)
		if len(found) == 0 {
			return nil
		}
		if older == 0 {
			first = found
		}
	}
	return first
}

// quoting returns the end of a message about a scalar that lacks quotes, or has them where a number
// or boolean belongs.
func (v *checker) quoting(message string, at *yamltext.Location) string {
	n, _ := yamltext.Find(v.root, at)
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	bare := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
	switch isString := bare.ShortTag() == "!!str"; {
	case strings.Contains(at.String(), ".evictionSoftGracePeriod."):
		return "; write a duration, such as 90s"
	case strings.Contains(at.String(), ".eviction") &&
		strings.HasPrefix(message, "want a string, "):
		return "; write a percentage or an amount with its unit, such as \"10%\" or \"100Mi\""
	case strings.Contains(at.String(), "Reserved.") &&
		strings.HasPrefix(message, "want a string, "):
		return "; write an amount with its unit, such as 500m or 512Mi"
	case n.Style == 0 && !isString && strings.HasPrefix(message, "want a string, "):
		return fmt.Sprintf("; write %q", n.Value)
	case n.Style != 0 && !isString && strings.HasSuffix(message, ", got a string"):
		return "; write it without quotes"
	}
	return ""
}

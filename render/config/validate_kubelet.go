package config

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/kube/kinds"
	"kiln.dev/kiln/render/text/wording"
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

// quoting returns the end of a message about a scalar that lacks quotes, or has them.
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

// defaultMaxPods is how many pods a kubelet runs by default (Kubernetes 1.36,
// pkg/kubelet/apis/config/v1beta1/defaults.go).
const defaultMaxPods = 110

// maxPods checks that a machine has an address for each of its pods. Pods on the host's network
// need none, so all addresses of a part count. A CNI of the user may have addresses of its own.
func (v *checker) maxPods(m settings) {
	if v.c.Spec.Network.CNI == "none" {
		return
	}
	pods, isSet := int64(defaultMaxPods), false
	if set, ok := m.Kubelet["maxPods"].(int64); ok && set > 0 {
		pods, isSet = set, true
	}
	for i, p := range v.pods {
		if !p.IsValid() {
			continue
		}
		bits := p.Addr().BitLen() - v.c.Spec.Network.NodeMaskSizes[i]
		if holdsPods(bits, pods) {
			continue
		}
		const remedy = "the others would wait for ever; write kubelet.maxPods: %d, " +
			"or larger parts with network.nodeMaskSizes"
		if isSet {
			keys := []string{"kubelet", "maxPods"}
			v.reportKey(m, keys, "%d pods do not fit into a part of /%d of "+
				"network.podSubnets[%d], which has %d addresses: "+remedy,
				pods, v.c.Spec.Network.NodeMaskSizes[i], i, 1<<bits, 1<<bits-4)
			continue
		}
		v.reportOnce(v.spec.Key("network").Key("nodeMaskSizes").Index(i), "a part of /%d has %d "+
			"addresses, and a kubelet runs up to %d pods: "+remedy,
			v.c.Spec.Network.NodeMaskSizes[i], 1<<bits, pods, 1<<bits-4)
	}
}

// holdsPods reports whether a part of a pod subnet has an address for each pod. bits is the number
// of bits in which the addresses of the part differ.
func holdsPods(bits int, pods int64) bool {
	const most = 16 // more are enough for any number of pods
	return bits >= most || pods <= 1<<bits
}

type reservation struct {
	least, most resource.Quantity
	example     string
}

// reservations are by resource. A machine with Kubernetes has at least 1 CPU and 1 GiB of memory,
// and nobody means to reserve more than the most. Less than the least is a number without its unit.
var reservations = map[string]reservation{
	"cpu":    {resource.MustParse("1m"), resource.MustParse("64"), "500m"},
	"memory": {resource.MustParse("1Mi"), resource.MustParse("1Ti"), "512Mi"},
	"ephemeral-storage": {
		resource.MustParse("1Mi"), resource.MustParse("100Ti"), "1Gi",
	},
}

// reserved checks the reservations of a machine's kubelet: their units.
func (v *checker) reserved(m settings) {
	for _, field := range []string{"kubeReserved", "systemReserved"} {
		values, _ := m.Kubelet[field].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			text, _ := values[name].(string)
			keys := []string{"kubelet", field, name}
			if !wording.QuantityInBounds(text) {
				v.reportKey(m, keys, "%s has too many digits or too large an exponent; "+
					"write a quantity such as 500m or 2Gi", quote(text))
				continue
			}
			q, err := wording.ParseQuantity(text)
			limits, known := reservations[name]
			if err != nil || !known || q.Sign() <= 0 {
				continue // the check of the finished machine reports it
			}
			switch {
			case q.Cmp(limits.least) < 0:
				v.reportKey(m, keys, "%s is nearly nothing; write a unit, such as %s",
					quote(text), limits.example)
			case q.Cmp(limits.most) > 0:
				v.reportKey(m, keys, "%s is more than a machine has; write a unit, such as %s",
					quote(text), limits.example)
			}
		}
	}
}

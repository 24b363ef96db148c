package config

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"kiln.dev/kiln/render/text/wording"
)

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

// reservation is the least and the most of a resource that a person means to reserve.
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

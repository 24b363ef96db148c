package kinds

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"kiln/render/suggest"
)

// defaultMinimumAge is the default of imageMinimumGCAge.
const defaultMinimumAge = 2 * time.Minute

// kubeletDocuments are the rules of a kubelet's configuration that concern several fields. Each
// knows the defaults of the fields that it compares.
var kubeletDocuments = map[string][]document{"KubeletConfiguration": {
	ofKubelet(imageGC),
	ofKubelet(imageAges),
	ofKubelet(parallelPulls),
	ofKubelet(shutdown),
	ofKubelet(allocatable),
	ofKubelet(reservedCPUs),
	ofKubelet(staticCPUs),
	ofKubelet(staticMemory),
	ofKubelet(softEvictions),
	ofKubelet(systemCgroups),
	ofKubelet(logQuery),
}}

// ofKubelet is the rule of a document by one of its decoded form.
func ofKubelet(check func(f *fault, c *kubelet.KubeletConfiguration)) document {
	return func(f *fault, data []byte) {
		if c, ok := decode[kubelet.KubeletConfiguration](data); ok {
			check(f, c)
		}
	}
}

// or returns the value of a field, or its default.
func or[T any](v *T, byDefault T) T {
	if v == nil {
		return byDefault
	}
	return *v
}

func imageGC(f *fault, c *kubelet.KubeletConfiguration) {
	low, high := or(c.ImageGCLowThresholdPercent, 80), or(c.ImageGCHighThresholdPercent, 85)
	if low < high {
		return
	}
	at := "imageGCLowThresholdPercent"
	if c.ImageGCLowThresholdPercent == nil {
		at = "imageGCHighThresholdPercent"
	}
	f.key(at).report("the low threshold, %d, is not below the high one, %d", low, high)
}

func imageAges(f *fault, c *kubelet.KubeletConfiguration) {
	least, most := c.ImageMinimumGCAge.Duration, c.ImageMaximumGCAge.Duration
	if least < 0 && f.minor >= 36 {
		f.key("imageMinimumGCAge").report("%s is negative", least)
	}
	if least == 0 {
		least = defaultMinimumAge
	}
	if most > 0 && most <= least {
		f.key("imageMaximumGCAge").report("%s is not longer than imageMinimumGCAge, %s", most,
			least)
	}
}

func parallelPulls(f *fault, c *kubelet.KubeletConfiguration) {
	if or(c.SerializeImagePulls, false) && or(c.MaxParallelImagePulls, 1) > 1 {
		f.key("maxParallelImagePulls").report("%d has no sense with serializeImagePulls; set that "+
			"to false", *c.MaxParallelImagePulls)
	}
}

func shutdown(f *fault, c *kubelet.KubeletConfiguration) {
	all, critical := c.ShutdownGracePeriod.Duration, c.ShutdownGracePeriodCriticalPods.Duration
	if critical > all {
		f.key("shutdownGracePeriodCriticalPods").report("%s is longer than shutdownGracePeriod, %s",
			critical, all)
	}
	if len(c.ShutdownGracePeriodByPodPriority) > 0 && (all > 0 || critical > 0) {
		f.key("shutdownGracePeriodByPodPriority").report("excludes shutdownGracePeriod and " +
			"shutdownGracePeriodCriticalPods; keep one")
	}
}

// allocatable checks which limits the kubelet enforces, and that it knows the cgroups for it.
func allocatable(f *fault, c *kubelet.KubeletConfiguration) {
	cgroups := map[string]string{
		"pods": "-", "none": "-",
		"system-reserved": c.SystemReservedCgroup, "kube-reserved": c.KubeReservedCgroup,
		"system-reserved-compressible": c.SystemReservedCgroup,
		"kube-reserved-compressible":   c.KubeReservedCgroup,
	}
	for i, name := range c.EnforceNodeAllocatable {
		at := f.key("enforceNodeAllocatable").index(i)
		kind, _ := strings.CutSuffix(name, "-compressible")
		cgroup, known := cgroups[name]
		switch {
		case !known:
			var names []string
			for n := range cgroups {
				names = append(names, n)
			}
			slices.Sort(names)
			at.report("%s is not one of %s%s", show(name), strings.Join(names, ", "),
				suggest.Hint(name, names))
		case slices.Index(c.EnforceNodeAllocatable, name) < i:
			at.report("%s stands there twice", show(name))
		case name == "none" && len(c.EnforceNodeAllocatable) > 1:
			at.report("none stands alone")
		case cgroup == "":
			at.report("%s needs %s", name, map[string]string{
				"system-reserved": "systemReservedCgroup", "kube-reserved": "kubeReservedCgroup",
			}[kind])
		case name != "none" && !or(c.CgroupsPerQOS, true):
			at.report("%s needs cgroupsPerQOS", name)
		case kind != name && slices.Contains(c.EnforceNodeAllocatable, kind):
			at.report("%s excludes %s", name, kind)
		}
	}
	if c.EnforceNodeAllocatable == nil && !or(c.CgroupsPerQOS, true) {
		f.key("cgroupsPerQOS").report("false needs enforceNodeAllocatable without pods, " +
			"which is its default")
	}
}

func reservedCPUs(f *fault, c *kubelet.KubeletConfiguration) {
	if c.ReservedSystemCPUs != "" && (c.SystemReservedCgroup != "" || c.KubeReservedCgroup != "") {
		f.key("reservedSystemCPUs").report("excludes systemReservedCgroup and kubeReservedCgroup")
	}
	type limit struct {
		node     int32
		resource string
	}
	seen := map[limit]bool{}
	for i, m := range c.ReservedMemory {
		for name, q := range m.Limits {
			at := f.key("reservedMemory").index(i).key("limits", string(name))
			is := limit{m.NumaNode, string(name)}
			switch {
			case name != "memory" && !strings.HasPrefix(string(name), "hugepages-"):
				at.report("only memory and hugepages-SIZE can be reserved")
			case q.IsZero():
				at.report("0 reserves nothing")
			case seen[is]:
				at.report("NUMA node %d has this already", m.NumaNode)
			}
			seen[is] = true
		}
	}
}

// staticCPUs: the static policy gives whole CPUs to containers and needs some that it never gives.
func staticCPUs(f *fault, c *kubelet.KubeletConfiguration) {
	if c.CPUManagerPolicy != "static" || c.ReservedSystemCPUs != "" {
		return
	}
	var sum resource.Quantity
	for _, reserved := range []map[string]string{c.SystemReserved, c.KubeReserved} {
		if q, err := resource.ParseQuantity(reserved["cpu"]); err == nil {
			sum.Add(q)
		}
	}
	if sum.Sign() <= 0 {
		f.key("cpuManagerPolicy").report("static needs a CPU for the system; set cpu in " +
			"systemReserved or kubeReserved, or reservedSystemCPUs")
	}
}

// staticMemory: the static policy has to know what each NUMA node keeps for the system. The kubelet
// always keeps some: evictionHard.
func staticMemory(f *fault, c *kubelet.KubeletConfiguration) {
	if c.MemoryManagerPolicy == "Static" && len(c.ReservedMemory) == 0 {
		f.key("memoryManagerPolicy").report("Static needs reservedMemory")
	}
}

func softEvictions(f *fault, c *kubelet.KubeletConfiguration) {
	for signal, value := range c.EvictionSoft {
		_, ok := c.EvictionSoftGracePeriod[signal]
		if !ok && value != "0%" && value != "100%" {
			f.key("evictionSoft", signal).report("needs evictionSoftGracePeriod.%s", signal)
		}
	}
}

func systemCgroups(f *fault, c *kubelet.KubeletConfiguration) {
	if c.SystemCgroups != "" && c.CgroupRoot == "" {
		f.key("systemCgroups").report("needs cgroupRoot")
	}
}

func logQuery(f *fault, c *kubelet.KubeletConfiguration) {
	if or(c.EnableSystemLogQuery, false) && !or(c.EnableSystemLogHandler, true) {
		f.key("enableSystemLogQuery").report("needs enableSystemLogHandler")
	}
}

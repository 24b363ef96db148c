package kinds

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/node/util/sysctl"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"kiln.dev/kiln/render/text/wording"
)

const defaultMinimumAge = 2 * time.Minute

// kubeletDocuments are the rules of several fields, each with their defaults.
var kubeletDocuments = map[string][]Document{"KubeletConfiguration": {
	ofKubelet(imageGC),
	ofKubelet(imageAges),
	ofKubelet(parallelPulls),
	ofKubelet(shutdown),
	ofKubelet(allocatable),
	ofKubelet(reservedCPUs),
	ofKubelet(reservedMemory),
	ofKubelet(staticCPUs),
	ofKubelet(staticMemory),
	ofKubelet(managerOptions),
	ofKubelet(unsafeSysctls),
	ofKubelet(softEvictions),
	ofKubelet(systemCgroups),
	ofKubelet(logQuery),
	ofKubelet(http2Suites),
	gatedSettings,
}}

// gatedSettings checks fields that a kubelet takes with a feature gate alone, which is off in some
// minors (pkg/kubelet/apis/config/validation/validation.go of 1.34 to 1.37).
func gatedSettings(f *Fault, data []byte) {
	settings, _ := Decode[map[string]any](data)
	gates, _ := (*settings)["featureGates"].(map[string]any)
	for _, field := range []struct {
		key, gate string
		on        int    // the first minor in which the gate is on by default
		free      string // the value that needs no gate, "" if each needs it
	}{
		{"cpuCFSQuotaPeriod", "CustomCPUCFSQuotaPeriod", 36, "100ms"},
		{"crashLoopBackOff", "KubeletCrashLoopBackOffMax", 35, ""},
		{"defaultPodSysctls", "DefaultPodSysctls", math.MaxInt, ""},
		{"imagePullCredentialsVerificationPolicy", "KubeletEnsureSecretPulledImages", 35, ""},
		{"memoryReservationPolicy", "MemoryQoS", 37, "None"},
		{"preloadedImagesVerificationAllowlist", "KubeletEnsureSecretPulledImages", 35, ""},
	} {
		value, set := (*settings)[field.key]
		on, said := gates[field.gate].(bool)
		if !said {
			on = f.Minor >= field.on
		}
		if set && !on && value != "" && value != any(field.free) {
			f.Key(field.key).Report("needs featureGates.%s: true", field.gate)
		}
	}
}

// ofKubelet is the rule of a document by one of its decoded form.
func ofKubelet(check func(f *Fault, c *kubelet.KubeletConfiguration)) Document {
	return func(f *Fault, data []byte) {
		if c, ok := Decode[kubelet.KubeletConfiguration](data); ok {
			check(f, c)
		}
	}
}

func or[T any](v *T, byDefault T) T {
	if v == nil {
		return byDefault
	}
	return *v
}

// http2Suites checks that clients of HTTP/2 find a cipher suite that it allows: without one, the
// server does not start (golang.org/x/net v0.51.0, http2/server.go: ConfigureServer).
func http2Suites(f *Fault, c *kubelet.KubeletConfiguration) {
	if len(c.TLSCipherSuites) > 0 && c.TLSMinVersion != "VersionTLS13" &&
		!hasHTTP2Suite(c.TLSCipherSuites) {
		f.Key("tlsCipherSuites").Report("has none that HTTP/2 needs, and the kubelet exits; add " +
			"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
	}
}

// hasHTTP2Suite reports whether a suite of TLS 1.2 that HTTP/2 needs is in a list.
func hasHTTP2Suite(list []string) bool {
	return slices.Contains(list, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256") ||
		slices.Contains(list, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
}

func imageGC(f *Fault, c *kubelet.KubeletConfiguration) {
	low, high := or(c.ImageGCLowThresholdPercent, 80), or(c.ImageGCHighThresholdPercent, 85)
	if low < high {
		return
	}
	at := "imageGCLowThresholdPercent"
	if c.ImageGCLowThresholdPercent == nil {
		at = "imageGCHighThresholdPercent"
	}
	f.Key(at).Report("the low threshold, %d, is not below the high one, %d", low, high)
}

func imageAges(f *Fault, c *kubelet.KubeletConfiguration) {
	least, most := c.ImageMinimumGCAge.Duration, c.ImageMaximumGCAge.Duration
	if least < 0 && f.Minor >= 36 {
		f.Key("imageMinimumGCAge").Report("%s is negative", least)
	}
	if least == 0 {
		least = defaultMinimumAge
	}
	if most > 0 && most <= least {
		f.Key("imageMaximumGCAge").Report("%s is not longer than imageMinimumGCAge, %s", most,
			least)
	}
}

func parallelPulls(f *Fault, c *kubelet.KubeletConfiguration) {
	if or(c.SerializeImagePulls, false) && or(c.MaxParallelImagePulls, 1) > 1 {
		f.Key("maxParallelImagePulls").Report("%d has no sense with serializeImagePulls; set that "+
			"to false", *c.MaxParallelImagePulls)
	}
}

func shutdown(f *Fault, c *kubelet.KubeletConfiguration) {
	all, critical := c.ShutdownGracePeriod.Duration, c.ShutdownGracePeriodCriticalPods.Duration
	if critical > all {
		f.Key("shutdownGracePeriodCriticalPods").Report("%s is longer than shutdownGracePeriod, %s",
			critical, all)
	}
	if len(c.ShutdownGracePeriodByPodPriority) > 0 && (all > 0 || critical > 0) {
		f.Key("shutdownGracePeriodByPodPriority").Report("excludes shutdownGracePeriod and " +
			"shutdownGracePeriodCriticalPods; keep one")
	}
}

func allocatable(f *Fault, c *kubelet.KubeletConfiguration) {
	cgroups := map[string]string{
		"pods": "-", "none": "-",
		"system-reserved": c.SystemReservedCgroup, "kube-reserved": c.KubeReservedCgroup,
		"system-reserved-compressible": c.SystemReservedCgroup,
		"kube-reserved-compressible":   c.KubeReservedCgroup,
	}
	for i, name := range c.EnforceNodeAllocatable {
		at := f.Key("enforceNodeAllocatable").Index(i)
		kind, _ := strings.CutSuffix(name, "-compressible")
		cgroup, known := cgroups[name]
		switch {
		case !known:
			var names []string
			for n := range cgroups {
				names = append(names, n)
			}
			slices.Sort(names)
			at.Report("%s is not one of %s%s", Show(name), strings.Join(names, ", "),
				wording.Hint(name, names))
		case slices.Index(c.EnforceNodeAllocatable, name) < i:
			at.Report("%s stands there twice", Show(name))
		case name == "none" && len(c.EnforceNodeAllocatable) > 1:
			at.Report("none stands alone")
		case cgroup == "":
			at.Report("%s needs %s", name, map[string]string{
				"system-reserved": "systemReservedCgroup", "kube-reserved": "kubeReservedCgroup",
			}[kind])
		case name != "none" && !or(c.CgroupsPerQOS, true):
			at.Report("%s needs cgroupsPerQOS", name)
		case kind != name && slices.Contains(c.EnforceNodeAllocatable, kind):
			at.Report("%s excludes %s", name, kind)
		}
	}
	if c.EnforceNodeAllocatable == nil && !or(c.CgroupsPerQOS, true) {
		f.Key("cgroupsPerQOS").Report("false needs enforceNodeAllocatable without pods, " +
			"which is its default")
	}
}

func reservedCPUs(f *Fault, c *kubelet.KubeletConfiguration) {
	if c.ReservedSystemCPUs != "" && (c.SystemReservedCgroup != "" || c.KubeReservedCgroup != "") {
		f.Key("reservedSystemCPUs").Report("excludes systemReservedCgroup and kubeReservedCgroup")
	}
}

func reservedMemory(f *Fault, c *kubelet.KubeletConfiguration) {
	type limit struct {
		node     int32
		resource string
	}
	seen := map[limit]bool{}
	for i, m := range c.ReservedMemory {
		for name, q := range m.Limits {
			at := f.Key("reservedMemory").Index(i).Key("limits", string(name))
			is := limit{m.NumaNode, string(name)}
			switch {
			case name != "memory" && !strings.HasPrefix(string(name), "hugepages-"):
				at.Report("only memory and hugepages-SIZE can be reserved")
			case q.IsZero():
				at.Report("0 reserves nothing")
			case seen[is]:
				at.Report("NUMA node %d has this already", m.NumaNode)
			}
			seen[is] = true
		}
	}
}

// staticCPUs: the static policy gives whole CPUs to containers and needs some that it never gives.
func staticCPUs(f *Fault, c *kubelet.KubeletConfiguration) {
	if c.CPUManagerPolicy != "static" || c.ReservedSystemCPUs != "" {
		return
	}
	var sum resource.Quantity
	for _, reserved := range []map[string]string{c.SystemReserved, c.KubeReserved} {
		if q, err := wording.ParseQuantity(reserved["cpu"]); err == nil {
			sum.Add(q)
		}
	}
	if sum.Sign() <= 0 {
		f.Key("cpuManagerPolicy").Report("static needs a CPU for the system; set cpu in " +
			"systemReserved or kubeReserved, or reservedSystemCPUs")
	}
}

// staticMemory: the static policy has to know what each NUMA node keeps for the system. The kubelet
// always keeps some: evictionHard.
func staticMemory(f *Fault, c *kubelet.KubeletConfiguration) {
	if c.MemoryManagerPolicy != "Static" {
		return
	}
	if len(c.ReservedMemory) == 0 {
		f.Key("memoryManagerPolicy").Report("Static needs reservedMemory")
		return
	}
	eviction, ok := c.EvictionHard["memory.available"]
	if !ok && (c.EvictionHard == nil || or(c.MergeDefaultEvictionSettings, false)) {
		eviction = "100Mi" // the default
	}
	if strings.HasSuffix(eviction, "%") {
		return // of the memory of a machine that is not known
	}
	var kept, reserved resource.Quantity
	for _, text := range []string{c.KubeReserved["memory"], c.SystemReserved["memory"], eviction} {
		if q, err := wording.ParseQuantity(text); err == nil {
			kept.Add(q)
		}
	}
	for _, m := range c.ReservedMemory {
		reserved.Add(m.Limits["memory"])
	}
	if !kept.Equal(reserved) {
		f.Key("reservedMemory").Report("memory of all NUMA nodes is %s, and the kubelet exits if "+
			"it is not kubeReserved, systemReserved and evictionHard together, %s; write that",
			reserved.String(), kept.String())
	}
}

// managerOption is an option of a policy of a manager of the kubelet. gate is the one that it
// needs and that is off by default.
type managerOption struct {
	number bool
	gate   string
}

// Options of policies (k8s.io/kubernetes 1.34 to 1.37, pkg/kubelet/cm, policy_options.go).
var (
	cpuOptions = map[string]managerOption{
		"align-by-socket":                  {gate: "CPUManagerPolicyAlphaOptions"},
		"distribute-cpus-across-cores":     {gate: "CPUManagerPolicyAlphaOptions"},
		"distribute-cpus-across-numa":      {},
		"full-pcpus-only":                  {},
		"prefer-align-cpus-by-uncorecache": {},
		"strict-cpu-reservation":           {},
	}
	topologyOptions = map[string]managerOption{
		"max-allowable-numa-nodes": {number: true}, "prefer-closest-numa-nodes": {},
	}
)

// managerOptions checks the options of the managers of CPUs and of topology. The kubelet exits with
// an option that it does not know, and with one of CPUs without the policy static.
func managerOptions(f *Fault, c *kubelet.KubeletConfiguration) {
	for _, m := range []struct {
		key   string
		given map[string]string
		known map[string]managerOption
	}{
		{"cpuManagerPolicyOptions", c.CPUManagerPolicyOptions, cpuOptions},
		{"topologyManagerPolicyOptions", c.TopologyManagerPolicyOptions, topologyOptions},
	} {
		for name, value := range m.given {
			at, names := f.Key(m.key, name), slices.Sorted(maps.Keys(m.known))
			option, known := m.known[name]
			_, wrong := strconv.ParseBool(value)
			want := "true or false"
			if option.number {
				var n int
				n, wrong = strconv.Atoi(value)
				want = "a number of 8 or more"
				if wrong == nil && n < 8 {
					wrong = strconv.ErrRange
				}
			}
			switch {
			case !known:
				at.Report("no option is called so%s", cmp.Or(wording.Hint(name, names),
					"; there are "+strings.Join(names, ", ")))
			case wrong != nil:
				at.Report("%s is not %s", Show(value), want)
			case option.gate != "" && !c.FeatureGates[option.gate]:
				at.Report("needs featureGates.%s: true", option.gate)
			}
		}
	}
	on := func(name string) bool {
		is, _ := strconv.ParseBool(c.CPUManagerPolicyOptions[name])
		return is
	}
	const cores = "distribute-cpus-across-cores"
	for _, other := range []string{"full-pcpus-only", "distribute-cpus-across-numa"} {
		if on(cores) && on(other) {
			f.Key("cpuManagerPolicyOptions", cores).Report("excludes %s; keep one of the two",
				other)
		}
	}
	if socket := "align-by-socket"; on(socket) &&
		c.TopologyManagerPolicy == kubelet.SingleNumaNodeTopologyManagerPolicy {
		f.Key("cpuManagerPolicyOptions", socket).Report("excludes topologyManagerPolicy: " +
			"single-numa-node; write another policy, or remove the option")
	}
	if len(c.CPUManagerPolicyOptions) > 0 && c.CPUManagerPolicy != "static" {
		f.Key("cpuManagerPolicyOptions").Report("needs cpuManagerPolicy: static")
	}
}

var sysctlPattern = regexp.MustCompile(
	`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$`)

func unsafeSysctls(f *Fault, c *kubelet.KubeletConfiguration) {
	for i, name := range c.AllowedUnsafeSysctls {
		namespace, _, _ := sysctl.GetNamespace(name)
		switch at := f.Key("allowedUnsafeSysctls").Index(i); {
		case !sysctlPattern.MatchString(name):
			at.Report("%s is not the name of a kernel setting, or its beginning and *", Show(name))
		case namespace == sysctl.UnknownNamespace:
			at.Report("a pod cannot have %s of its own, and the kubelet exits with it; write it "+
				"under sysctls, for the machine", Show(name))
		}
	}
}

func softEvictions(f *Fault, c *kubelet.KubeletConfiguration) {
	for signal, value := range c.EvictionSoft {
		_, ok := c.EvictionSoftGracePeriod[signal]
		if !ok && value != "0%" && value != "100%" {
			f.Key("evictionSoft", signal).Report("needs evictionSoftGracePeriod.%s", signal)
		}
	}
}

func systemCgroups(f *Fault, c *kubelet.KubeletConfiguration) {
	if c.SystemCgroups != "" && c.CgroupRoot == "" {
		f.Key("systemCgroups").Report("needs cgroupRoot")
	}
}

func logQuery(f *Fault, c *kubelet.KubeletConfiguration) {
	if or(c.EnableSystemLogQuery, false) && !or(c.EnableSystemLogHandler, true) {
		f.Key("enableSystemLogQuery").Report("needs enableSystemLogHandler")
	}
}

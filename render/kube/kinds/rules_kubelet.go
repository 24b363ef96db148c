package kinds

import (
	"crypto/tls"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"kiln.dev/kiln/render/text/wording"
)

// The rules of the kubelet are those that it starts by, read at 1.36.3 in k8s.io/kubernetes:
// ValidateKubeletConfiguration of pkg/kubelet/apis/config/validation, ParseThresholdConfig of
// pkg/kubelet/eviction, parseResourceList and InitializeTLS of cmd/kubelet/app, NewManager of
// pkg/kubelet/cm/cpumanager. Rules that hold only with or without a feature gate are not here.
// testdata/kinds/kubelet.yaml has values for each rule that one of them refuses and accepts.

var kubeletRules = inType("config/v1beta1.KubeletConfiguration ", map[string]Rule{
	"cgroupDriver": OneOf("cgroupfs", "systemd"),
	// Each part of the path is a slice (pkg/kubelet/cm/cgroup_manager_linux.go: ToSystemd).
	"cgroupRoot": unlike(`^/sys/|\.slice$`, " is a folder or a unit; write its name alone, "+
		"such as /pods for pods.slice"),
	"configMapAndSecretChangeDetectionStrategy": OneOf("Get", "Cache", "Watch"),
	"containerLogMaxFiles":                      AtLeast(2),
	"containerLogMaxSize":                       {Check: byteSize},
	"containerLogMaxWorkers":                    AtLeast(1),
	"containerLogMonitorInterval":               lasting(3*time.Second, math.MaxInt64),
	"cpuCFSQuotaPeriod":                         lasting(time.Millisecond, time.Second),
	"cpuManagerPolicy":                          OneOf("none", "static"),
	"eventBurst":                                NotNegative,
	"eventRecordQPS":                            NotNegative,
	"evictionHard":                              {Check: thresholds},
	"evictionMinimumReclaim":                    {Check: reclaims},
	"evictionSoft":                              {Check: thresholds},
	"evictionSoftGracePeriod":                   {Check: gracePeriods},
	"hairpinMode": OneOf("hairpin-veth", "none",
		"promiscuous-bridge"),
	"healthzBindAddress":          {Check: bindAddress},
	"healthzPort":                 Port,
	"imageGCHighThresholdPercent": Within(0, 100),
	"imageGCLowThresholdPercent":  Within(0, 100),
	"imageMaximumGCAge":           lasting(0, math.MaxInt64),
	"imageServiceEndpoint": unlike(`dockershim\.sock$`,
		" is of the dockershim, which Kubernetes has no more since 1.24; remove it"),
	"iptablesDropBit":                 Within(0, 31),
	"iptablesMasqueradeBit":           Within(0, 31),
	"kubeAPIBurst":                    NotNegative,
	"kubeAPIQPS":                      NotNegative,
	"kubeReserved":                    {Check: reserved},
	"maxOpenFiles":                    NotNegative,
	"maxParallelImagePulls":           AtLeast(1),
	"maxPods":                         NotNegative,
	"memoryManagerPolicy":             OneOf("None", "Static"),
	"nodeLeaseDurationSeconds":        NotNegative,
	"nodeStatusMaxImages":             AtLeast(-1),
	"oomScoreAdj":                     Within(-1000, 1000),
	"podLogsDir":                      {Check: cleanPath},
	"podPidsLimit":                    {Check: pidsLimit},
	"podsPerCore":                     NotNegative,
	"port":                            Port,
	"qosReserved":                     {Check: qosReserved},
	"readOnlyPort":                    Port,
	"registryBurst":                   NotNegative,
	"registryPullQPS":                 NotNegative,
	"reservedSystemCPUs":              {Check: cpuList},
	"runtimeRequestTimeout":           lasting(time.Second, math.MaxInt64),
	"shutdownGracePeriod":             lasting(time.Second, math.MaxInt64),
	"shutdownGracePeriodCriticalPods": lasting(time.Second, math.MaxInt64),
	"systemReserved":                  {Check: reserved},
	"tlsCipherSuites":                 {Check: cipherSuites},
	"tlsMinVersion": OneOf("VersionTLS10", "VersionTLS11", "VersionTLS12",
		"VersionTLS13"),
	"topologyManagerPolicy": OneOf("none", "best-effort", "restricted",
		"single-numa-node"),
	"topologyManagerScope": OneOf("container", "pod"),
	"imagePullCredentialsVerificationPolicy": OneOf("NeverVerify",
		"NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"),
	"memoryReservationPolicy": OneOf("None", "TieredReservation"),
	"memoryThrottlingFactor":  {Zero: true, Check: throttling},
}, map[string]Rule{
	"config/v1beta1.CrashLoopBackOffConfig maxContainerRestartPeriod": lasting(time.Second,
		5*time.Minute),
	"config/v1beta1.MemorySwapConfiguration swapBehavior": OneOf("NoSwap", "LimitedSwap"),
	"config/v1beta1.UserNamespaces idsPerPod":             {Zero: true, Check: idsPerPod},
	"config/v1beta1.KubeletAuthorization mode":            OneOf("AlwaysAllow", "Webhook"),
	"core/v1.Taint key": Matching(
		validation.IsQualifiedName),
	"core/v1.Taint value": Matching(
		validation.IsValidLabelValue),
	"core/v1.Taint effect":                               TaintEffect,
	"api/v1.LoggingConfiguration format":                 OneOf("text", "json"),
	"api/v1.LoggingConfiguration verbosity":              Within(0, math.MaxInt32),
	"api/v1.TracingConfiguration samplingRatePerMillion": Within(0, 1_000_000),
	"apiserver/v1beta1.TracingConfiguration samplingRatePerMillion": Within(0,
		1_000_000),
})

// inType returns rules of fields with the type that has them, and more rules beside them.
func inType(prefix string, ofFields, more map[string]Rule) map[string]Rule {
	out := map[string]Rule{}
	for field, r := range ofFields {
		out[prefix+field] = r
	}
	return Joined(out, more)
}

// lasting is the rule of a duration between two others. 0 stands for the default, or for never.
func lasting(least, most time.Duration) Rule {
	return Rule{Check: func(v any) string {
		s, _ := v.(string)
		d, _ := time.ParseDuration(s)
		switch {
		case d == 0 && least > 0 && most == math.MaxInt64, d >= least && d <= most:
			return ""
		case most == math.MaxInt64:
			return fmt.Sprintf("%s is shorter than %s", d, least)
		}
		return fmt.Sprintf("%s is not between %s and %s", d, least, most)
	}}
}

// each applies a rule to each value of a map, and returns what is wrong with the first by key.
func each(v any, check func(key, value string) string) string {
	m, _ := v.(map[string]any)
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		value, _ := m[k].(string)
		if message := check(k, value); message != "" {
			return k + ": " + message
		}
	}
	return ""
}

var reservable = []string{"cpu", "memory", "ephemeral-storage", "pid"}

func reserved(v any) string {
	return each(v, func(key, value string) string {
		if !slices.Contains(reservable, key) {
			return "cannot be reserved; write " + strings.Join(reservable, ", ")
		}
		return amount(value)
	})
}

func amount(value string) string {
	q, err := wording.ParseQuantity(value)
	switch {
	case err != nil:
		return Show(value) + " is not a quantity such as 500m or 2Gi"
	case q.Sign() < 0:
		return Show(value) + " is negative"
	}
	return ""
}

func byteSize(v any) string {
	s, _ := v.(string)
	q, err := wording.ParseQuantity(s)
	if err != nil {
		return Show(s) + " is not a size such as 10Mi"
	}
	if _, whole := q.AsInt64(); !whole {
		return Show(s) + " is not a whole number of bytes"
	}
	return ""
}

func qosReserved(v any) string {
	return each(v, func(key, value string) string {
		var n int
		var rest string
		read, _ := fmt.Sscanf(value, "%d%s", &n, &rest)
		switch {
		case key != "memory":
			return "only memory can be reserved"
		case read != 2 || rest != "%" || n < 0 || n > 100:
			return Show(value) + " is not a percentage between 0% and 100%"
		}
		return ""
	})
}

// olderNames are two suites beside those of Go: component-base/cli/flag/ciphersuites_flag.go.
var olderNames = []string{
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
}

func cipherSuites(v any) string {
	known := slices.Clone(olderNames)
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		known = append(known, s.Name)
	}
	all, _ := v.([]any)
	for _, e := range all {
		if message := OneOf(known...).Check(e); message != "" {
			s, _ := e.(string)
			return Show(s) + " is not a cipher suite of Go" + wording.Hint(s, known)
		}
	}
	return ""
}

func throttling(v any) string {
	n, isFloat := v.(float64)
	if whole, ok := v.(int64); ok {
		n, isFloat = float64(whole), true
	}
	if isFloat && (n <= 0 || n > 1) {
		return fmt.Sprintf("%v is not above 0 and at most 1", n)
	}
	return ""
}

// pidsLimit returns why a value is no limit of processes: the programs of a control plane, which
// are pods too, have some dozens of threads, and the kernel's own limit is PID_MAX_LIMIT.
func pidsLimit(v any) string {
	if n, ok := v.(int64); ok && (n < -1 || n > 0 && n < 64 || n > 4<<20) {
		return fmt.Sprintf("%d is not -1, or within 64 and %d", n, 4<<20)
	}
	return ""
}

func idsPerPod(v any) string {
	const unit = 65536
	if n, ok := v.(int64); ok && (n < unit || n%unit != 0 || n > math.MaxUint32) {
		return fmt.Sprintf("%d is not a multiple of %d below 2^32", n, unit)
	}
	return ""
}

func cleanPath(v any) string {
	s, _ := v.(string)
	ascii := !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
	if !path.IsAbs(s) || path.Clean(s) != s || !ascii {
		return Show(s) + " is not an absolute, clean path in ASCII"
	}
	return ""
}

// unlike is the rule of a string that must not match a pattern.
func unlike(pattern, message string) Rule {
	return Rule{Check: func(v any) string {
		if s, _ := v.(string); regexp.MustCompile(pattern).MatchString(s) {
			return Show(s) + message
		}
		return ""
	}}
}

func cpuList(v any) string {
	s, _ := v.(string)
	for part := range strings.SplitSeq(s, ",") {
		var from, to int
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		_, err := fmt.Sscanf(first+" "+last, "%d %d", &from, &to)
		if err != nil || fmt.Sprint(from) != first || fmt.Sprint(to) != last || from > to {
			return Show(s) + " is not a list of CPUs such as 0-3,8"
		}
	}
	return ""
}

// signals are what the kubelet watches to evict pods: pkg/kubelet/eviction/api/types.go.
var signals = []string{
	"allocatableMemory.available", "containerfs.available", "containerfs.inodesFree",
	"imagefs.available", "imagefs.inodesFree", "memory.available", "nodefs.available",
	"nodefs.inodesFree", "pid.available",
}

// eachSignal is each for a map whose keys are signals.
func eachSignal(v any, check func(signal, value string) string) string {
	return each(v, func(key, value string) string {
		if !slices.Contains(signals, key) {
			return "there is no such signal; write " + strings.Join(signals, ", ")
		}
		return check(key, value)
	})
}

func thresholds(v any) string {
	return eachSignal(v, func(signal, value string) string {
		if percent, ok, wrong := percentage(value); wrong != "" {
			return wrong
		} else if ok {
			if percent < 0 || percent > 100 {
				return Show(value) + " is not between 0% and 100%"
			}
			return ""
		}
		q, err := wording.ParseQuantity(value)
		if err != nil || q.Sign() <= 0 {
			return Show(value) + " is not a percentage, and not a quantity above 0 " +
				"such as 100Mi"
		}
		counted := strings.HasSuffix(signal, "inodesFree") || signal == "pid.available"
		if !counted && strings.Trim(value, "0123456789") == "" && q.Value() < 1<<20 {
			return Show(value) + " has no unit, so that it is nearly nothing; write 10% or 100Mi"
		}
		return ""
	})
}

func reclaims(v any) string {
	return eachSignal(v, func(_, value string) string {
		if percent, ok, wrong := percentage(value); wrong != "" {
			return wrong
		} else if ok {
			if percent <= 0 {
				return Show(value) + " is not above 0%"
			}
			return ""
		}
		return amount(value)
	})
}

// percentage returns the number before a percent sign, if there is one, and what is wrong with it.
func percentage(value string) (percent float64, ok bool, wrong string) {
	digits, ok := strings.CutSuffix(value, "%")
	if !ok {
		return 0, false, ""
	}
	percent, err := strconv.ParseFloat(strings.TrimRight(digits, "%"), 32)
	if err != nil {
		return 0, true, Show(value) + " is not a percentage"
	}
	return percent, true, ""
}

func gracePeriods(v any) string {
	return eachSignal(v, func(_, value string) string {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return Show(value) + " is not a duration such as 90s"
		}
		return ""
	})
}

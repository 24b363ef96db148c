package kinds

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/text/wording"
)

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

// thresholds returns what is wrong with the amounts that are to stay free.
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

// reclaims returns what is wrong with the amounts that an eviction is to free.
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

// percentage returns the number before a percent sign. ok reports whether there is a sign, and
// wrong says why the rest is no number.
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

// gracePeriods returns what is wrong with the times that a soft threshold waits.
func gracePeriods(v any) string {
	return eachSignal(v, func(_, value string) string {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return Show(value) + " is not a duration such as 90s"
		}
		return ""
	})
}

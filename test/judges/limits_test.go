package judges

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// related are numbers that a program holds against other flags; kiln has rules of its own for them
// (render/kube/flags/pairs.go).
var related = []string{
	"audit-log-truncate-max-batch-size", "audit-log-truncate-max-event-size",
	"audit-webhook-truncate-max-batch-size", "audit-webhook-truncate-max-event-size",
	"coordinated-leadership-lease-duration", "coordinated-leadership-renew-deadline",
	"coordinated-leadership-retry-period", "election-timeout", "heartbeat-interval",
	"image-gc-high-threshold", "image-gc-low-threshold", "kubernetes-service-node-port",
	"leader-elect-lease-duration", "leader-elect-renew-deadline",
	"leader-elect-retry-period",
}

// knownLimits returns the smallest and the largest number with which each program starts, by
// program and flag, and 0 where that is one more. No package exports them: they are found by
// trying, on the command lines of a golden control plane.
func knownLimits(processes []process) (known, error) {
	out := known{}
	for _, p := range processes {
		newProgram := programs[p.Name]
		if newProgram == nil || p.Name == "kube-proxy" {
			continue
		}
		optionsLock.Lock()
		program, err := newProgram()
		optionsLock.Unlock()
		if err != nil {
			return nil, err
		}
		program.flags.VisitAll(func(f *pflag.Flag) {
			n, ok := numbers[f.Value.Type()]
			if !ok || slices.Contains(related, f.Name) {
				return
			}
			accepts := func(i int64) bool {
				q := question{Name: f.Name, Value: n.format(i)}
				return len(p.without(f.Name).with(q)) == 0
			}
			good := slices.IndexFunc(tried, accepts)
			if good < 0 {
				return
			}
			var low, high, also string
			if !accepts(n.low) {
				low = n.format(edge(n.low, tried[good], accepts))
			}
			if !accepts(n.high) {
				high = n.format(edge(n.high, tried[good], accepts))
			}
			if low != "" && low[0] != '-' && low != n.format(0) && accepts(0) {
				also = n.format(0)
			}
			if low != "" || high != "" {
				out[row(p.Name, f.Name)] = row(low, high, also)
			}
		})
	}
	return out, nil
}

// tried are numbers of which a program accepts one, the most common first: units of the type, and
// for durations seconds and hours.
var tried = []int64{
	int64(10 * time.Hour), int64(10 * time.Second), int64(100 * time.Millisecond),
	10000, 1000, 100, 10, 1, 0,
}

// edge returns the number nearest to one that is not accepted that is, towards one that is.
func edge(bad, good int64, accepts func(int64) bool) int64 {
	for good-bad > 1 || bad-good > 1 {
		if middle := bad/2 + good/2 + (bad%2+good%2)/2; accepts(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good
}

// number is a type of flags that are numbers: those of its ends, and how one is written.
type number struct {
	low, high int64
	format    func(int64) string
}

var (
	whole = func(i int64) string { return strconv.FormatInt(i, 10) }
	// Fractions are tried in thousandths.
	fraction = func(i int64) string { return strconv.FormatFloat(float64(i)/1000, 'f', -1, 64) }
	span     = func(i int64) string { return time.Duration(i).String() }
)

// numbers are the types of flags that are numbers.
var numbers = map[string]number{
	"int":     {math.MinInt64 / 2, math.MaxInt64 / 2, whole},
	"int32":   {math.MinInt32, math.MaxInt32, whole},
	"int64":   {math.MinInt64 / 2, math.MaxInt64 / 2, whole},
	"uint":    {0, math.MaxInt64 / 2, whole},
	"uint32":  {0, math.MaxUint32, whole},
	"uint64":  {0, math.MaxInt64 / 2, whole},
	"float32": {-1e12, 1e12, fraction}, "float64": {-1e12, 1e12, fraction},
	"duration": {math.MinInt64 / 2, math.MaxInt64 / 2, span},
}

// refuseEmpty gives words another form where a program does not start without one.
func refuseEmpty(words known, processes []process) {
	for key, value := range words {
		list, isWord := strings.CutPrefix(value, "word\t")
		program, flag, _ := strings.Cut(key, "\t")
		at := slices.IndexFunc(processes, func(p process) bool { return p.Name == program })
		if isWord && at >= 0 && program != "kube-proxy" &&
			len(processes[at].without(flag).with(question{Name: flag})) > 0 {
			words[key] = row("one", list)
		}
	}
}

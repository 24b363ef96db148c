package flags

import (
	"math"
	"strconv"
	"time"
)

// bounds are the numbers with which a program starts: low to high, each as its flag writes it, ""
// for none, and also one more, such as 0 for a default. The unit is that of a message.
type bounds struct{ low, high, also, unit string }

// related are limits of flags that a program also holds against others, which pairs do: of these
// the table has none. Sources: go.etcd.io/etcd/server/v3 v3.6.8, embed/config.go; k8s.io/kubernetes
// v1.36.3, cmd/kube-apiserver/app/options/validation.go and
// pkg/kubelet/apis/config/validation/validation.go.
var related = map[string]bounds{
	"election-timeout":            {"1", "50000", "", " milliseconds"},
	"heartbeat-interval":          {"1", "10000", "", " milliseconds"},
	"audit-log-batch-buffer-size": {low: "1"}, "audit-log-batch-max-size": {low: "1"},
	"audit-webhook-batch-buffer-size": {low: "1"}, "audit-webhook-batch-max-size": {low: "1"},
	"kubernetes-service-node-port": {low: "0", high: "65535"},
	// With fewer bytes etcd starts, and does not take an object, or soon none.
	"max-request-bytes":       {low: "1048576"},
	"quota-backend-bytes":     {low: "67108864", also: "0", unit: " bytes"},
	"image-gc-high-threshold": {low: "0", high: "100"},
	"image-gc-low-threshold":  {low: "0", high: "100"},
	// A kubelet renews its Lease each 10 seconds, and would be taken for dead in between.
	"node-monitor-grace-period": {low: "11s"},
}

// limits returns what to write if a number lies outside of the limits of its flag, and "" if it
// does not. The value fits its type.
func (p Program) limits(flag, value string) (want string) {
	l, ok := p.knownLimits.at(flag, p.minor)
	if !ok {
		l = related[flag]
	}
	if l == (bounds{}) || l.also != "" && number(value) == number(l.also) {
		return ""
	}
	low, high := math.Inf(-1), math.Inf(1)
	if l.low != "" {
		low = number(l.low)
	}
	if l.high != "" {
		high = number(l.high)
	}
	// NaN is never within. The API server would start with it, but it sets nothing.
	if n := number(value); n >= low && n <= high {
		return ""
	}
	switch {
	case l.high == "":
		want = l.low + " or more"
	case l.low == "":
		want = l.high + " or less"
	default:
		want = l.low + " to " + l.high
	}
	want += l.unit
	if l.also != "" {
		want = l.also + ", or " + want
	}
	return want
}

// number returns the number in a value that is one, or the seconds of a duration.
func number(value string) float64 {
	if n, err := strconv.ParseInt(value, 0, 64); err == nil {
		return float64(n)
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		return n
	}
	d, _ := time.ParseDuration(value)
	return d.Seconds()
}

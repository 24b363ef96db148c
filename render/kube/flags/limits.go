package flags

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// limit is the smallest and the largest number with which a program starts. That of a duration
// counts seconds.
type limit struct {
	program   string
	flags     []string
	low, high float64
	want      string // what to write
}

// numberLimits are those that the programs check when they start. Sources: k8s.io/apiserver
// v0.36.3, pkg/server/options: server_run_options.go, audit.go; k8s.io/kubernetes v1.36.3,
// cmd/kube-apiserver/app/options/validation.go and pkg/controlplane/apiserver/options/options.go;
// go.etcd.io/etcd/server/v3 v3.6.8, embed/config.go.
var numberLimits = []limit{
	{
		APIServer, []string{
			"audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize",
			"max-mutating-requests-inflight", "max-requests-inflight", "min-request-timeout",
		}, 0, math.Inf(1), "0 or more",
	},
	{
		APIServer, []string{
			"livez-grace-period", "request-timeout", "shutdown-delay-duration",
			"shutdown-watch-termination-grace-period", "storage-initialization-timeout",
		}, 0, math.Inf(1), "0s or more",
	},
	{APIServer, []string{"apiserver-count"}, 1, math.Inf(1), "1 or more"},
	{APIServer, []string{"goaway-chance"}, 0, 0.02, "0 to 0.02"},
	{APIServer, []string{"kubernetes-service-node-port"}, 0, math.MaxUint16, "0 to 65535"},
	{
		Etcd, []string{"election-timeout"}, 1, 50000,
		"milliseconds from 1 to 50000, at least five times heartbeat-interval",
	},
	{Etcd, []string{"heartbeat-interval"}, 1, 10000, "milliseconds from 1 to 10000"},
	{Etcd, []string{"compact-hash-check-time"}, 1e-9, math.Inf(1), "a duration above 0s"},
}

// limits returns what to write if a number lies outside of the limits of its flag, and "" if it
// does not. The value fits its type.
func (p Program) limits(flag, value string) (want string) {
	for _, l := range numberLimits {
		if l.program != p.name || !slices.Contains(l.flags, flag) {
			continue
		}
		// NaN is never within. The API server would start with it, but it sets nothing.
		n := number(value)
		if within := n >= l.low && n <= l.high; !within {
			return l.want
		}
	}
	if flag == "service-node-port-range" && !isPortRange(value) {
		return "the lowest and the highest port such as 30000-32767, at most 65535"
	}
	return ""
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

// isPortRange reports whether a string is a range of ports: 30000-32767, 30000+2767, one port, or
// empty for the default (k8s.io/apimachinery v0.36.3, pkg/util/net/port_range.go).
func isPortRange(value string) bool {
	value = strings.TrimSpace(value)
	if value == "" {
		return true
	}
	at := strings.IndexAny(value, "-+")
	if at < 0 {
		port, err := strconv.Atoi(value)
		return err == nil && port <= math.MaxUint16
	}
	low, errLow := strconv.Atoi(value[:at])
	high, errHigh := strconv.Atoi(value[at+1:])
	if value[at] == '+' {
		high += low
	}
	return errLow == nil && errHigh == nil && low <= high && high <= math.MaxUint16
}

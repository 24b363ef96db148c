package flags

import (
	"slices"
	"strconv"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// pairs checks flags against each other, as the programs do when they start.
func (c *checker) pairs(args []Arg) {
	c.together(args)
	c.useless(args)
	c.versions(args)
	switch c.name {
	case APIServer:
		c.admission(args)
		c.sizes(args)
		c.nodePort(args)
		c.leases(args, "coordinated-leadership-", 1)
	case Etcd:
		c.election(args)
	case ControllerManager, Scheduler:
		if _, elects := c.last(args, "leader-elect", "true"); elects == "true" {
			c.leases(args, "leader-elect-", 1.2)
		}
	}
}

// last returns the last value of a flag and its index, or a default and -1.
func (c *checker) last(args []Arg, flag, value string) (int, string) {
	for i, a := range slices.Backward(args) {
		if c.normal(a.Name) == flag {
			return i, a.Value
		}
	}
	return -1, value
}

// admission reports admission plugins that are enabled and disabled (k8s.io/apiserver v0.36.3,
// pkg/server/options/admission.go: Validate).
func (c *checker) admission(args []Arg) {
	var enabled []string
	for _, a := range args {
		if c.normal(a.Name) == "enable-admission-plugins" {
			enabled = append(enabled, strings.Split(a.Value, ",")...)
		}
	}
	for i, a := range args {
		if c.normal(a.Name) != "disable-admission-plugins" {
			continue
		}
		for plugin := range strings.SplitSeq(a.Value, ",") {
			if plugin != "" && slices.Contains(enabled, plugin) {
				c.report(i, true, false, plugin, "is enabled and disabled, and %s exits with "+
					"that; remove it from one of the two flags", c)
			}
		}
	}
}

// companions are flags that a program takes only with another one: what in the value needs it, ""
// for any value, and the other with what must be in its value, "" for anything. Sources:
// k8s.io/kubernetes v1.36.3, pkg/kubeapiserver/options; k8s.io/apiserver v0.36.3,
// pkg/server/options/server_run_options.go; go.etcd.io/etcd/server/v3 v3.6.8, embed/config.go.
var companions = []struct{ program, flag, word, other, otherWord string }{
	{APIServer, "authorization-mode", "Webhook", "authorization-webhook-config-file", ""},
	{APIServer, "authorization-mode", "ABAC", "authorization-policy-file", ""},
	{APIServer, "authorization-webhook-config-file", "", "authorization-mode", "Webhook"},
	{APIServer, "authorization-policy-file", "", "authorization-mode", "ABAC"},
	{APIServer, "oidc-issuer-url", "", "oidc-client-id", ""},
	{APIServer, "oidc-client-id", "", "oidc-issuer-url", ""},
	{APIServer, "emulation-forward-compatible", "true", emulation, ""},
	{APIServer, "runtime-config-emulation-forward-compatible", "true", emulation, ""},
	{Etcd, "enable-log-rotation", "true", "log-outputs", ""},
	{Etcd, "discovery-token", "", "discovery-endpoints", ""},
}

// opposites are flags that a program does not take with another one, with any value or with this.
// Sources as above, and pkg/kubeapiserver/options/admission.go.
var opposites = []struct{ program, flag, word, other, todo string }{
	{APIServer, "admission-control", "", "enable-admission-plugins", oneOfTwo},
	{
		APIServer, "authorization-config", "", "authorization-mode",
		"take that away with a JSON patch of the Pod kube-apiserver",
	},
	{APIServer, "anonymous-auth", "", "authentication-config", oneOfTwo},
	{
		APIServer, "service-account-signing-endpoint", "", "service-account-signing-key-file",
		oneOfTwo,
	},
	{Etcd, "discovery", "", "initial-cluster", oneOfTwo},
	{Etcd, "discovery-srv", "", "initial-cluster", oneOfTwo},
	{Etcd, "discovery-endpoints", "", "initial-cluster", oneOfTwo},
	{
		Etcd, "tls-min-version", "TLS1.3", "cipher-suites",
		"write security.tlsMinVersion: VersionTLS13 in place of it",
	},
}

const oneOfTwo = "remove one of the two"

// together reports flags that need or exclude another one, and a URL that is not secure.
func (c *checker) together(args []Arg) {
	for _, p := range companions {
		i, value := c.last(args, p.flag, "")
		if on, err := strconv.ParseBool(value); err == nil && on {
			value = "true"
		}
		if i < 0 || p.program != c.name || value == "" ||
			p.word != "" && !slices.Contains(strings.Split(value, ","), p.word) {
			continue
		}
		j, other := c.last(args, p.other, "")
		switch {
		case p.otherWord != "" && !slices.Contains(strings.Split(other, ","), p.otherWord):
			c.report(i, true, false, value, "needs %s in --%s too, and %s exits without it",
				p.otherWord, p.other, c)
		case j < 0:
			c.report(i, true, false, value, "needs --%s too, and %s exits without it", p.other, c)
		}
	}
	for _, p := range opposites {
		i, value := c.last(args, p.flag, "")
		_, other := c.last(args, p.other, "")
		if p.program == c.name && other != "" && value != "" &&
			(p.word == "" || value == p.word) {
			c.report(i, false, false, p.flag, "excludes --%s, and %s exits with both; %s", p.other,
				c, p.todo)
		}
	}
	if i, url := c.last(args, "service-account-jwks-uri", ""); i >= 0 && url != "" &&
		!strings.HasPrefix(url, "https://") {
		c.report(i, true, false, url, "does not begin with https://, and %s exits with that", c)
	}
}

// useless reports values that a program takes, and with which nothing works.
func (c *checker) useless(args []Arg) {
	report := func(flag, message string, is func(value string) bool) {
		if i, value := c.last(args, flag, ""); i >= 0 && is(value) {
			c.report(i, true, false, value, "%s", message)
		}
	}
	zero := func(value string) bool { return strings.Trim(value, "0hmsun.") == "" }
	switch c.name {
	case APIServer:
		report("oidc-issuer-url", "is the issuer's document; write what is before /.well-known",
			func(value string) bool { return strings.Contains(value, "/.well-known/") })
		report("request-timeout", "ends each request at once; write 1m0s", zero)
		_, reads := c.last(args, "max-requests-inflight", "400")
		_, writes := c.last(args, "max-mutating-requests-inflight", "200")
		report("max-requests-inflight", "lets no request in, and neither does "+
			"--max-mutating-requests-inflight; kube-apiserver exits with both: remove one",
			func(value string) bool { return zero(reads) && zero(writes) })
	case ControllerManager:
		for _, a := range args {
			if name := c.normal(a.Name); strings.HasPrefix(name, "concurrent-") &&
				c.limits(name, a.Value) == "" {
				report(name, "makes a controller that does nothing; write 1 or more",
					func(value string) bool { return number(value) < 1 })
			}
		}
		report("controllers", "has no *, so that no other controller runs; write * before it",
			func(value string) bool {
				return value != "" && !slices.Contains(strings.Split(value, ","), "*")
			})
	case Etcd:
		report("max-txn-ops", "refuses each transaction; write 128", zero)
		report("force-new-cluster", "makes a cluster of this member alone at each start; remove it",
			func(value string) bool { return value == "true" })
		return
	}
	_, version := c.last(args, "tls-min-version", "")
	_, off := c.last(args, "disable-http2-serving", "false")
	if version != "VersionTLS13" && off != "true" {
		report("tls-cipher-suites", "has none that HTTP/2 needs, and the program exits; add "+
			"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", func(value string) bool {
			return value != "" && !strings.Contains(value, "_AES_128_GCM_SHA256") ||
				strings.Trim(value, " ,") == "TLS_AES_128_GCM_SHA256"
		})
	}
}

// versions reports versions that a program cannot behave as, or be compatible with: they are from
// three minors before its own (k8s.io/component-base v0.36.3, compatibility/version.go: Validate).
func (c *checker) versions(args []Arg) {
	newest := c.minor
	for _, flag := range []string{emulation, compatibility} {
		i, value := c.last(args, flag, "")
		_, text, _ := strings.Cut(value, "1.")
		minor, err := strconv.Atoi(text)
		if err == nil && (minor < c.minor-3 || minor > newest) {
			c.report(i, true, false, value, "is not from 1.%d to 1.%d, and %s exits with others; "+
				"write one of these", c.minor-3, newest, c)
		} else if err == nil {
			newest = minor
		}
	}
}

// sizes reports events of an audit log that do not fit into a batch (k8s.io/apiserver v0.36.3,
// pkg/server/options/audit.go: AuditBatchOptions.Validate).
func (c *checker) sizes(args []Arg) {
	for _, each := range [][2]string{
		{"audit-log", "audit-log-path"}, {"audit-webhook", "audit-webhook-config-file"},
	} {
		log := each[0]
		if _, path := c.last(args, each[1], ""); path == "" {
			continue
		}
		i, batchText := c.last(args, log+"-truncate-max-batch-size", "10485760")
		j, eventText := c.last(args, log+"-truncate-max-event-size", "102400")
		batch, errBatch := strconv.ParseInt(batchText, 0, 64)
		event, errEvent := strconv.ParseInt(eventText, 0, 64)
		switch {
		case errBatch != nil || errEvent != nil || event > 0 && batch >= event:
		case j >= 0:
			c.report(j, true, false, eventText, "is not 1 to --%s-truncate-max-batch-size, %s; "+
				"%s exits with that", log, batchText, c)
		default:
			c.report(i, true, false, batchText, "is below --%s-truncate-max-event-size, %s; "+
				"%s exits with that", log, eventText, c)
		}
	}
}

// nodePort reports a port for Service kubernetes outside of the ports that Services may have
// (k8s.io/kubernetes v1.36.3, cmd/kube-apiserver/app/options/validation.go).
func (c *checker) nodePort(args []Arg) {
	i, text := c.last(args, "kubernetes-service-node-port", "0")
	_, allowed := c.last(args, "service-node-port-range", "30000-32767")
	var ports utilnet.PortRange
	port, err := strconv.ParseInt(text, 0, 64)
	if err == nil && port > 0 && ports.Set(allowed) == nil && !ports.Contains(int(port)) {
		c.report(i, true, false, text, "is not among the ports of --service-node-port-range, %s; "+
			"%s exits with that", &ports, c)
	}
}

// election reports a heartbeat of etcd that is too long for the election
// (go.etcd.io/etcd/server/v3 v3.6.8, embed/config.go: Validate).
func (c *checker) election(args []Arg) {
	i, heartbeat := c.last(args, "heartbeat-interval", "100")
	j, election := c.last(args, "election-timeout", "1000")
	short, errShort := strconv.ParseInt(heartbeat, 0, 32)
	long, errLong := strconv.ParseInt(election, 0, 32)
	if errShort == nil && errLong == nil && short > 0 && long > 0 && 5*short > long {
		if i < 0 {
			c.report(j, true, false, election, "is less than five times --heartbeat-interval, "+
				"%d; %s exits with that: write %d or more", short, c, 5*short)
			return
		}
		c.report(i, true, false, heartbeat, "is more than a fifth of --election-timeout, %d; "+
			"%s exits with that: write --election-timeout=%d or more too", long, c, 5*short)
	}
}

// leases reports times of a leader election that do not fit each other: the deadline must be
// shorter than the lease, and longer than the period so many times (k8s.io/client-go v0.36.3,
// tools/leaderelection/leaderelection.go: NewLeaderElector; k8s.io/kubernetes v1.36.3,
// pkg/controlplane/apiserver/options/validation.go).
func (c *checker) leases(args []Arg, prefix string, times float64) {
	i, leaseText := c.last(args, prefix+"lease-duration", "15s")
	j, deadlineText := c.last(args, prefix+"renew-deadline", "10s")
	k, periodText := c.last(args, prefix+"retry-period", "2s")
	lease, errLease := time.ParseDuration(leaseText)
	deadline, errDeadline := time.ParseDuration(deadlineText)
	period, errPeriod := time.ParseDuration(periodText)
	least := time.Duration(times * float64(period))
	switch {
	case errLease != nil || errDeadline != nil || errPeriod != nil:
	case deadline >= lease && j >= 0:
		c.report(j, true, false, deadlineText, "is not below --%slease-duration, %s; "+
			"%s exits with that: write a longer lease too, or a shorter deadline",
			prefix, leaseText, c)
	case deadline >= lease:
		c.report(i, true, false, leaseText, "is not above --%srenew-deadline, %s; "+
			"%s exits with that: write a longer lease, or a shorter deadline too",
			prefix, deadlineText, c)
	case period <= 0 && times > 1: // of the elector
		c.report(k, true, false, periodText, "is not above 0s, and %s exits with that", c)
	case deadline <= least && k >= 0:
		c.report(k, true, false, periodText, "is too long for --%srenew-deadline, %s, which must "+
			"be above %s; %s exits with that: write a longer deadline too, or a shorter period",
			prefix, deadlineText, least, c)
	case deadline <= least:
		c.report(j, true, false, deadlineText, "is too short for --%sretry-period, %s: it must be "+
			"above %s; %s exits with that", prefix, periodText, least, c)
	}
}

package flags

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// pairs checks flags against each other, as the programs do when they start. Values that do not fit
// alone are reported already.
func (c *checker) pairs(args []Arg) {
	switch c.name {
	case APIServer:
		c.admission(args)
		c.together(args)
	case Etcd:
		c.election(args)
	case ControllerManager, Scheduler:
		c.leases(args)
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

// companions are flags of the API server that it takes only with another one: what in the value
// needs it, "" for any value, and the other (k8s.io/kubernetes v1.36.3, pkg/kubeapiserver/options).
var companions = []struct{ flag, word, other string }{
	{"authorization-mode", "Webhook", "authorization-webhook-config-file"},
	{"authorization-mode", "ABAC", "authorization-policy-file"},
	{"oidc-issuer-url", "", "oidc-client-id"},
	{"oidc-client-id", "", "oidc-issuer-url"},
}

// together reports flags of the API server that need another one, and a URL that is not secure.
func (c *checker) together(args []Arg) {
	for _, p := range companions {
		i, value := c.last(args, p.flag, "")
		needs := value != "" && (p.word == "" || slices.Contains(strings.Split(value, ","), p.word))
		if j, _ := c.last(args, p.other, ""); i >= 0 && needs && j < 0 {
			c.report(i, true, false, value, "needs --%s too, and %s exits without it", p.other, c)
		}
	}
	if i, url := c.last(args, "service-account-jwks-uri", ""); i >= 0 && url != "" &&
		!strings.HasPrefix(url, "https://") {
		c.report(i, true, false, url, "does not begin with https://, and %s exits with that", c)
	}
}

// election reports a heartbeat of etcd that is too long for the election
// (go.etcd.io/etcd/server/v3 v3.6.8, embed/config.go: Validate).
func (c *checker) election(args []Arg) {
	i, heartbeat := c.last(args, "heartbeat-interval", "100")
	j, election := c.last(args, "election-timeout", "1000")
	short, errShort := strconv.Atoi(heartbeat)
	long, errLong := strconv.Atoi(election)
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

// leases reports times of a leader election that do not fit each other (k8s.io/client-go v0.36.3,
// tools/leaderelection/leaderelection.go: NewLeaderElector).
func (c *checker) leases(args []Arg) {
	if _, elects := c.last(args, "leader-elect", "true"); elects != "true" {
		return
	}
	i, leaseText := c.last(args, "leader-elect-lease-duration", "15s")
	j, deadlineText := c.last(args, "leader-elect-renew-deadline", "10s")
	k, periodText := c.last(args, "leader-elect-retry-period", "2s")
	lease, errLease := time.ParseDuration(leaseText)
	deadline, errDeadline := time.ParseDuration(deadlineText)
	period, errPeriod := time.ParseDuration(periodText)
	switch {
	case errLease != nil || errDeadline != nil || errPeriod != nil:
	case deadline >= lease && j >= 0:
		c.report(j, true, false, deadlineText, "is not below --leader-elect-lease-duration, %s; "+
			"%s exits with that: write a longer lease too, or a shorter deadline", leaseText, c)
	case deadline >= lease:
		c.report(i, true, false, leaseText, "is not above --leader-elect-renew-deadline, %s; "+
			"%s exits with that: write a longer lease, or a shorter deadline too", deadlineText, c)
	case deadline <= period*6/5 && k >= 0:
		c.report(k, true, false, periodText, "is not below five sixths of "+
			"--leader-elect-renew-deadline, %s; %s exits with that: "+
			"write a longer deadline too, or a shorter period", deadlineText, c)
	case deadline <= period*6/5:
		c.report(j, true, false, deadlineText, "is not above 1.2 times "+
			"--leader-elect-retry-period, %s; %s exits with that: write a longer deadline",
			periodText, c)
	}
}

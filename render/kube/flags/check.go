package flags

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/text/wording"
)

// Arg is one flag on a command line.
type Arg struct {
	Name  string // without dashes
	Value string
}

// Finding is a flag or feature gate with which a program exits, or of which it warns.
type Finding struct {
	// Arg is the index of the flag on the command line, -1 if the finding is about Gate.
	Arg int
	// Gate is the feature gate of a configuration file that the finding is about.
	Gate string
	// InValue reports whether the value of the flag is wrong, and not its name.
	InValue bool
	// Word is what was found, and Message says what is wrong with it and what to do: together they
	// are a sentence. A Word may be a secret that somebody put in the wrong place.
	Word, Message string
	// Warning reports whether the program starts all the same.
	Warning bool
}

// Check checks flags, each alone, and the gates of the configuration file, over which a flag wins.
func (p Program) Check(args []Arg, gates map[string]bool) []Finding {
	c := &checker{Program: p}
	return c.check(args, gates)
}

func (c *checker) check(args []Arg, gates map[string]bool) []Finding {
	for i, a := range args {
		if a.Name == "" {
			continue
		}
		name := c.normal(a.Name)
		c.emulates = c.emulates || name == emulation || name == compatibility
		if f, ok := c.flag(i, a, name); ok {
			c.value(i, a, f)
		}
	}
	c.fileGates(gates)
	c.checkGates()
	c.gated(args)
	slices.SortStableFunc(c.found, func(a, b Finding) int { return a.Arg - b.Arg })
	return c.found
}

// normal returns the name of a flag as the table has it, with dashes for underscores.
func (p Program) normal(name string) string {
	if p.name == Etcd {
		return name
	}
	return strings.ReplaceAll(name, "_", "-")
}

// Flags after which feature gates are those of an older minor.
const (
	emulation     = "emulated-version"
	compatibility = "min-compatibility-version"
)

type checker struct {
	Program
	found    []Finding
	set      []gateSetting // in the order in which they apply
	emulates bool          // whether the program behaves as an older minor does
	unset    bool          // whether a gate cannot be set, so that no others are asked for
}

func (c *checker) report(arg int, inValue, warning bool, word, format string, args ...any) {
	c.found = append(c.found, Finding{
		Arg: arg, InValue: inValue, Word: word, Message: fmt.Sprintf(format, args...),
		Warning: warning,
	})
}

func (c *checker) flag(i int, a Arg, name string) (f Flag, ok bool) {
	f, ok = c.flags.at(name, c.minor)
	if !ok {
		c.report(i, false, false, a.Name, "%s", c.absentFlag(name))
		return Flag{}, false
	}
	if why := c.instead(name); why != "" {
		c.report(i, false, false, a.Name, "%s; remove it", why)
		return Flag{}, false
	}
	switch {
	case strings.HasPrefix(f.Deprecated, "This parameter should be set via the config file"):
		c.report(i, false, true, a.Name, "is deprecated in %s; "+
			"write the field of KubeletConfiguration instead (kubelet)", c)
	case f.Deprecated != "":
		c.report(i, false, true, a.Name, "is deprecated in %s: %s", c, f.Deprecated)
	}
	return f, true
}

func (c *checker) absentFlag(name string) string {
	found := fmt.Sprintf("is not a flag of %s", c)
	switch before, after := neighbours(c.flags[name], c.minor); {
	case before != nil:
		return fmt.Sprintf("%s: %s removed it%s; remove it",
			found, version(before.last+1), reason(before.entry.Deprecated))
	case after != nil:
		return fmt.Sprintf("%s: it is there since %s; "+
			"remove it, or raise the version of Kubernetes", found, version(after.first))
	}
	if minor := removedLong[c.name+" "+name]; minor != "" {
		return fmt.Sprintf("%s: %s removed it; remove it", found, minor)
	}
	for _, program := range programs {
		if _, ok := tables().flags[program].at(name, c.minor); ok {
			return fmt.Sprintf("%s, but of %s; move it there, or remove it", found, program)
		}
	}
	if hint := wording.Hint(name, c.flags.names(c.minor)); hint != "" {
		return found + hint
	}
	return found + "; correct its name, or remove it"
}

// removedLong are flags that the oldest minor of the table no longer had, and the minors that
// removed them (CHANGELOG-1.19.md to CHANGELOG-1.27.md of Kubernetes).
var removedLong = map[string]string{
	APIServer + " insecure-port": "1.24", APIServer + " insecure-bind-address": "1.24",
	APIServer + " address": "1.24", APIServer + " port": "1.24",
	APIServer + " kubelet-https": "1.22", APIServer + " basic-auth-file": "1.19",
	ControllerManager + " port": "1.24", ControllerManager + " address": "1.24",
	ControllerManager + " pod-eviction-timeout":    "1.27",
	ControllerManager + " enable-taint-manager":    "1.27",
	Scheduler + " port":                            "1.24",
	Scheduler + " address":                         "1.24",
	Scheduler + " policy-config-file":              "1.23",
	Kubelet + " network-plugin":                    "1.24",
	Kubelet + " cni-bin-dir":                       "1.24",
	Kubelet + " cni-conf-dir":                      "1.24",
	Kubelet + " container-runtime":                 "1.27",
	Kubelet + " dynamic-config-dir":                "1.24",
	Kubelet + " docker-endpoint":                   "1.24",
	Kubelet + " image-pull-progress-deadline":      "1.24",
	Kubelet + " master-service-namespace":          "1.27",
	Kubelet + " experimental-bootstrap-kubeconfig": "1.24",
}

var programs = []string{APIServer, ControllerManager, Scheduler, Kubelet, Etcd}

// reason returns a message of deprecation as a part of a sentence.
func reason(deprecated string) string {
	if deprecated == "" || strings.Contains(strings.ToLower(deprecated), "will be removed") {
		return "" // it is
	}
	return " (" + strings.TrimSuffix(deprecated, ".") + ")"
}

// neighbours returns the last period before a minor, and the first one after it.
func neighbours[E any](periods []period[E], minor int) (before, after *period[E]) {
	for i := range periods {
		switch p := &periods[i]; {
		case p.last < minor:
			before = p
		case p.first > minor && after == nil:
			after = p
		}
	}
	return before, after
}

// instead says what a flag makes the program do instead of its work, "" if it does not.
func (c *checker) instead(name string) string {
	switch {
	case name == "version":
		return fmt.Sprintf("makes %s print its version and exit", c.name)
	case name == "write-config-to":
		return fmt.Sprintf("makes %s write its configuration and exit", c.name)
	case name == "config-file" && c.name == Etcd:
		return "makes etcd ignore all other flags"
	}
	return ""
}

func (c *checker) value(i int, a Arg, f Flag) {
	if f.Name == "feature-gates" {
		c.flagGates(i, a.Value, f.Type)
		return
	}
	want := wants(f, a.Value)
	if f.Name == "runtime-config" {
		want = wantsRuntimeConfig(a.Value)
	}
	if want == "" && c.words(i, a, f.Name) {
		want = c.limits(f.Name, a.Value)
	}
	if want != "" {
		c.report(i, true, false, a.Value, "does not fit --%s of %s (%s); write %s",
			f.Name, c, f.Type, want)
	}
}

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

// limits returns what to write if a number lies outside of its flag's limits, "" if it does not.
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

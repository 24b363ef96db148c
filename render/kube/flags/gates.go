package flags

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

type gateSetting struct {
	name string
	on   bool
	arg  int // the index of the flag, -1 for the configuration file
}

func (c *checker) flagGates(i int, value, kind string) {
	for entry := range strings.SplitSeq(value, ",") {
		if entry == "" {
			continue
		}
		pair := strings.TrimSpace(entry)
		if kind == "colonSeparatedMultimapStringString" {
			pair = strings.TrimPrefix(pair, "kube:")
		}
		name, on, _ := strings.Cut(pair, "=")
		value, err := strconv.ParseBool(strings.TrimSpace(on))
		if err != nil {
			c.report(i, true, false, entry, "is not a feature gate; "+
				"write them like NodeSwap=true,UserNamespacesSupport=false")
			c.unset = true
			continue
		}
		c.set = append(c.set, gateSetting{strings.TrimSpace(name), value, i})
	}
}

// fileGates takes over the gates of a configuration file, but for those that a flag sets too.
func (c *checker) fileGates(gates map[string]bool) {
	var fromFile []gateSetting
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if !slices.ContainsFunc(c.set, func(g gateSetting) bool { return g.name == name }) {
			fromFile = append(fromFile, gateSetting{name, gates[name], -1})
		}
	}
	c.set = append(fromFile, c.set...)
}

func (c *checker) reportGate(g gateSetting, warning bool, format string, args ...any) {
	f := Finding{
		Arg: g.arg, InValue: true, Word: g.name, Message: fmt.Sprintf(format, args...),
		Warning: warning,
	}
	if g.arg < 0 {
		f.Gate = g.name
	}
	c.found = append(c.found, f)
}

// checkGates checks the gates that are set: first each for itself and, if all can be set, whether
// those are on that others need (k8s.io/component-base v0.36.3, featuregate/feature_gate.go:
// unsafeSetFromMap).
func (c *checker) checkGates() {
	for _, g := range c.set {
		known, ok := c.gates.at(g.name, c.minor)
		switch {
		case !ok:
			c.reportGate(g, false, "%s", c.absentGate(g.name))
			c.unset = true
		case c.emulates: // the rest is that of another minor
		case known.Locked && known.Default != g.on:
			c.reportGate(g, false, "is locked to %t in %s; remove it", known.Default, c)
			c.unset = true
		case known.Stage == "deprecated":
			c.reportGate(g, true, "is deprecated in %s: a later minor removes the gate", c)
		case known.Stage == "ga":
			c.reportGate(g, true, "stands for a feature that is stable in %s: "+
				"a later minor removes the gate, so remove it here", c)
		}
	}
	if !c.unset && !c.emulates {
		c.checkNeeds()
	}
}

// gatedFlags are flags that need a feature gate, but for values that change nothing
// (k8s.io/component-base v0.36.3, logs/api/v1/options.go: Validate).
var gatedFlags = map[string]string{
	"log-json-info-buffer-size": alphaLogs, "log-json-split-stream": alphaLogs,
	"log-text-info-buffer-size": alphaLogs, "log-text-split-stream": alphaLogs,
}

// alphaLogs is the feature gate of flags of logging.
const alphaLogs = "LoggingAlphaOptions"

// gated reports flags whose feature gate is off.
func (c *checker) gated(args []Arg) {
	for i, a := range args {
		gate := gatedFlags[c.normal(a.Name)]
		on, err := strconv.ParseBool(a.Value)
		_, exists := c.gates.at(gate, c.minor)
		if !exists || a.Value == "0" || err == nil && !on ||
			slices.ContainsFunc(c.set, func(g gateSetting) bool {
				return (g.name == gate || g.name == groupOf["alpha"]) && g.on
			}) {
			continue
		}
		c.report(i, false, false, a.Name, "needs the feature gate %s, which is off in %s; "+
			"set %s=true too, or remove it", gate, c, gate)
	}
}

func (c *checker) absentGate(name string) string {
	found := fmt.Sprintf("is not a feature gate of %s", c)
	switch before, after := neighbours(c.gates[name], c.minor); {
	case before != nil:
		fate := ""
		if before.entry.Stage == "ga" && before.entry.Default {
			fate = ", and its feature is always on"
		}
		return fmt.Sprintf("%s: %s removed it%s; remove it", found, version(before.last+1), fate)
	case after != nil:
		return fmt.Sprintf("%s: it is there since %s; "+
			"remove it, or raise the version of Kubernetes", found, version(after.first))
	}
	if hint := wording.Hint(name, c.gates.names(c.minor)); hint != "" {
		return found + hint
	}
	return found + "; correct its name, or remove it"
}

func (c *checker) checkNeeds() {
	set := map[string]gateSetting{}
	for _, g := range c.set {
		set[g.name] = g
	}
	on := func(gate Gate) bool {
		for _, name := range []string{gate.Name, groupOf[gate.Stage]} {
			if g, ok := set[name]; ok {
				return g.on
			}
		}
		return gate.Default
	}
	for _, gate := range c.Gates() {
		if !on(gate) {
			continue
		}
		for _, name := range gate.Needs {
			needed, ok := c.gates.at(name, c.minor)
			if !ok || on(needed) {
				continue
			}
			if g, ok := set[gate.Name]; ok {
				c.reportGate(g, false, "needs the feature gate %s, which is off in %s; "+
					"set %s=true too, or remove it", name, c, name)
				continue
			}
			for _, cause := range []string{name, groupOf[needed.Stage], groupOf[gate.Stage]} {
				if g, ok := set[cause]; ok {
					c.reportGate(g, false, "leaves %s on and %s off in %s, and the first needs "+
						"the second; set %s=false too, or remove it", gate.Name, name, c, gate.Name)
					break
				}
			}
		}
	}
}

// groupOf maps a stage to the gate that sets all gates of the stage.
var groupOf = map[string]string{"alpha": "AllAlpha", "beta": "AllBeta"}

package machine

import (
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/plan"
)

// kubelet checks the kubelet's flags and gates, if the tables have its minor.
func (c *inspection) kubelet() {
	settings, gates := c.machine.Settings, c.machine.Kubelet.FeatureGates
	known, ok := flags.FindProgram(flags.Kubelet, c.plan.Config.KubeletMinor(settings))
	if !ok || len(gates) == 0 && len(settings.KubeletExtraArgs) == 0 {
		return
	}
	args := make([]flags.Arg, len(settings.KubeletExtraArgs))
	for i, a := range settings.KubeletExtraArgs {
		args[i] = flags.Arg(a)
	}
	for _, found := range known.Check(args, gates) {
		layer := settings.Path("kubeletExtraArgs")
		if found.Gate != "" {
			layer = settings.Source["kubelet.featureGates."+found.Gate]
		}
		// Many machines have the same flags and gates from the same layer.
		id := fmt.Sprint(known, layer, found)
		place, again := c.kubelets.Load(id)
		if !again {
			place = c.kubeletSource(found, layer)
			c.kubelets.Store(id, place)
		}
		c.report(found, "kubelet", place.(config.Place))
	}
}

// kubeletSource returns the source of a kubelet's feature gate, or of its flag.
func (c *inspection) kubeletSource(found flags.Finding, field string) config.Place {
	if found.Gate != "" {
		f := c.machine.Node.File(plan.KubeletConfig)
		return c.source(f, "featureGates."+found.Gate)
	}
	return c.plan.Config.Place(fmt.Sprintf("%s[%d]", field, found.Arg), "", nil)
}

// fieldFlags are flags of the kubelet whose fields others depend on, and what reads their values.
var fieldFlags = map[string]struct {
	field string
	read  func(value string) any
}{
	"cpu-manager-policy":              {"cpuManagerPolicy", text},
	"cpu-manager-policy-options":      {"cpuManagerPolicyOptions", pairs("=")},
	"eviction-hard":                   {"evictionHard", pairs("<")},
	"image-gc-high-threshold":         {"imageGCHighThresholdPercent", number},
	"image-gc-low-threshold":          {"imageGCLowThresholdPercent", number},
	"kube-reserved":                   {"kubeReserved", pairs("=")},
	"memory-manager-policy":           {"memoryManagerPolicy", text},
	"reserved-cpus":                   {"reservedSystemCPUs", text},
	"reserved-memory":                 {"reservedMemory", reservedMemory},
	"system-reserved":                 {"systemReserved", pairs("=")},
	"topology-manager-policy":         {"topologyManagerPolicy", text},
	"topology-manager-policy-options": {"topologyManagerPolicyOptions", pairs("=")},
}

// WithFlags returns a kubelet's configuration with its flags' fields, nil if none sets one.
func WithFlags(source []byte, args []config.Arg) []byte {
	var fields map[string]any
	if yaml.Unmarshal(source, &fields) != nil {
		return nil
	}
	changed := false
	for _, a := range args {
		if f, ok := fieldFlags[a.Name]; ok {
			fields[f.field], changed = f.read(a.Value), true
		}
	}
	merged, err := yaml.Marshal(fields)
	if err != nil || !changed {
		return nil
	}
	return merged
}

func text(value string) any { return value }

func number(value string) any {
	n, _ := strconv.Atoi(value) // another check says what is wrong with it
	return n
}

// pairs reads NAME=VALUE,… with that word in the middle.
func pairs(middle string) func(string) any {
	return func(value string) any {
		out := map[string]any{}
		for pair := range strings.SplitSeq(value, ",") {
			if name, v, ok := strings.Cut(pair, middle); ok {
				out[name] = v
			}
		}
		return out
	}
}

// reservedMemory reads NODE:NAME=SIZE,…;…
func reservedMemory(value string) any {
	out := []any{}
	for each := range strings.SplitSeq(value, ";") {
		node, limits, _ := strings.Cut(each, ":")
		out = append(out, map[string]any{"numaNode": number(node), "limits": pairs("=")(limits)})
	}
	return out
}

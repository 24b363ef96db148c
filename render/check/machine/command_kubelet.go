package machine

import (
	"fmt"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/plan"
)

// kubelet checks the flags and feature gates of the kubelet. The tables may not have the minor of
// an old one; then nothing is checked.
func (c *inspection) kubelet() {
	settings, gates := &c.machine.Settings, c.machine.Kubelet.FeatureGates
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

// kubeletSource returns the source of a kubelet's feature gate, or of its flag, which is an entry
// of a field.
func (c *inspection) kubeletSource(found flags.Finding, field string) config.Place {
	if found.Gate != "" {
		f := c.machine.Node.File(plan.KubeletConfig)
		return c.source(f, "featureGates."+found.Gate)
	}
	return c.plan.Config.Place(fmt.Sprintf("%s[%d]", field, found.Arg), "", nil)
}

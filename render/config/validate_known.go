package config

import (
	"fmt"

	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/text/yamltext"
)

// controlPlaneFlags checks the further flags of the control plane's programs, by themselves and
// against those that the programs of the cluster's minor have.
func (v *checker) controlPlaneFlags() {
	cp, at := &v.c.Spec.ControlPlane, v.spec.Key("controlPlane")
	for _, program := range []struct {
		name, key string
		args      []Arg
	}{
		{flags.APIServer, "apiServer", cp.APIServer.ExtraArgs},
		{flags.ControllerManager, "controllerManager", cp.ControllerManager.ExtraArgs},
		{flags.Scheduler, "scheduler", cp.Scheduler.ExtraArgs},
		{flags.Etcd, "etcd", cp.Etcd.ExtraArgs},
	} {
		owned, here := ownFlags[program.name], at.Key(program.key).Key("extraArgs")
		v.args(program.args, owned, here)
		if p, ok := flags.FindProgram(program.name, v.version.minor); ok {
			for _, f := range p.Check(writtenWell(program.args, owned), nil) {
				v.reportFlag(f, here.Index(f.Arg))
			}
		}
	}
}

// writtenWell returns flags for a check in which those are empty of which method args reports a
// problem already.
func writtenWell(args []Arg, owned []string) []flags.Arg {
	out := make([]flags.Arg, len(args))
	for i, a := range args {
		if flagName.MatchString(a.Name) && !owns(owned, a.Name) && !hasControl(a.Value) {
			out[i] = flags.Arg(a)
		}
	}
	return out
}

// reportFlag reports a flag or feature gate with which a program would exit. at is the entry of the
// flag, or the gate.
func (v *checker) reportFlag(f flags.Finding, at *yamltext.Location) {
	if f.Warning {
		return // the check of the finished machine warns
	}
	if f.Gate == "" {
		at = at.Key(map[bool]string{true: "value", false: "name"}[f.InValue])
	}
	v.report(at, "%s %s", quote(f.Word), f.Message)
}

// kubeletFlags checks the further flags and the feature gates of a machine's kubelet against those
// that a kubelet of its minor has. The tables may not have the minor of an old kubelet; then
// nothing is checked. A mistake that many machines share is reported once.
func (v *checker) kubeletFlags(m settings) {
	minor := v.c.KubeletMinor(m.Effective)
	kubelet, ok := flags.FindProgram(flags.Kubelet, minor)
	if !ok {
		return
	}
	gates := map[string]bool{}
	fields, _ := m.Kubelet["featureGates"].(map[string]any)
	for name, value := range fields {
		if on, isBool := value.(bool); isBool {
			gates[name] = on
		}
	}
	args := writtenWell(m.KubeletExtraArgs, ownFlags[flags.Kubelet])
	id := fmt.Sprint(minor, args, gates)
	found, known := v.kubeletFindings[id]
	if !known {
		found = kubelet.Check(args, gates)
		v.kubeletFindings[id] = found
	}
	for _, f := range found {
		path := fmt.Sprintf("%s.kubeletExtraArgs[%d]", m.Source["kubeletExtraArgs"], f.Arg)
		if f.Gate != "" {
			field := "kubelet.featureGates." + f.Gate
			path = m.Source[field] + "." + field
		}
		if id := path + " " + f.Word; !v.reported[id] {
			v.reported[id] = true
			v.reportFlag(f, locate(v.root, path))
		}
	}
}

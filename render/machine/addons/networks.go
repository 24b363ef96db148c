// This file judges the add-ons that bring a network of pods: whether their settings agree
// with the cluster, and whether a network is there at all. It knows Flannel, Calico and Cilium.
// What it knows of them stands in two tables: programs and settings.

package addons

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// NetworkFinding is an object of an add-on that contradicts the cluster.
type NetworkFinding struct {
	Object  manifests.Object
	Message string
}

// CheckNetworks returns the objects with which the pods' network cannot work, in the order of the
// objects: a setting that contradicts the configuration, and a second network of pods. Objects that
// cannot be read are left out: package check says what is wrong with them.
func CheckNetworks(p *plan.Plan, objects []manifests.Object) (findings []NetworkFinding) {
	j := newJudge(p, objects)
	own := "" // kiln's network of pods
	if cni := p.Config.Spec.Network.CNI; cni != "none" {
		own = "network.cni: " + cni
	}
	first := own // of all
	for _, o := range j.objects {
		for _, s := range settings {
			if !s.of(o) {
				continue
			}
			if values := s.read(j, o); values != nil {
				if complaint := s.rule(j, values); complaint != "" {
					findings = append(findings, o.finding("%s: %s", s.key, complaint))
				}
			}
		}
		brought := j.brought(o)
		switch {
		case brought == nil || p.Flannel() && o.Namespace == manifests.FlannelNamespace &&
			o.Name == manifests.FlannelDaemonSet:
		case first == "":
			first = brought.name
		case own != "":
			findings = append(findings, o.finding("%s is a network of pods, and %s is one, too; "+
				"write network.cni: none", brought.name, own))
		case first != brought.name:
			findings = append(findings, o.finding("%s is a network of pods, and %s is one, too; "+
				"remove one", brought.name, first))
		}
	}
	return findings
}

// NetworkWarnings returns a warning for each thing that pods will miss as far as kiln can see,
// although the configuration is valid: a network, the addresses of Services, network policies.
func NetworkWarnings(p *plan.Plan, objects []manifests.Object) (out config.Problems) {
	j := newJudge(p, objects)
	spec := &p.Config.Spec
	switch configured := slices.ContainsFunc(p.Machines, hasCNIFile); {
	case p.Flannel() || configured || slices.ContainsFunc(j.objects, (*object).bringsCNI):
	case len(spec.Addons) == 0:
		out = append(out, config.Warning(config.WarnPodNetwork, "network.cni is none, and there "+
			"are no addons: without a CNI plugin no Node becomes Ready; bring one with addons, or "+
			"apply one yourself"))
	default:
		out = append(out, config.Warning(config.WarnPodNetwork, "network.cni is none, and no "+
			"add-on has a pod that mounts %s: without a CNI plugin no Node becomes Ready; bring "+
			"one with addons, or apply one yourself (docs/pod-networks.md)", plan.CNIConfDir))
	}
	if spec.Network.Proxy == "none" && len(spec.Addons) > 0 && !j.replacesProxy() {
		out = append(out, config.Warning(config.WarnServices, "network.proxy is none, and no "+
			"add-on is known to do the work of kube-proxy: without it no pod reaches a Service, "+
			"CoreDNS among them"))
	}
	return append(out, j.unenforced()...)
}

// hasCNIFile reports whether a file of the user configures a CNI plugin on the machine.
func hasCNIFile(m plan.Machine) bool {
	for _, f := range m.Settings.Files {
		if path.Dir(path.Clean(f.Path)) == plan.CNIConfDir {
			return true
		}
	}
	return false
}

// unenforced returns a sentence about the network policies among the objects if nothing enforces
// them. It returns none if a network is there that kiln does not know.
func (j *judge) unenforced() config.Problems {
	var policies []string
	network := ""
	if j.plan.Flannel() {
		network = "Flannel"
	}
	for _, o := range j.objects {
		if o.Kind == "NetworkPolicy" && strings.HasPrefix(o.Path, "/apis/networking.k8s.io/") {
			policies = append(policies, o.Namespace+"/"+o.Name)
		}
		if slices.ContainsFunc(enforcers, o.runs) || o.Kind == "Installation" {
			return nil
		}
		if brought := j.brought(o); brought != nil {
			network = brought.name
		}
	}
	if len(policies) == 0 || network == "" {
		return nil
	}
	more := ""
	if len(policies) > 1 {
		more = fmt.Sprintf(" and %d more", len(policies)-1)
	}
	return config.Problems{config.Warning(config.WarnPolicies, "NetworkPolicy %s%s: nothing "+
		"enforces it with %s; docs/pod-networks.md says what does", policies[0], more, network)}
}

package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubeletapis "k8s.io/kubelet/pkg/apis"

	"kiln/render/target"
	"kiln/render/yamlpath"
)

// RoleLabel is in front of a role in the label that gives it to a Node. No kubelet may set it, so a
// worker's registers with OwnRoleLabel instead, and the API server, by a policy, does the rest.
const (
	RoleLabel    = "node-role.kubernetes.io/"
	OwnRoleLabel = "role.kiln.dev/"
)

// labels checks a Node's labels by Kubernetes' grammar, the kubelet's own rule and the
// NodeRestriction admission.
func (v *checker) labels(labels map[string]string, role string, at *yamlpath.Location) {
	for key, value := range labels {
		here := at.Key(key)
		domain, _, _ := strings.Cut(key, "/")
		switch {
		case len(validation.IsQualifiedName(key)) > 0:
			v.report(here, "%s is not a label key; write an optional DNS prefix and '/', "+
				"then at most 63 letters, digits, '-', '_' or '.', with a letter or digit at "+
				"both ends", quote(key))
		case strings.HasPrefix(key, RoleLabel):
			v.roleLabel(key, value, role, here)
		case strings.HasPrefix(key, OwnRoleLabel):
			v.report(here, "is how kiln asks for a role; write %s%s", RoleLabel,
				strings.TrimPrefix(key, OwnRoleLabel))
		case within(domain, "node-restriction.kubernetes.io"):
			v.report(here, "NodeRestriction keeps kubelets from setting labels below "+
				"node-restriction.kubernetes.io; set it with kubectl")
		case strings.Contains(key, "/") && (within(domain, "kubernetes.io") || within(domain, "k8s.io")) && !kubeletapis.IsKubeletLabel(key):
			v.report(here, "a kubelet exits when it is given this label: below kubernetes.io and "+
				"k8s.io it may set topology.kubernetes.io/zone and region, node.kubernetes.io/… "+
				"and kubelet.kubernetes.io/…; choose a key of your own domain")
		}
		if len(validation.IsValidLabelValue(value)) > 0 {
			v.report(here, "%s is not a label value; write at most 63 letters, digits, '-', "+
				"'_' or '.', with a letter or digit at both ends, or nothing", quote(value))
		}
	}
}

// roleLabel checks a label that gives Nodes a role, in a layer of machines with that role.
func (v *checker) roleLabel(key, value, role string, at *yamlpath.Location) {
	controlPlane := strings.TrimPrefix(key, RoleLabel) == roleControlPlane
	switch {
	case role == layerAll:
		v.report(at, "is for workers alone, and this layer is of all machines; "+
			"move it to workers.machines, a node or a pool")
	case !slices.Contains(roles, role): // its own problem has been reported
	case role == roleControlPlane && controlPlane && value == "": // it has that one
	case role != roleWorker:
		v.report(at, "a kubelet must not give itself a role (NodeRestriction); "+
			"control planes get theirs from kiln, and other roles are for workers: remove it, "+
			"or set it with kubectl label")
	case controlPlane || key == RoleLabel+"master":
		v.report(at, "would make a worker pass for a control plane; "+
			"remove it, or write role: control-plane")
	case v.version != version{} && v.version.minor < target.MutatingPolicies:
		v.report(at, "a kubelet must not give itself a role (NodeRestriction), and the policy "+
			"through which kiln has the API server do it needs kubernetesVersion v1.%d or later; "+
			"remove it, and once the Node is there: kubectl label node NAME %s=VALUE",
			target.MutatingPolicies, key)
	}
}

// within says whether a domain is parent or lies below it.
func within(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

// taints checks a Node's taints.
func (v *checker) taints(taints []Taint, at *yamlpath.Location) {
	type identity struct{ key, effect string }
	seen := map[identity]int{}
	for i, t := range taints {
		here := at.Index(i)
		if t.Key != "" && len(validation.IsQualifiedName(t.Key)) > 0 {
			v.report(here.Key("key"), "%s is not a taint key; "+
				"write an optional DNS prefix and '/', then at most 63 letters, digits, '-', "+
				"'_' or '.'", quote(t.Key))
		} else if t.Key == "" {
			v.report(here.Key("key"), "is empty; write the taint's key")
		}
		if len(validation.IsValidLabelValue(t.Value)) > 0 {
			v.report(here.Key("value"), "%s is not a taint value; write at most 63 letters, "+
				"digits, '-', '_' or '.', or nothing", quote(t.Value))
		}
		id := identity{t.Key, t.Effect}
		if first, ok := seen[id]; ok && t.Key != "" {
			v.report(here, "key and effect are those of taints[%d]; remove one", first)
			continue
		}
		seen[id] = i
	}
}

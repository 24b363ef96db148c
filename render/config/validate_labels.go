package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubeletapis "k8s.io/kubelet/pkg/apis"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// The labels that give a role to a Node have RoleLabel in front of the role. No kubelet may set
// them. The kubelet of a worker registers with OwnRoleLabel in front instead, and a policy of the
// API server adds the other label.
const (
	RoleLabel    = "node-role.kubernetes.io/"
	OwnRoleLabel = "role.kiln.dev/"
)

// derivedLabels are the labels that a kubelet sets itself, and where their values come from. One
// that kiln gave it would win over its own (k8s.io/kubernetes 1.36,
// pkg/kubelet/kubelet_node_status.go).
var derivedLabels = map[string]string{
	"kubernetes.io/hostname": "the machine's name", "kubernetes.io/os": "the machine's system",
	"kubernetes.io/arch": "arch", "beta.kubernetes.io/os": "the machine's system",
	"beta.kubernetes.io/arch": "arch",
}

// labels checks the labels of a Node by the grammar of Kubernetes, the rule of the kubelet and the
// admission plugin NodeRestriction.
func (v *checker) labels(labels map[string]string, role string, at *yamltext.Location) {
	for key, value := range labels {
		here := at.Key(key)
		domain, _, _ := strings.Cut(key, "/")
		switch {
		case len(validation.IsQualifiedName(key)) > 0:
			v.report(here, "%s is not a label key; write an optional DNS prefix and '/', "+
				"then at most 63 letters, digits, '-', '_' or '.', "+
				"with a letter or digit at both ends", quote(key))
		case derivedLabels[key] != "":
			v.report(here, "a kubelet sets this label itself, from %s; remove it",
				derivedLabels[key])
		case strings.HasPrefix(key, RoleLabel):
			v.roleLabel(key, value, role, here)
		case strings.HasPrefix(key, OwnRoleLabel):
			v.report(here, "is how kiln asks for a role; write %s%s",
				RoleLabel, strings.TrimPrefix(key, OwnRoleLabel))
		case within(domain, "node-restriction.kubernetes.io"):
			v.report(here, "NodeRestriction keeps kubelets from setting labels below "+
				"node-restriction.kubernetes.io; set it with kubectl")
		case strings.Contains(key, "/") && ofKubernetes(domain) && !kubeletapis.IsKubeletLabel(key):
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

func ofKubernetes(domain string) bool {
	return within(domain, "kubernetes.io") || within(domain, "k8s.io")
}

// roleLabel checks a label that gives a role to a Node. role is that of the layer's machines, or
// layerAll.
func (v *checker) roleLabel(key, value, role string, at *yamltext.Location) {
	controlPlane := strings.TrimPrefix(key, RoleLabel) == roleControlPlane
	switch {
	case role == layerAll:
		v.report(at, "is for workers alone, and this layer is of all machines; "+
			"move it to workers.machines, a node or a pool")
	case !slices.Contains(roles, role): // the decoder has reported the role
	case role == roleControlPlane && controlPlane && value == "": // kiln sets this label
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

func within(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

func (v *checker) taints(taints []Taint, at *yamltext.Location) {
	type identity struct{ key, effect string }
	seen := map[identity]int{}
	for i, t := range taints {
		here := at.Index(i)
		if t.Key != "" && len(validation.IsQualifiedName(t.Key)) > 0 {
			v.report(here.Key("key"), "%s is not a taint key; "+
				"write an optional DNS prefix and '/', "+
				"then at most 63 letters, digits, '-', '_' or '.'", quote(t.Key))
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

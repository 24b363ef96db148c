package config

import (
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	kubeletapis "k8s.io/kubelet/pkg/apis"

	"kiln/render/target"
	"kiln/render/yamlpath"
)

// machine checks the settings of one layer, each by itself: of the machines with that role, or of
// all (layerAll). What follows from several layers together is checked by layers.
func (v *checker) machine(m *Machine, role string, at *yamlpath.Location) {
	if m.fields() == 0 {
		return
	}
	if m.KubeletVersion != "" {
		v.kubeletVersion(m.KubeletVersion, at.Key("kubeletVersion"))
	}
	if p := m.KubeletPath; p != "" && !kubeletPath.MatchString(p) || strings.Contains(p, "/") && path.Clean(p) != p {
		v.report(at.Key("kubeletPath"), "%s is not a program; write a plain name such as kubelet, or an absolute path such as /opt/bin/kubelet", quote(p))
	}
	for i, key := range m.SSHAuthorizedKeys {
		if problem := sshKeyProblem(key); problem != "" {
			v.report(at.Key("sshAuthorizedKeys").Index(i), "%s", problem)
		}
	}
	v.kubelet(m.Kubelet, at.Key("kubelet"))
	v.args(m.KubeletExtraArgs, ownKubeletFlags, at.Key("kubeletExtraArgs"))
	v.labels(m.Labels, role, at.Key("labels"))
	if m.Taints != nil {
		v.taints(*m.Taints, at.Key("taints"))
	}
	v.files(m.Files, at.Key("files"))
	v.units(m.Units, at.Key("units"))
	v.kernel(m, at)
	v.registries(m.Registries, at.Key("registries"))
	v.proxy(&m.Proxy, at.Key("proxy"))
	v.delivery(&m.Delivery, at.Key("delivery"))
	v.scripts(m.PreBoot, at, "preBoot")
	v.scripts(m.PostBoot, at, "postBoot")
	v.butane(m.Butane, at.Key("butane"))
	v.cloudConfig(m.CloudConfig, at.Key("cloudConfig"))
	v.networkConfig(m.NetworkConfig, at.Key("networkConfig"))
	seen := map[string]bool{}
	for i, id := range m.IgnorePreflight {
		here := at.Key("ignorePreflight").Index(i)
		switch {
		case !checkID.MatchString(id):
			v.report(here, "%s is not the id of a check; write it as the first boot prints it, or as kubeadm calls it", quote(id))
		case seen[id]:
			v.report(here, "%s stands here twice; remove one", quote(id))
		}
		seen[id] = true
	}
}

var (
	kubeletPath = regexp.MustCompile(`^(/[A-Za-z0-9._+/-]+|[A-Za-z0-9_][A-Za-z0-9._+-]*)$`)
	checkID     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._:-]{0,126}[A-Za-z0-9])?$`)
	sysctlName  = regexp.MustCompile(`^[a-z0-9_-]+([./][A-Za-z0-9_:*-]+)+$`)
	moduleName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
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
			v.report(here, "%s is not a label key; write an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends", quote(key))
		case strings.HasPrefix(key, RoleLabel):
			v.roleLabel(key, value, role, here)
		case strings.HasPrefix(key, OwnRoleLabel):
			v.report(here, "is how kiln asks for a role; write %s%s", RoleLabel, strings.TrimPrefix(key, OwnRoleLabel))
		case within(domain, "node-restriction.kubernetes.io"):
			v.report(here, "NodeRestriction keeps kubelets from setting labels below node-restriction.kubernetes.io; set it with kubectl")
		case strings.Contains(key, "/") && (within(domain, "kubernetes.io") || within(domain, "k8s.io")) && !kubeletapis.IsKubeletLabel(key):
			v.report(here, "a kubelet exits when it is given this label: below kubernetes.io and k8s.io it may set topology.kubernetes.io/zone and region, node.kubernetes.io/… and kubelet.kubernetes.io/…; choose a key of your own domain")
		}
		if len(validation.IsValidLabelValue(value)) > 0 {
			v.report(here, "%s is not a label value; write at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends, or nothing", quote(value))
		}
	}
}

// roleLabel checks a label that gives Nodes a role, in a layer of machines with that role.
func (v *checker) roleLabel(key, value, role string, at *yamlpath.Location) {
	controlPlane := strings.TrimPrefix(key, RoleLabel) == roleControlPlane
	switch {
	case role == layerAll:
		v.report(at, "is for workers alone, and this layer is of all machines; move it to workers.machines, a node or a pool")
	case !slices.Contains(roles, role): // its own problem has been reported
	case role == roleControlPlane && controlPlane && value == "": // it has that one
	case role != roleWorker:
		v.report(at, "a kubelet must not give itself a role (NodeRestriction); control planes get theirs from kiln, and other roles are for workers: remove it, or set it with kubectl label")
	case controlPlane || key == RoleLabel+"master":
		v.report(at, "would make a worker pass for a control plane; remove it, or write role: control-plane")
	case v.version != version{} && v.version.minor < target.MutatingPolicies:
		v.report(at, "a kubelet must not give itself a role (NodeRestriction), and the policy through which kiln has the API server do it needs kubernetesVersion v1.%d or later; remove it, and once the Node is there: kubectl label node NAME %s=VALUE", target.MutatingPolicies, key)
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
			v.report(here.Key("key"), "%s is not a taint key; write an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'", quote(t.Key))
		} else if t.Key == "" {
			v.report(here.Key("key"), "is empty; write the taint's key")
		}
		if len(validation.IsValidLabelValue(t.Value)) > 0 {
			v.report(here.Key("value"), "%s is not a taint value; write at most 63 letters, digits, '-', '_' or '.', or nothing", quote(t.Value))
		}
		id := identity{t.Key, t.Effect}
		if first, ok := seen[id]; ok && t.Key != "" {
			v.report(here, "key and effect are those of taints[%d]; remove one", first)
			continue
		}
		seen[id] = i
	}
}

// kernel checks sysctls and kernel modules.
func (v *checker) kernel(m *Machine, at *yamlpath.Location) {
	for name, value := range m.Sysctls {
		here := at.Key("sysctls").Key(name)
		switch {
		case !sysctlName.MatchString(name) || len(name) > 255 || strings.Contains(name, ".."):
			v.report(here, "%s is not a kernel setting; write it like net.core.somaxconn", quote(name))
		case value == "" || hasControl(value):
			v.report(here, "%s is not a value; write one line that is not empty", quote(value))
		}
	}
	seen := map[string]int{}
	for i, name := range m.KernelModules {
		here := at.Key("kernelModules").Index(i)
		// The kernel does not tell '-' from '_' in module names.
		plain := strings.ReplaceAll(name, "-", "_")
		first, ok := seen[plain]
		switch {
		case !moduleName.MatchString(name):
			v.report(here, "%s is not a kernel module; write its name alone, such as br_netfilter", quote(name))
		case ok:
			v.report(here, "%s is already kernelModules[%d]; remove one", quote(name), first)
		default:
			seen[plain] = i
		}
	}
}

// registries checks the mirrors of image registries.
func (v *checker) registries(list []Registry, at *yamlpath.Location) {
	seen := map[string]int{}
	for i, r := range list {
		here := at.Index(i)
		first, ok := seen[r.Host]
		switch {
		case r.Host != "_default" && !hostPort.MatchString(r.Host):
			v.report(here.Key("host"), "%s is not a registry's host; write it as images name it, such as docker.io or registry.example.com:5000, or _default for all others", quote(r.Host))
		case ok:
			v.report(here.Key("host"), "%s is already registries[%d]; put all mirrors of a host into one entry", quote(r.Host), first)
		default:
			seen[r.Host] = i
		}
		if len(r.Mirrors) == 0 {
			v.report(here.Key("mirrors"), "is empty; write at least one URL such as https://mirror.example.com")
		}
		for j, mirror := range r.Mirrors {
			if problem := urlProblem(mirror, "https", "http"); problem != "" {
				v.report(here.Key("mirrors").Index(j), "%s", problem)
			} else if !urlText.MatchString(mirror) {
				// The checks of a machine's first boot have their mirrors in a list, in a line of
				// columns.
				v.report(here.Key("mirrors").Index(j), "%s has a character that URLs do not have, or a comma; write it as %%20, %%2C and so on", quote(mirror))
			}
		}
	}
}

// butane checks that a Butane config is a mapping of a known variant. What it says is Butane's to
// judge.
func (v *checker) butane(text string, at *yamlpath.Location) {
	if text == "" {
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		v.report(at, "is not valid YAML (%s); check the indentation of the Butane config", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if doc.Kind == 0 || doc.Content[0].Kind != yaml.MappingNode {
		v.report(at, "is not a Butane config; begin it with variant: flatcar or variant: fcos, and version")
		return
	}
	root := &yamlpath.Location{}
	variant, _ := yamlpath.Find(doc.Content[0], root.Key("variant"))
	version, _ := yamlpath.Find(doc.Content[0], root.Key("version"))
	switch {
	case variant == nil:
		v.report(at, "has no variant; begin the Butane config with variant: flatcar or variant: fcos")
	case variant.Value != "flatcar" && variant.Value != "fcos":
		v.report(at, "has the variant %s; write variant: flatcar or variant: fcos", quote(variant.Value))
	case version == nil || version.Value == "":
		v.report(at, "has no version; write that of the Butane specification, such as version: 1.1.0")
	}
}

// networkConfig checks that a network configuration is of one of cloud-init's two versions.
func (v *checker) networkConfig(config map[string]any, at *yamlpath.Location) {
	if len(config) == 0 {
		return
	}
	if inner, ok := config["network"].(map[string]any); ok && len(config) == 1 {
		config, at = inner, at.Key("network")
	}
	switch version := config["version"]; version {
	case int64(1), int64(2):
	case nil:
		v.report(at, "has no version; write version: 2 and cloud-init's network configuration")
	default:
		v.report(at.Key("version"), "is neither 1 nor 2; write version: 2 and cloud-init's network configuration")
	}
	v.networkSecrets(config, at)
}

// networkSecret matches the fields of netplan (1.1) that hold a password or a key of WireGuard.
var networkSecret = regexp.MustCompile(`^(.*-)?password$|^private$|^shared$`)

// networkSecrets reports secrets in a network configuration, wherever they stand. A key of
// WireGuard may be in a file of its own.
func (v *checker) networkSecrets(config any, at *yamlpath.Location) {
	switch config := config.(type) {
	case map[string]any:
		for key, value := range config {
			text, _ := value.(string)
			secret := networkSecret.MatchString(key) || key == "key" && config["mode"] == "wireguard"
			if secret && text != "" && !path.IsAbs(text) {
				v.report(at.Key(key), "is a secret, and cluster.yaml holds none; put this interface into a file of netplan's, in files with contentFrom, mode: \"0600\" and secret: true")
			}
			v.networkSecrets(value, at.Key(key))
		}
	case []any:
		for i, value := range config {
			v.networkSecrets(value, at.Index(i))
		}
	}
}

// roles are the values of a node's role.
var roles = structs[reflect.TypeFor[Node]()].byName["role"].enum

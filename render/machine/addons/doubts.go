package addons

import (
	"regexp"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// Warnings returns what objects are and were probably not meant to be, and what pods will miss.
func Warnings(p *plan.Plan, objects []manifests.Object) (out config.Problems) {
	out = append(NetworkWarnings(p, objects), cloudController(p, objects)...)
	if len(p.Config.Spec.Addons) == 0 {
		return out
	}
	for _, o := range objects {
		var is struct {
			Metadata struct{ Annotations map[string]string }
			Handler  string // of a RuntimeClass
		}
		hooks := ""
		if o.Decode(&is) == nil {
			hooks = is.Metadata.Annotations["helm.sh/hook"]
		}
		if o.Kind == "RuntimeClass" && is.Handler != "runc" &&
			p.Config.Mentions("runtimes."+is.Handler)+
				p.Config.Mentions(`runtimes."`+is.Handler) == 0 {
			out = append(out, config.Warning(config.WarnRuntimeClass, "%s: no machine's "+
				"containerd has the runtime %q, and pods of this class do not start; bring it "+
				"with a file in /etc/containerd/conf.d", describe(o), is.Handler))
		}
		if strings.Contains(hooks, "-install") { // others are refused
			out = append(out, config.Warning(config.WarnHook, "%s: Helm applies it at %s, and "+
				"removes some of its kind afterwards; the first boot applies it once, in its "+
				"order, and leaves it", describe(o), hooks))
		}
		if o.Kind != "ConfigMap" && unexpanded.Match(o.YAML) {
			out = append(out, config.Warning(config.WarnVariable, "%s: has the value %s; kiln "+
				"expands no variables: expand the file before, for example with "+
				"envsubst", describe(o),
				strings.Trim(string(unexpanded.FindSubmatch(o.YAML)[1]), `"`)))
		}
		template, err := o.PodTemplate()
		if err != nil || template == nil {
			continue
		}
		for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
			_, tag, _ := strings.Cut(c.Image[strings.LastIndexByte(c.Image, '/')+1:], ":")
			if tag == "" && !strings.Contains(c.Image, "@") || tag == "latest" {
				out = append(out, config.Warning(config.WarnImageTag, "%s: the image %s of "+
					"container %s has no version, so that each machine may run another; write a "+
					"tag or a digest",
					describe(o), c.Image, c.Name))
			}
		}
	}
	return out
}

// unexpanded matches a value, behind its key, that is a variable of the shell as a whole. A script
// in a pod may have the colon alone.
var unexpanded = regexp.MustCompile(`(?m)^[ -]*[\w./"-]+: *("?\$\{[A-Za-z_][A-Za-z0-9_]*\}"?)$`)

// uninitialized is the taint of a Node that waits for a cloud controller.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// cloudController returns a warning if kubelets wait for a cloud controller, and no object looks
// like one.
func cloudController(p *plan.Plan, objects []manifests.Object) config.Problems {
	external := func(a config.Arg) bool {
		return a.Name == "cloud-provider" && a.Value == "external"
	}
	i := slices.IndexFunc(p.Machines, func(m plan.Machine) bool {
		return slices.ContainsFunc(m.Settings.KubeletExtraArgs, external)
	})
	if i < 0 {
		return nil
	}
	for _, o := range objects {
		template, err := o.PodTemplate()
		if err != nil || template == nil {
			continue
		}
		named := func(c core.Container) bool {
			return strings.Contains(c.Name+c.Image, "cloud-controller") ||
				strings.Contains(c.Image, "/ccm") || strings.Contains(c.Image, "cloud-provider")
		}
		tolerates := func(t core.Toleration) bool { return t.Key == uninitialized }
		if slices.ContainsFunc(template.Spec.Containers, named) ||
			slices.ContainsFunc(template.Spec.Tolerations, tolerates) {
			return nil
		}
	}
	return config.Problems{config.Warning(config.WarnCloud, "cloud-provider is external on %s, "+
		"and no add-on looks like a cloud controller: its Node keeps the taint %s, and CoreDNS "+
		"stays Pending; bring the controller with addons", p.Machines[i].Name, uninitialized)}
}

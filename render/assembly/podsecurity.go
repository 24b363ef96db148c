package assembly

import (
	"cmp"
	"fmt"
	"slices"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"kiln/manifests"
	"kiln/render/config"
)

// A workload whose pods do not meet its namespace's Pod Security level is accepted by the API server, and its pods are not:
// nothing comes up, and only events say why. So it is found here, by the API server's own rules.

// podSecurity returns a problem for each object whose pods would be refused. addon says which add-on an object is from.
func (r *Cluster) podSecurity(addon map[string]int) (problems config.Problems) {
	c := r.Plan.Config
	enforce := api.LevelVersion{Level: api.Level(c.Spec.Security.PodSecurity.Enforce), Version: api.LatestVersion()}
	exempt := append([]string{"kube-system"}, c.Spec.Security.PodSecurity.ExemptNamespaces...)
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	defaults := api.Policy{Enforce: enforce, Audit: privileged, Warn: privileged}
	rules, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return config.Problems{c.Problemf("", "Pod Security: %s", err)}
	}

	levels := map[string]api.LevelVersion{} // of the namespaces that have labels
	for _, o := range r.Objects {
		var namespace struct {
			Metadata meta.ObjectMeta `json:"metadata"`
		}
		if o.Kind != "Namespace" || yaml.Unmarshal(o.YAML, &namespace) != nil {
			continue
		}
		level, errs := api.PolicyToEvaluate(namespace.Metadata.Labels, defaults)
		if len(errs) > 0 {
			problems = append(problems, c.Problemf(addonPath(addon, o), "Namespace %s: %s", o.Name, errs.ToAggregate()))
			continue
		}
		levels[o.Name] = level.Enforce
	}

	for _, o := range r.Objects {
		namespace := cmp.Or(o.Namespace, "default")
		if slices.Contains(exempt, namespace) {
			continue
		}
		template, err := manifests.PodTemplate(o.Kind, o.YAML)
		if template == nil {
			continue
		}
		if err != nil {
			problems = append(problems, c.Problemf(addonPath(addon, o), "%s %s/%s: %s", o.Kind, namespace, o.Name, err))
			continue
		}
		level, ok := levels[namespace]
		if !ok {
			level = enforce
		}
		result := policy.AggregateCheckResults(rules.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
		if !result.Allowed {
			problems = append(problems, c.Problemf(addonPath(addon, o),
				"%s %s/%s: the Pod Security level %q of its namespace refuses its pods: %s; label the namespace pod-security.kubernetes.io/enforce: privileged, or name it in security.podSecurity.exemptNamespaces",
				o.Kind, namespace, o.Name, level.Level, result.ForbiddenDetail()))
		}
	}
	return problems
}

// addonPath is the place in the configuration that an object comes from.
func addonPath(addon map[string]int, o manifests.Object) string {
	if i, ok := addon[o.Path]; ok {
		return AddonField(i)
	}
	return "addons"
}

// AddonField is the place in the configuration of the i-th add-on.
func AddonField(i int) string { return fmt.Sprintf("addons[%d].path", i) }

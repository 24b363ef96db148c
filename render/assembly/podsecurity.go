package assembly

import (
	"cmp"
	"slices"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"kiln/manifests"
	"kiln/render/config"
)

// podSecurity returns a problem for each object whose pods the API server would refuse, by the API
// server's own rules. The server accepts a Deployment whose pods exceed the Pod Security level of
// their namespace and refuses only the pods: nothing starts, and only events say why. addon holds
// the index of an object's add-on by its path.
func (r *Cluster) podSecurity(addon map[string]int) (problems config.Problems) {
	c := r.Plan.Config
	latest := api.LatestVersion()
	wanted := &c.Spec.Security.PodSecurity
	enforce := api.LevelVersion{Level: api.Level(wanted.Enforce), Version: latest}
	exempt := append([]string{"kube-system"}, wanted.ExemptNamespaces...)
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: latest}
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
			problems = append(problems, c.Problemf(addonPath(addon, o),
				"Namespace %s: %s", o.Name, errs.ToAggregate()))
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
			problems = append(problems, c.Problemf(addonPath(addon, o),
				"%s %s/%s: %s", o.Kind, namespace, o.Name, err))
			continue
		}
		level, ok := levels[namespace]
		if !ok {
			level = enforce
		}
		results := rules.EvaluatePod(level, &template.ObjectMeta, &template.Spec)
		result := policy.AggregateCheckResults(results)
		if !result.Allowed {
			problems = append(problems, c.Problemf(addonPath(addon, o),
				"%s %s/%s: the Pod Security level %q of its namespace refuses its pods: %s; "+
					"label the namespace pod-security.kubernetes.io/enforce: privileged, "+
					"or name it in security.podSecurity.exemptNamespaces",
				o.Kind, namespace, o.Name, level.Level, result.ForbiddenDetail()))
		}
	}
	return problems
}

// This file finds the objects whose pods the API server would refuse by the Pod Security
// level of their namespace, with the API server's own rules.

package assembly

import (
	"cmp"
	"fmt"
	"slices"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
)

// Refusal is an object whose pods would be refused, or a namespace whose labels are wrong.
type Refusal struct {
	Object  manifests.Object
	Message string
}

// Refusals returns the objects whose pods the API server would refuse. The server accepts a
// Deployment whose pods exceed the Pod Security level of their namespace and refuses only the pods:
// nothing starts, and only events say why. Objects that cannot be read are left out: package check
// says what is wrong with them.
func Refusals(objects []manifests.Object, wanted *config.PodSecurity) ([]Refusal, error) {
	latest := api.LatestVersion()
	enforce := api.LevelVersion{Level: api.Level(wanted.Enforce), Version: latest}
	exempt := append([]string{"kube-system"}, wanted.ExemptNamespaces...)
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: latest}
	defaults := api.Policy{Enforce: enforce, Audit: privileged, Warn: privileged}
	rules, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, fmt.Errorf("rules of Pod Security: %w", err)
	}

	var refusals []Refusal
	levels := map[string]api.LevelVersion{} // of the namespaces that have labels
	for _, o := range objects {
		var namespace struct {
			Metadata meta.ObjectMeta `json:"metadata"`
		}
		if o.Kind != "Namespace" || o.Decode(&namespace) != nil {
			continue
		}
		level, errs := api.PolicyToEvaluate(namespace.Metadata.Labels, defaults)
		if len(errs) > 0 {
			refusals = append(refusals, Refusal{o,
				fmt.Sprintf("Namespace %s: %s", o.Name, errs.ToAggregate())})
			continue
		}
		levels[o.Name] = level.Enforce
	}

	for _, o := range objects {
		namespace := cmp.Or(o.Namespace, "default")
		if slices.Contains(exempt, namespace) {
			continue
		}
		template, err := o.PodTemplate()
		if template == nil || err != nil {
			continue
		}
		level, ok := levels[namespace]
		if !ok {
			level = enforce
		}
		results := rules.EvaluatePod(level, &template.ObjectMeta, &template.Spec)
		result := policy.AggregateCheckResults(results)
		if !result.Allowed {
			refusals = append(refusals, Refusal{o, fmt.Sprintf(
				"%s %s/%s: the Pod Security level %q of its namespace refuses its pods: %s; "+
					"label the namespace pod-security.kubernetes.io/enforce: privileged, "+
					"or name it in security.podSecurity.exemptNamespaces",
				o.Kind, namespace, o.Name, level.Level, result.ForbiddenDetail())})
		}
	}
	return refusals, nil
}

package manifests

import (
	"encoding/base64"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// The API server reads some settings from files. The user's patches reach them like any other
// object, under the name kube-apiserver.

// APIServer returns the settings of the API servers that hold no secret.
func APIServer(p *plan.Plan) Source {
	var src Source
	if p.Hardened() {
		src.Base = base("apiserver/audit.yaml", "apiserver/authentication.yaml")
	}
	if p.AdmissionControl() {
		src.Base = Join(src.Base, marshal(admission(p)))
	}
	return src
}

// APIServerPath returns the path on a machine of the settings of that kind.
func APIServerPath(kind string) string {
	return map[string]string{
		"AdmissionConfiguration":      plan.Admission,
		"AuthenticationConfiguration": plan.Authentication,
		"Policy":                      plan.AuditPolicy,
	}[kind]
}

// admission returns the settings of the admission plugins. The limits on events are wide: they stop
// a source that reports the same object again and again, and a flood of events that etcd could not
// store.
func admission(p *plan.Plan) object {
	security := p.Config.Spec.Security.PodSecurity
	exempt := list{system}
	for _, namespace := range security.ExemptNamespaces {
		exempt = append(exempt, namespace)
	}
	plugins := list{object{"name": "PodSecurity", "configuration": object{
		"apiVersion": "pod-security.admission.config.k8s.io/v1",
		"kind":       "PodSecurityConfiguration",
		"defaults":   object{"enforce": security.Enforce, "enforce-version": "latest"},
		"exemptions": object{"namespaces": exempt},
	}}}
	if p.Hardened() {
		plugins = append(plugins, object{"name": "EventRateLimit", "configuration": object{
			"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
			"kind":       "Configuration",
			"limits": list{
				object{"type": "Server", "qps": 5000, "burst": 20000},
				object{"type": "SourceAndObject", "qps": 10, "burst": 50, "cacheSize": 4096},
			},
		}})
	}
	return object{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
		"metadata": object{"name": target.APIServer}, "plugins": plugins,
	}
}

// EncryptionKey is a key that encrypts Secrets. What is stored begins with its provider, such as
// secretbox, and its name.
type EncryptionKey struct {
	Provider, Name string
	Key            []byte
}

// Encryption returns the configuration, a secret itself, by which the API servers write Secrets,
// and the resources that the user names, to etcd: by the KMS, with the first key or, if the user
// asks for it, in the clear. They read all of these in either case, so that a cluster can change
// from one to the other.
func Encryption(p *plan.Plan, keys []EncryptionKey) []byte {
	var providers list
	for len(keys) > 0 {
		provider, encoded := keys[0].Provider, list{}
		for len(keys) > 0 && keys[0].Provider == provider {
			secret := base64.StdEncoding.EncodeToString(keys[0].Key)
			encoded = append(encoded, object{"name": keys[0].Name, "secret": secret})
			keys = keys[1:]
		}
		providers = append(providers, object{provider: object{"keys": encoded}})
	}
	clear := object{"identity": object{}}
	if kms := p.Config.Spec.Security.KMS; kms != nil {
		providers = append(list{object{"kms": object{"apiVersion": "v2", "name": kms.Name,
			"endpoint": kms.Endpoint}}}, providers...)
	}
	if p.Config.Spec.Security.Encryption == "identity" {
		providers = append(list{clear}, providers...)
	} else {
		providers = append(providers, clear)
	}
	resources := append([]string{"secrets"}, p.Config.Spec.Security.EncryptedResources...)
	return marshal(object{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
		"resources": list{object{"resources": resources, "providers": providers}},
	})
}

// EncryptionShown returns what everybody may read of a configuration that Encryption made: the
// resources, and how they are written and read, without the keys and their names.
func EncryptionShown(text []byte) (lines []string) {
	var c struct {
		Resources []struct {
			Resources []string
			Providers []map[string]struct{ Name, Endpoint string }
		}
	}
	_ = yaml.Unmarshal(text, &c) // what cannot be read shows nothing
	for _, r := range c.Resources {
		lines = append(lines, "encrypts "+strings.Join(r.Resources, " "))
		for i, provider := range r.Providers {
			verb := "writes and reads"
			if i > 0 {
				verb = "reads"
			}
			for kind, is := range provider {
				line := verb + " with a key of the bundle"
				switch kind {
				case "kms":
					line = verb + " with kms " + is.Name + " at " + is.Endpoint
				case "identity":
					line = verb + " in the clear"
				}
				if !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

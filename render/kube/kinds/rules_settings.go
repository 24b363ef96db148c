package kinds

import (
	"net/url"

	"kiln.dev/kiln/render/text/yamltext"
)

// The rules of the settings of the API server are those that it reads its files by, in 1.36.3:
// k8s.io/apiserver/pkg/apis/audit/validation and pkg/apis/apiserver/validation,
// k8s.io/pod-security-admission/admission/api/validation, and k8s.io/kubernetes/plugin/pkg/
// admission/eventratelimit/apis/eventratelimit/validation. Expressions in CEL are left to it.

// securityLevel is the rule of a level of Pod Security.
var securityLevel = OneOf("privileged", "baseline", "restricted")

// settingRules are the rules of fields of the settings of the API server.
var settingRules = map[string]Rule{
	"audit/v1.PolicyRule level": OneOf("None", "Metadata", "Request", "RequestResponse"),
	"audit/v1.PolicyRule omitStages": eachOf("RequestReceived", "ResponseStarted",
		"ResponseComplete", "Panic"),
	"audit/v1.Policy omitStages": eachOf("RequestReceived", "ResponseStarted",
		"ResponseComplete", "Panic"),
	"api/v1.PodSecurityDefaults enforce": securityLevel,
	"api/v1.PodSecurityDefaults audit":   securityLevel,
	"api/v1.PodSecurityDefaults warn":    securityLevel,
	"eventratelimit/v1alpha1.Limit type": OneOf("Server", "Namespace", "User",
		"SourceAndObject"),
	"eventratelimit/v1alpha1.Limit qps":       AtLeast(1),
	"eventratelimit/v1alpha1.Limit burst":     AtLeast(1),
	"eventratelimit/v1alpha1.Limit cacheSize": NotNegative,
	"apiserver/v1.Issuer url":                 {Check: secureURL},
}

// settingRequired are the fields of the settings that must not be empty.
var settingRequired = map[string][]string{
	"audit/v1.Policy":                           {"rules"},
	"audit/v1.PolicyRule":                       {"level"},
	"apiserver/v1.Issuer":                       {"url", "audiences"},
	"apiserver/v1.JWTAuthenticator":             {"issuer"},
	"apiserver/v1.AdmissionPluginConfiguration": {"name"},
	"apiserver/v1.EncryptionConfiguration":      {"resources"},
	"apiserver/v1.ResourceConfiguration":        {"resources", "providers"},
	"eventratelimit/v1alpha1.Configuration":     {"limits"},
	"eventratelimit/v1alpha1.Limit":             {"type", "qps", "burst"},
}

// eachOf is the rule of a list whose elements must be some of these.
func eachOf(words ...string) Rule {
	return Rule{Check: func(v any) string {
		all, _ := v.([]any)
		for _, e := range all {
			if message := OneOf(words...).Check(e); message != "" {
				return message
			}
		}
		return ""
	}}
}

func secureURL(v any) string {
	s, _ := v.(string)
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Show(s) + " is not a URL with https and nothing but a host and a path"
	}
	return ""
}

// admission checks the settings of each admission plugin, which have kinds of their own.
func (c *Checker) admission(w *walk, o map[string]any, root *yamltext.Location) {
	plugins, _ := o["plugins"].([]any)
	seen := map[string]bool{}
	for i, p := range plugins {
		plugin, _ := p.(map[string]any)
		at := root.Key("plugins").Index(i)
		if name, ok := plugin["name"].(string); ok {
			if seen[name] {
				w.add(at, "another plugin has this name")
			}
			seen[name] = true
		}
		settings, _ := plugin["configuration"].(map[string]any)
		version, _ := settings["apiVersion"].(string)
		name, _ := settings["kind"].(string)
		if t := w.table.typeOf(kind{version, name}, c.minor); t != "" {
			w.value(settings, t, at.Key("configuration"))
		} else if settings != nil {
			w.unknownKind(kind{version, name}, at.Key("configuration"))
		}
	}
}

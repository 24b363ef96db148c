package kinds

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// The rules of the settings of the API server's plugins are those that it reads its files by, in
// 1.36.3: k8s.io/pod-security-admission/admission/api/validation, and k8s.io/kubernetes/plugin/pkg/
// admission/eventratelimit/apis/eventratelimit/validation. settings.go asks its own validators
// about its other files.

// securityLevel is the rule of a level of Pod Security.
var securityLevel = OneOf("privileged", "baseline", "restricted")

// securityVersion is the rule of the version of a level.
var securityVersion = Rule{Check: func(v any) string {
	if s, _ := v.(string); !levelVersion.MatchString(s) {
		return Show(s) + " is not a version of a level; write latest, or a minor such as v1.36"
	}
	return ""
}}

var levelVersion = regexp.MustCompile(`^(latest|v1\.(0|[1-9][0-9]*))$`)

// settingRules are the rules of fields of the settings of the API server.
var settingRules = map[string]Rule{
	"api/v1.PodSecurityDefaults enforce": securityLevel,
	"api/v1.PodSecurityDefaults audit":   securityLevel,
	"api/v1.PodSecurityDefaults warn":    securityLevel,

	"api/v1.PodSecurityDefaults enforce-version": securityVersion,
	"api/v1.PodSecurityDefaults audit-version":   securityVersion,
	"api/v1.PodSecurityDefaults warn-version":    securityVersion,
	"eventratelimit/v1alpha1.Limit type": OneOf("Server", "Namespace", "User",
		"SourceAndObject"),
	"apiserver/v1beta1.EgressSelection name":  OneOf("cluster", "controlplane", "etcd"),
	"eventratelimit/v1alpha1.Limit qps":       AtLeast(1),
	"eventratelimit/v1alpha1.Limit burst":     AtLeast(1),
	"eventratelimit/v1alpha1.Limit cacheSize": NotNegative,
}

// settingRequired are the fields of the settings that must not be empty.
var settingRequired = map[string][]string{
	"audit/v1.Policy": {"rules"},
	"apiserver/v1.AdmissionPluginConfiguration": {"name"},
	"eventratelimit/v1alpha1.Configuration":     {"limits"},
	"eventratelimit/v1alpha1.Limit":             {"type", "qps", "burst"},
}

// bareSettings are the settings of admission plugins that have no kind, and their fields
// (k8s.io/kubernetes 1.36, plugin/pkg/admission/podnodeselector and imagepolicy).
var bareSettings = map[string]struct {
	key    string
	fields []string // nil if all are allowed
}{
	"PodNodeSelector": {"podNodeSelectorPluginConfig", nil},
	"ImagePolicyWebhook": {"imagePolicy", []string{
		"kubeConfigFile", "allowTTL", "denyTTL", "retryBackoff", "defaultAllow",
	}},
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
		pluginName, _ := plugin["name"].(string)
		if bare := bareSettings[pluginName]; bare.key != "" && version == "" && name == "" {
			w.bare(settings, bare.key, bare.fields, at.Key("configuration"))
			continue
		}
		plugins := slices.Sorted(maps.Keys(bareSettings))
		if near := wording.Nearest(pluginName, plugins); near != "" && version == "" {
			w.add(at.Key("name"), "no plugin is called so; did you mean %q?", near)
			continue
		}
		if t := w.table.typeOf(kind{version, name}, c.minor); t != "" {
			w.value(settings, t, at.Key("configuration"))
		} else if settings != nil {
			w.unknownKind(kind{version, name}, at.Key("configuration"))
		}
	}
}

// bare checks settings that have one field, and below it some of these.
func (w *walk) bare(settings map[string]any, key string, fields []string, at *yamltext.Location) {
	for _, given := range slices.Sorted(maps.Keys(settings)) {
		if given != key {
			w.add(at.Key(given), "the settings of this plugin have the one field %s", key)
		}
	}
	values, isMap := settings[key].(map[string]any)
	if !isMap {
		w.add(at, "the settings of this plugin stand below %s", key)
	}
	for _, given := range slices.Sorted(maps.Keys(values)) {
		if fields != nil && !slices.Contains(fields, given) {
			w.add(at.Key(key).Key(given), "no such field%s",
				cmp.Or(wording.Hint(given, fields), "; there are "+strings.Join(fields, ", ")))
		}
	}
}

package kinds

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// The rules of the settings of the API server's plugins are those that it reads its files by, in
// 1.36.3: k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit/validation.
// settings.go asks its own validators about its other files.

var settingRules = map[string]Rule{
	"eventratelimit/v1alpha1.Limit type": OneOf("Server", "Namespace", "User",
		"SourceAndObject"),
	"apiserver/v1beta1.EgressSelection name":  OneOf("cluster", "controlplane", "etcd"),
	"eventratelimit/v1alpha1.Limit qps":       AtLeast(1),
	"eventratelimit/v1alpha1.Limit burst":     AtLeast(1),
	"eventratelimit/v1alpha1.Limit cacheSize": NotNegative,
}

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
		if file, _ := plugin["path"].(string); file != "" && settings == nil {
			continue // its settings are in that file
		}
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
			data, _ := json.Marshal(settings) // of YAML, which has no other values
			f := c.fault(w, at.Key("configuration"))
			for _, rule := range documents[name] {
				rule(f, data)
			}
		} else if settings != nil {
			w.unknownKind(kind{version, name}, at.Key("configuration"))
		}
	}
}

func (c *Checker) pluginArgs(w *walk, o map[string]any, root *yamltext.Location) {
	const schedulers = "kubescheduler.config.k8s.io/v1"
	profiles, _ := o["profiles"].([]any)
	for i, profile := range profiles {
		fields, _ := profile.(map[string]any)
		configs, _ := fields["pluginConfig"].([]any)
		for j, config := range configs {
			plugin, _ := config.(map[string]any)
			name, _ := plugin["name"].(string)
			args, _ := plugin["args"].(map[string]any)
			at := root.Key("profiles").Index(i).Key("pluginConfig").Index(j).Key("args")
			if t := w.table.typeOf(kind{schedulers, name + "Args"}, c.minor); t != "" {
				w.value(args, t, at)
			}
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

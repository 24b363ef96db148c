package kinds

import (
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// configMap checks the settings of kube-proxy and of CoreDNS, which are texts in ConfigMaps.
func (c *Checker) configMap(w *walk, o map[string]any, root *yamltext.Location) {
	metadata, _ := o["metadata"].(map[string]any)
	data, _ := o["data"].(map[string]any)
	if metadata["namespace"] != "kube-system" {
		return
	}
	switch metadata["name"] {
	case "kube-proxy":
		for _, key := range []string{"config.conf", "kubeconfig.conf"} {
			text, ok := data[key].(string)
			if !ok {
				continue
			}
			for _, f := range c.check([]byte(text), nil) {
				if strings.HasPrefix(f.Message, "apiVersion or kind") && key == "config.conf" {
					f.Message = "apiVersion and kind are missing, because this replaces the " +
						"whole text; write all of it, or change single fields with a patch " +
						"whose target is {kind: KubeProxyConfiguration}"
				}
				w.found = append(w.found, mistake{root.Key("data").Key(key), f.Path, f.Message})
			}
		}
	case "coredns":
		if text, ok := data["Corefile"].(string); ok {
			if wrong := corefile(text, surroundings{
				c.AnyPlugin, c.minor, c.DNSDomain, c.DNSAddress,
			}); wrong != "" {
				w.add(root.Key("data").Key("Corefile"), "%s", wrong)
			}
		}
	}
}

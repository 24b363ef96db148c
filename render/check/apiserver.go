package check

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// settled are the admission plugins that do not start without settings of their own
// (k8s.io/kubernetes 1.36, plugin/pkg/admission/eventratelimit and imagepolicy).
var settled = []string{"EventRateLimit", "ImagePolicyWebhook"}

var probed = []string{"/livez", "/readyz"}

// checkAPIServer checks admission plugins against their settings, and that probes get an answer.
func (c *inspection) checkAPIServer() {
	api := c.component(target.APIServer)
	if api == nil {
		return
	}
	var admission struct{ Plugins []struct{ Name string } }
	c.readSettings(api, "admission-control-config-file", &admission)
	for _, plugin := range machine.SplitList(api.Flag("enable-admission-plugins")) {
		has := slices.ContainsFunc(admission.Plugins, func(p struct{ Name string }) bool {
			return p.Name == plugin
		})
		if slices.Contains(settled, plugin) && !has {
			c.fail("%s: the admission plugin %s has no settings, and the API server exits without "+
				"them; write them into the AdmissionConfiguration, or leave the plugin "+
				"out", api, plugin)
		}
	}
	const remedy = "the kubelet asks for %s without a credential, and would end an API server " +
		"that refuses; leave anonymous requests for /livez, /readyz and /healthz on"
	if api.Flag("anonymous-auth") == "false" {
		c.fail("%s: "+remedy+": remove --anonymous-auth", api, probed[0])
	}
	var authentication struct {
		Anonymous *struct {
			Enabled    bool
			Conditions []struct{ Path string }
		}
	}
	c.readSettings(api, "authentication-config", &authentication)
	file, anonymous := api.Flag("authentication-config"), authentication.Anonymous
	for _, name := range slices.Sorted(maps.Keys(api.Flags)) {
		if strings.HasPrefix(name, "oidc-") && file != "" ||
			name == "anonymous-auth" && anonymous != nil {
			c.fail("%s: --%s is set beside --authentication-config, and the API server exits with "+
				"both; write it into the file %s", api, name, file)
		}
	}
	if anonymous == nil {
		return
	}
	for _, path := range probed {
		allowed := func(p struct{ Path string }) bool { return p.Path == path }
		if !anonymous.Enabled || len(anonymous.Conditions) > 0 &&
			!slices.ContainsFunc(anonymous.Conditions, allowed) {
			c.fail("file %s: "+remedy, file, path)
			return
		}
	}
}

func (c *inspection) readSettings(p *machine.Program, flag string, into any) {
	if p.Flag(flag) == "" {
		return
	}
	f := c.tree.Exact(p.File(flag).Path)
	if f != nil && yamltext.Object.Check(f.Content) == nil {
		_ = yaml.Unmarshal(f.Content, into) // what is not YAML is reported elsewhere
	}
}

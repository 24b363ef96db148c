package machine

import (
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/plan"
)

// proxy checks the flags and feature gates of kube-proxy, which runs on every machine as the same
// object. An object that cannot be read is the finding of another check.
func (c *inspection) proxy() {
	known, ok := flags.FindProgram(flags.Proxy, c.plan.Release.Minor)
	for i := range c.machine.Node.Files {
		f := &c.machine.Node.Files[i]
		switch {
		case !ok || path.Dir(f.Path)+"/" != plan.ObjectsDir:
		case strings.HasSuffix(f.Path, "-daemonset-kube-proxy.yaml"):
			var set appsv1.DaemonSet
			if yaml.Unmarshal(f.Content, &set) == nil && set.Namespace == "kube-system" {
				c.proxyCommand(known, f, set.Spec.Template.Spec.Containers)
			}
		case strings.HasSuffix(f.Path, "-configmap-kube-proxy.yaml"):
			var object corev1.ConfigMap
			var settings struct {
				FeatureGates map[string]bool `json:"featureGates"`
			}
			if yaml.Unmarshal(f.Content, &object) != nil || object.Namespace != "kube-system" ||
				yaml.Unmarshal([]byte(object.Data["config.conf"]), &settings) != nil {
				continue
			}
			for _, found := range known.Check(nil, settings.FeatureGates) {
				c.report(found, "ConfigMap kube-proxy: config.conf", c.source(f, "data"))
			}
		}
	}
}

// proxyCommand checks the containers that run kube-proxy.
func (c *inspection) proxyCommand(
	known flags.Program, f *node.File, containers []corev1.Container,
) {
	for i := range containers {
		command := containers[i].Command
		if len(command) > 0 && path.Base(command[0]) == flags.Proxy {
			c.container(known, f, "DaemonSet kube-proxy", "spec.template.spec", &containers[i])
		}
	}
}

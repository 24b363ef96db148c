package addons

import "slices"

// program is a network of pods that kiln knows, by the container of it that runs on each machine.
type program struct {
	name, container string
	// beside reports whether the program leaves the pods' interfaces to another network, and only
	// enforces policies.
	beside func(j *judge, o *object) bool
}

// programs are the networks of pods.
var programs = []program{
	{"Flannel", "kube-flannel", func(*judge, *object) bool { return false }},
	{"Calico", "calico-node", func(_ *judge, o *object) bool {
		// As in Calico's canal.yaml and calico-policy-only.yaml.
		return o.env("calico-node", "CALICO_NETWORKING_BACKEND") == "none"
	}},
	{"Cilium", "cilium-agent", func(j *judge, _ *object) bool {
		mode := j.configMap("cilium-config").text("data", "cni-chaining-mode")
		return mode != "" && mode != "none"
	}},
}

// enforcers are the containers that enforce network policies on each machine.
var enforcers = []string{
	"antrea-agent", "calico-node", "cilium-agent", "kube-network-policies", "kube-router",
}

// proxies are the containers that do the work of kube-proxy, and nothing has to switch that on.
var proxies = []string{"kube-proxy", "kube-router"}

// brought returns the network of pods that an object brings to the machines; nil if it brings none
// that kiln knows.
func (j *judge) brought(o *object) *program {
	if o.Kind == "Installation" && o.calico() {
		if plugin := o.text("spec", "cni", "type"); plugin == "" || plugin == "Calico" {
			return &programs[1]
		}
		return nil
	}
	if o.Kind != "DaemonSet" {
		return nil
	}
	for i := range programs {
		if p := &programs[i]; o.runs(p.container) && !p.beside(j, o) {
			return p
		}
	}
	return nil
}

// replacesProxy reports whether an object is known to do the work of kube-proxy.
func (j *judge) replacesProxy() bool {
	return slices.ContainsFunc(j.objects, func(o *object) bool {
		return slices.ContainsFunc(proxies, o.runs) ||
			o.is("ConfigMap", "cilium-config") &&
				o.text("data", "kube-proxy-replacement") == "true" ||
			o.env("calico-node", "FELIX_BPFENABLED") == "true" ||
			o.Kind == "Installation" &&
				o.text("spec", "calicoNetwork", "linuxDataplane") == "BPF"
	})
}

package manifests

import (
	"encoding/json"
	"fmt"
	"strings"

	"kiln/render/plan"
	"kiln/render/target"
)

// FlannelNamespace is the namespace of Flannel's objects. Its pods need more rights than those of
// other namespaces may have.
const FlannelNamespace = "kube-flannel"

// flannel returns the patches of Flannel's objects: the networks and the backend, the images, the
// way to the API server, and the folder of CNI plugins.
func flannel(p *plan.Plan) []*Patch {
	settings := newPatch("v1", "ConfigMap", FlannelNamespace, "kube-flannel-cfg")
	settings.set(plan.Origin{Field: "network"},
		object{"data": object{"net-conf.json": flannelNetwork(p)}})
	daemons := newPatch("apps/v1", "DaemonSet", FlannelNamespace, "kube-flannel-ds")
	host := p.Loopback().String()
	probe := object{"httpGet": object{"host": host}}
	daemons.set(plan.Origin{Field: "network.podSubnets"}, podTemplate(object{
		"name": "kube-flannel", "command": flannelCommand(p),
		"readinessProbe": probe, "livenessProbe": probe,
	}))
	// The pod finds the API server without kube-proxy: it starts before it, or there is none.
	server, port := p.ProxyEndpoint()
	daemons.set(plan.Origin{Field: "endpoint"}, podTemplate(object{
		"name": "kube-flannel", "env": variables([]plan.Variable{
			{Name: "KUBERNETES_SERVICE_HOST", Value: server},
			{Name: "KUBERNETES_SERVICE_PORT", Value: fmt.Sprint(port)},
		}),
	}))
	for _, step := range p.ImageSteps(target.FlannelPlugin) {
		daemons.set(step.From, initContainer(object{
			"name": "install-cni-plugin", "image": step.Ref,
		}))
	}
	for _, step := range p.ImageSteps(target.Flannel) {
		daemons.set(step.From, podTemplate(object{"name": "kube-flannel", "image": step.Ref}))
	}
	// config refuses machines with different folders.
	if folder := p.CNIFolder(); folder != target.CNIBinDir {
		daemons.set(plan.Origin{Field: "machines.profile.cniFolder"}, object{
			"spec": object{"template": object{"spec": object{"volumes": list{object{
				"name": "cni-plugin", "hostPath": object{"path": folder},
			}}}}},
		})
	}
	return []*Patch{settings, daemons}
}

// initContainer returns a workload whose pods have that init container.
func initContainer(container object) object {
	spec := object{"initContainers": list{container}}
	return object{"spec": object{"template": object{"spec": spec}}}
}

// flannelCommand returns the command line of flanneld. A Node's address of each family tells it the
// interface. With dual stack a shell divides the two: Kubernetes has them in one value, in the
// order of the Node, and flanneld takes the one of IPv4 as the interface.
func flannelCommand(p *plan.Plan) list {
	arguments := []string{
		"--kube-subnet-mgr", "--ip-masq",
		"--healthz-ip=" + p.Loopback().String(),
		fmt.Sprintf("--healthz-port=%d", target.FlannelHealthPort),
	}
	if !p.DualStack() {
		out := list{flanneld}
		for _, a := range append(arguments, "--iface=$(HOST_IP)") {
			out = append(out, a)
		}
		return out
	}
	first, second := `--iface="${HOST_IPS%,*}"`, `--public-ipv6="${HOST_IPS#*,}"`
	if p.PodSubnets[0].Addr().Is6() {
		first, second = `--iface="${HOST_IPS#*,}"`, `--public-ipv6="${HOST_IPS%,*}"`
	}
	words := append([]string{"exec", flanneld}, append(arguments, first, second)...)
	return list{"/bin/sh", "-c", strings.Join(words, " ")}
}

const flanneld = "/opt/bin/flanneld"

// flannelNetwork returns Flannel's own configuration, net-conf.json.
func flannelNetwork(p *plan.Plan) string {
	network := &p.Config.Spec.Network
	conf := object{"EnableNFTables": network.Proxy == "nftables"}
	is4, is6 := false, false
	for _, s := range p.PodSubnets {
		if s.Addr().Is4() {
			is4, conf["Network"] = true, s.String()
		} else {
			is6, conf["IPv6Network"] = true, s.String()
		}
	}
	conf["EnableIPv4"], conf["EnableIPv6"] = is4, is6
	settings := &network.Flannel
	backend := object{"Type": settings.Backend}
	switch settings.Backend {
	case plan.FlannelVXLAN:
		backend["Port"] = settings.Port
		backend["DirectRouting"] = settings.DirectRouting
	case plan.FlannelWireGuard:
		// One port for each family, and the second one follows the first.
		backend["ListenPort"], backend["ListenPortV6"] = settings.Port, settings.Port
		if p.DualStack() {
			backend["ListenPortV6"] = settings.Port + 1
		}
	}
	if settings.MTU != 0 {
		backend["MTU"] = settings.MTU
	}
	conf["Backend"] = backend
	text, err := json.MarshalIndent(conf, "", "  ")
	if err != nil {
		panic("manifests: Flannel's network: " + err.Error()) // it has strings, numbers, booleans
	}
	return string(text) + "\n"
}

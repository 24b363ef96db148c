package manifests

import (
	"encoding/json"
	"fmt"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// FlannelNamespace is the namespace of Flannel's objects. Its pods need more rights than those of
// other namespaces may have.
const FlannelNamespace = "kube-flannel"

// FlannelDaemonSet is the name of the DaemonSet there.
const FlannelDaemonSet = "kube-flannel-ds"

// flannel returns the patches of Flannel's objects: the networks and the backend, the images, the
// way to the API server, and the folder of CNI plugins.
func flannel(p *plan.Plan) []*Patch {
	settings := newPatch("v1", "ConfigMap", FlannelNamespace, "kube-flannel-cfg")
	settings.set(plan.Origin{Field: "network"},
		object{"data": object{"net-conf.json": flannelNetwork(p)}})
	daemons := newPatch("apps/v1", "DaemonSet", FlannelNamespace, FlannelDaemonSet)
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
		image := object{"name": "install-cni-plugin", "image": step.Ref}
		daemons.set(step.From, object{"spec": object{"template": object{"spec": object{
			"initContainers": list{image},
		}}}})
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

// flannelCommand returns the command line of flanneld. A Node's address of each family tells it the
// interface. With dual stack Kubernetes has both addresses in one value, in the Node's own order,
// and a shell divides them.
func flannelCommand(p *plan.Plan) (command list) {
	words := []string{
		flanneld, "--kube-subnet-mgr", "--ip-masq",
		"--healthz-ip=" + p.Loopback().String(),
		fmt.Sprintf("--healthz-port=%d", target.FlannelHealthPort),
	}
	if p.DualStack() {
		const divide = "a=${HOST_IPS%,*} b=${HOST_IPS#*,}; " +
			"case $a in *:*) a=$b b=${HOST_IPS%,*} ;; esac; exec "
		return list{"/bin/sh", "-c",
			divide + strings.Join(words, " ") + ` --iface="$a" --public-ipv6="$b"`}
	}
	for _, word := range append(words, "--iface=$(HOST_IP)") {
		command = append(command, word)
	}
	return command
}

const flanneld = "/opt/bin/flanneld"

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

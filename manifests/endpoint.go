package manifests

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net"
	"strconv"
	"text/template"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// kubeVIP returns the patch with the address, and with this machine's API server, for the pod that
// carries the address. The pod mounts the machine's kube-vip.conf at the path where kube-vip 1.1
// looks for a kubeconfig, whatever its settings say (kube-vip#1627).
func kubeVIP(p *plan.Plan, m *plan.Machine) *Patch {
	pod := newPod(p, target.KubeVIP)
	pod.container(plan.Origin{Field: "controlPlane.vip"},
		object{"env": variables(p.VIPVariables(m))})
	return pod.Patch
}

// balancer returns the patch with the balancer's ports. The kubelet restarts a static pod only when
// its manifest changes, so the manifest has the checksum of the balancer's configuration.
func balancer(p *plan.Plan) *Patch {
	pod := newPod(p, target.HAProxy)
	host := p.Loopback().String()
	pod.probeAt(plan.Origin{Field: "network.podSubnets"}, host)
	pod.container(plan.Origin{Field: "workers.localBalancer.port"}, object{"ports": list{
		object{"name": "api", "containerPort": p.BalancerPort, "hostIP": host, "protocol": "TCP"},
	}})
	pod.container(plan.Kiln, object{"ports": list{
		object{"name": "health", "containerPort": target.BalancerHealthPort, "hostIP": host,
			"protocol": "TCP"},
	}})
	sum := object{"kiln.dev/config-sha256": BalancerSum(Balancer(p))}
	pod.set(plan.Kiln, object{"metadata": object{"annotations": sum}})
	return pod.Patch
}

// BalancerSum returns the checksum of a balancer's configuration for its pod's annotation.
func BalancerSum(conf []byte) string { return fmt.Sprintf("%x", sha256.Sum256(conf)) }

// Balancer returns the configuration of the balancers on workers. It holds no secret.
func Balancer(p *plan.Plan) []byte {
	type server struct{ Name, Address string }
	host := p.Loopback().String()
	data := struct {
		Bind, Health, CA string
		Servers          []server
	}{
		Bind:   net.JoinHostPort(host, strconv.Itoa(p.BalancerPort)),
		Health: net.JoinHostPort(host, strconv.Itoa(target.BalancerHealthPort)),
		CA:     plan.CACert,
	}
	for _, i := range p.ControlPlanes {
		m := &p.Machines[i]
		address := net.JoinHostPort(m.Addresses[0].String(), strconv.Itoa(target.APIServerPort))
		data.Servers = append(data.Servers, server{m.Name, address})
	}
	var b bytes.Buffer
	if err := balancerConf.Execute(&b, data); err != nil {
		panic("manifests: haproxy.cfg: " + err.Error())
	}
	return b.Bytes()
}

var balancerConf = template.Must(template.New("haproxy.cfg").Option("missingkey=error").Parse(
	string(base("haproxy.cfg"))))

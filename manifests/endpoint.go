package manifests

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net"
	"strconv"
	"text/template"

	"kiln/render/plan"
)

// kubeVIP puts the address and this machine's API server into the pod that carries the address. It has the machine's
// kube-vip.conf where kube-vip 1.1 looks for a kubeconfig, whatever its settings say (kube-vip#1627).
func kubeVIP(p *plan.Plan, m *plan.Machine) string {
	c := image(p, plan.KubeVIP)
	var env list
	for _, v := range p.VIPVariables(m) {
		env = append(env, object{"name": v.Name, "value": v.Value})
	}
	c["env"] = env
	return staticPod(plan.KubeVIP, c, nil)
}

// balancer puts the balancer's port into its pod. The sum of its configuration makes another pod of another configuration:
// the kubelet looks at the manifest alone.
func balancer(p *plan.Plan) string {
	c := image(p, plan.HAProxy)
	host := p.Loopback().String()
	c["ports"] = list{
		object{"name": "api", "containerPort": p.BalancerPort, "hostIP": host, "protocol": "TCP"},
		object{"name": "health", "containerPort": plan.BalancerHealthPort, "hostIP": host, "protocol": "TCP"},
	}
	probeAt(c, host)
	return patch("v1", "Pod", system, plan.HAProxy, object{
		"metadata": object{"annotations": object{"kiln.dev/config-sha256": BalancerSum(Balancer(p))}},
		"spec":     object{"containers": list{c}},
	})
}

// BalancerSum is what the balancer's pod says of its configuration.
func BalancerSum(conf []byte) string { return fmt.Sprintf("%x", sha256.Sum256(conf)) }

// Balancer returns the configuration of the balancers on the workers, which is the same on all of them. It holds no secret.
func Balancer(p *plan.Plan) []byte {
	type server struct{ Name, Address string }
	host := p.Loopback().String()
	data := struct {
		Bind, Health, CA string
		Servers          []server
	}{
		Bind: net.JoinHostPort(host, strconv.Itoa(p.BalancerPort)), Health: net.JoinHostPort(host, strconv.Itoa(plan.BalancerHealthPort)), CA: plan.CACert,
	}
	for _, i := range p.ControlPlanes {
		m := &p.Machines[i]
		data.Servers = append(data.Servers, server{m.Name, net.JoinHostPort(m.Addresses[0].String(), strconv.Itoa(plan.APIServerPort))})
	}
	var b bytes.Buffer
	if err := balancerConf.Execute(&b, data); err != nil {
		panic("manifests: haproxy.cfg: " + err.Error())
	}
	return b.Bytes()
}

var balancerConf = template.Must(template.New("haproxy.cfg").Option("missingkey=error").Parse(string(base("haproxy.cfg"))))

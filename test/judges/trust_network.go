package judges

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kiln.dev/kiln/test/judges/machine"
)

// prefixes reads a list of subnets; what is none is for flagsJudge.
func prefixes(list string) (out []netip.Prefix) {
	for text := range strings.SplitSeq(list, ",") {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// dns: pods ask the addresses that the Service kube-dns has, in the subnets of Services.
func (t *trust) dns() {
	if !t.at.Joins() {
		return
	}
	asked := machine.Read[struct{ ClusterDNS []string }](t.at.File(kubeletConfig)).ClusterDNS
	services := prefixes(t.option(t.first(), "kube-apiserver", "service-cluster-ip-range"))
	for _, f := range t.first().Under(objectsDir) {
		service := machine.Read[corev1.Service](f)
		if service.Kind != "Service" || service.Name != "kube-dns" {
			continue
		}
		serves := service.Spec.ClusterIPs
		if len(serves) == 0 {
			serves = []string{service.Spec.ClusterIP}
		}
		if !slices.Equal(asked, serves) {
			t.find("%s: clusterDNS is %v, but the Service kube-dns has %v",
				kubeletConfig, asked, serves)
		}
	}
	for _, text := range asked {
		address, err := netip.ParseAddr(text)
		within := func(p netip.Prefix) bool { return p.Contains(address) }
		if err != nil || !slices.ContainsFunc(services, within) {
			t.find("%s: clusterDNS %s is no address of Services", kubeletConfig, text)
		}
	}
}

// proxy checks that kube-proxy reaches the API server at the endpoint of all machines, knows the
// pod subnets, and serves nobody outside the machine.
func (t *trust) proxy() {
	for _, f := range t.at.Under(objectsDir) {
		object := machine.Read[corev1.ConfigMap](f)
		if object.Kind != "ConfigMap" || object.Name != "kube-proxy" {
			continue
		}
		config := machine.Read[struct{ ClusterCIDR, MetricsBindAddress string }](
			&File{Content: []byte(object.Data["config.conf"])},
		)
		pods := t.option(t.at, "kube-controller-manager", "cluster-cidr")
		if config.ClusterCIDR != pods {
			t.find("%s: clusterCIDR is %s, but pods are in %s", f.Path, config.ClusterCIDR, pods)
		}
		host, _, _ := strings.Cut(config.MetricsBindAddress, ":")
		if host != "" && host != "127.0.0.1" {
			t.find("%s: metricsBindAddress is %s", f.Path, config.MetricsBindAddress)
		}
		server := readKubeconfig(&File{Content: []byte(object.Data["kubeconfig.conf"])}).server
		if loopback(server) {
			t.checkLoopback(f.Path, server)
		} else if !slices.Contains(t.servers, server) {
			t.find("%s: the server %s is in no machine's kubeconfig", f.Path, server)
		}
	}
}

// listeners returns the ports on which the machine's own programs listen, each with who does.
func (t *trust) listeners(m *Machine) map[string][]string {
	or := func(component, flag, otherwise string) string {
		if text := t.option(m, component, flag); text != "" {
			return text
		}
		return otherwise
	}
	config := machine.Read[struct{ Port, HealthzPort int }](m.File(kubeletConfig))
	out := map[string][]string{"kubelet": {
		fmt.Sprint(max(config.Port, 10250)), fmt.Sprint(max(config.HealthzPort, 10248)),
	}}
	if m.ControlPlane() {
		out["kube-apiserver"] = []string{or("kube-apiserver", "secure-port", "6443")}
		out["kube-controller-manager"] = []string{
			or("kube-controller-manager", "secure-port", "10257"),
		}
		out["kube-scheduler"] = []string{or("kube-scheduler", "secure-port", "10259")}
	}
	if t.commands[m]["kube-proxy"] != nil {
		out["kube-proxy"] = []string{"10249", "10256"}
	}
	var etcd []string
	for _, flag := range []string{
		"listen-client-urls", "listen-client-http-urls", "listen-peer-urls", "listen-metrics-urls",
	} {
		for text := range strings.SplitSeq(t.option(m, "etcd", flag), ",") {
			if u, err := url.Parse(text); err == nil && u.Port() != "" {
				etcd = append(etcd, flag+" "+u.Port())
			}
		}
	}
	for _, w := range m.workloads() {
		if w.name == "kube-vip" || w.name == "haproxy" {
			for _, p := range w.spec.Containers[0].Ports {
				out[w.name] = append(out[w.name], fmt.Sprint(p.ContainerPort))
			}
		}
	}
	slices.Sort(etcd)
	for _, one := range slices.Compact(etcd) {
		_, port, _ := strings.Cut(one, " ")
		out["etcd"] = append(out["etcd"], port)
	}
	return out
}

// ports: no two listen on one port.
func (t *trust) ports() {
	by := map[string]string{}
	listeners := t.listeners(t.at)
	for _, name := range components {
		for _, port := range listeners[name] {
			if other, ok := by[port]; ok {
				t.find("%s and %s both listen on port %s", other, name, port)
			}
			by[port] = name
		}
	}
}

// probes: the kubelet probes static pods where they listen.
func (t *trust) probes() {
	listeners := t.listeners(t.at)
	for _, w := range t.at.workloads() {
		if w.kind != "Pod" {
			continue
		}
		c := &w.spec.Containers[0]
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if probe == nil || probe.HTTPGet == nil {
				continue
			}
			port := probe.HTTPGet.Port.String()
			if probe.HTTPGet.Port.Type == intstr.String {
				for _, p := range c.Ports {
					if p.Name == port {
						port = fmt.Sprint(p.ContainerPort)
					}
				}
			}
			if !slices.Contains(listeners[w.name], port) {
				t.find("%s: a probe asks port %s, but %s listens on %v",
					w.file, port, w.name, listeners[w.name])
			}
			host := probe.HTTPGet.Host
			if host != "127.0.0.1" &&
				host != t.option(t.at, "kube-apiserver", "advertise-address") {
				t.find("%s: a probe asks %s", w.file, host)
			}
		}
	}
}

// images checks that each image is pinned, is the same on every machine, and comes from the
// repository of the others. An image of Kubernetes has the version of the cluster.
func (t *trust) images() {
	first := t.first().imagesByName()
	repository := path.Dir(first["kube-apiserver"])
	for name, image := range t.at.imagesByName() {
		tagged, _, _ := strings.Cut(path.Base(image), "@")
		_, tag, _ := strings.Cut(tagged, ":")
		switch {
		case !pinned(image):
			t.find("%s: the image %s is not pinned", name, image)
		case first[name] != "" && image != first[name]:
			t.find("%s: the image is %s, on %s it is %s", name, image, t.first().Name, first[name])
		case slices.Contains([]string{"kube-vip", "haproxy", "kube-flannel-ds"}, name):
			// theirs are other people's
		case strings.HasPrefix(name, "kube-") && tag != t.at.Kubernetes:
			t.find("%s: the image %s is not of %s", name, image, t.at.Kubernetes)
		case name != "pause" && path.Dir(image) != repository &&
			path.Dir(image) != repository+"/coredns":
			t.find("%s: the image %s is not from %s", name, image, repository)
		}
	}
}

var sandboxImage = regexp.MustCompile(`(?:sandbox_image|sandbox|pause_image) = "([^"]+)"`)

// imagesByName returns the images of the machine's workloads, and the image of the runtime's
// sandbox as pause.
func (m *Machine) imagesByName() map[string]string {
	out := map[string]string{}
	for _, w := range m.workloads() {
		out[w.name] = w.spec.Containers[0].Image
	}
	for _, f := range m.Files {
		if strings.HasPrefix(f.Path, "/etc/containerd/") ||
			strings.HasPrefix(f.Path, "/etc/crio/") {
			if found := sandboxImage.FindSubmatch(f.Content); found != nil {
				out["pause"] = string(found[1])
			}
		}
	}
	return out
}

// node: a control plane is marked as one, under its own name.
func (t *trust) node() {
	node := machine.Read[corev1.Node](t.at.File("/etc/kiln/node.yaml"))
	if node.Name != t.at.Name {
		t.find("/etc/kiln/node.yaml: it is for %q", node.Name)
	}
	for _, label := range []string{
		"node-role.kubernetes.io/control-plane",
		"node.kubernetes.io/exclude-from-external-load-balancers",
	} {
		if _, ok := node.Labels[label]; !ok {
			t.find("/etc/kiln/node.yaml: the label %s is missing", label)
		}
	}
}

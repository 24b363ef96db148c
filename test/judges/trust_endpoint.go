package judges

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// loopback reports whether a URL leads to the machine itself.
func loopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.IsLoopback()
}

// checkLoopback checks that a loopback URL leads to an API server: on a worker its balancer listens
// there, and if all machines have the URL, the API servers of control planes listen there too.
func (t *trust) checkLoopback(by, server string) {
	ofAll := t.at.ControlPlane()
	for _, m := range t.cluster {
		if m != t.at && !ofAll || !m.Joins() {
			continue
		}
		port := t.option(m, "kube-apiserver", "secure-port")
		if m.ControlPlane() {
			if !strings.HasSuffix(server, ":"+port) {
				t.find("%s: the server is %s, but the API server on %s listens on port %s", by,
					server, m.Name, port)
			}
			continue
		}
		if binds, _ := balancerOf(m); !slices.Contains(binds,
			strings.TrimPrefix(server, "https://")) {
			t.find("%s: the server is %s, but the balancer on %s listens on %v", by,
				server, m.Name, binds)
		}
	}
}

const balancerConf = "/etc/kubernetes/haproxy.cfg"

// balancerOf returns where a machine's balancer listens, and to whom it passes on.
func balancerOf(m *Machine) (binds, servers []string) {
	f := m.File(balancerConf)
	if f == nil {
		return nil, nil
	}
	for line := range strings.Lines(string(f.Content)) {
		switch words := strings.Fields(line); {
		case len(words) > 1 && words[0] == "bind":
			binds = append(binds, words[1])
		case len(words) > 2 && words[0] == "server":
			servers = append(servers, words[2])
		}
	}
	return binds, servers
}

// balancer checks that every worker has a balancer or none has one, and that it listens on loopback
// alone, knows every control plane, and accepts only servers with a certificate of the cluster.
func (t *trust) balancer() {
	pod := t.commands[t.at]["haproxy"] != nil
	if conf := t.at.File(balancerConf) != nil; conf != pod {
		t.find("%s: pod and configuration of the balancer are not both there", balancerConf)
	}
	if t.at.Role != "worker" {
		if pod {
			t.find("%s: it is for workers", balancerConf)
		}
		return
	}
	for _, m := range t.cluster {
		if m.Role == "worker" && (t.commands[m]["haproxy"] != nil) != pod {
			t.find("there is a balancer on some workers, and none on %s", m.Name)
		}
	}
	if !pod || t.at.File(balancerConf) == nil {
		return
	}
	binds, servers := balancerOf(t.at)
	for _, bind := range binds {
		if !loopback("https://" + bind) {
			t.find("%s: it listens on %s", balancerConf, bind)
		}
	}
	var want []string
	for _, m := range t.controlPlanes {
		want = append(want, net.JoinHostPort(t.option(m, "kube-apiserver", "advertise-address"),
			t.option(m, "kube-apiserver", "secure-port")))
	}
	if !slices.Equal(slices.Sorted(slices.Values(servers)), slices.Sorted(slices.Values(want))) {
		t.find("%s: it passes on to %v, want %v", balancerConf, servers, want)
	}
	if !strings.Contains(string(t.at.File(balancerConf).Content),
		" verify required ca-file /etc/kubernetes/pki/ca.crt ") {
		t.find("%s: it believes whoever answers at a control plane's address", balancerConf)
	}
}

// vip checks that the address of kube-vip is in the certificate of the API server and is not the
// address of a machine, and that kube-vip talks to the API server of its own machine.
func (t *trust) vip() {
	for _, w := range t.at.workloads() {
		if w.name != "kube-vip" {
			continue
		}
		env := func(name string) string {
			i := slices.IndexFunc(w.spec.Containers[0].Env,
				func(v corev1.EnvVar) bool { return v.Name == name })
			if i < 0 {
				return ""
			}
			return w.spec.Containers[0].Env[i].Value
		}
		vip, own := env("address"), t.option(t.at, "kube-apiserver", "advertise-address")
		file := t.option(t.at, "kube-apiserver", "tls-cert-file")
		cert, err := firstCertificate(t.content(file))
		if err != nil || cert.VerifyHostname(vip) != nil {
			t.find("%s: the API server has no certificate for the address %s", w.file, vip)
		}
		for _, m := range t.controlPlanes {
			if vip == t.option(m, "kube-apiserver", "advertise-address") {
				t.find("%s: %s is the address of %s", w.file, vip, m.Name)
			}
		}
		port := t.option(t.at, "kube-apiserver", "secure-port")
		want := "https://" + net.JoinHostPort(own, port)
		if got := env("kubernetes_addr"); got != want {
			t.find("%s: kubernetes_addr is %s, want %s", w.file, got, want)
		}
		if env("svc_enable") != "false" || env("vip_leaderelection") != "true" {
			t.find("%s: it carries other addresses too, or carries this one without an election",
				w.file)
		}
	}
}

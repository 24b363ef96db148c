package judges

import (
	"bytes"
	"net"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/test/judges/machine"
)

// clientConfig is what is read of a kubeconfig.
type clientConfig struct {
	server, ca       string
	cert, key, token string
}

// readKubeconfig reads a file with one cluster and one user; configurationsJudge checks that the
// context joins them.
func readKubeconfig(f *File) clientConfig {
	config := machine.Read[struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `json:"certificate-authority"`
			}
		}
		Users []struct {
			User struct {
				Cert  string `json:"client-certificate"`
				Key   string `json:"client-key"`
				Token string
			}
		}
	}](f)
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return clientConfig{}
	}
	cluster, user := config.Clusters[0].Cluster, config.Users[0].User
	return clientConfig{cluster.Server, cluster.CA, user.Cert, user.Key, user.Token}
}

// ownKubeconfigs are the kubeconfigs in /etc/kubernetes with the flags that name them.
var ownKubeconfigs = map[string]string{
	"kubelet kubeconfig":                                "kubelet.conf",
	"kubelet bootstrap-kubeconfig":                      "bootstrap-kubelet.conf",
	"kube-controller-manager kubeconfig":                "controller-manager.conf",
	"kube-controller-manager authentication-kubeconfig": "controller-manager.conf",
	"kube-controller-manager authorization-kubeconfig":  "controller-manager.conf",
	"kube-scheduler kubeconfig":                         "scheduler.conf",
	"kube-scheduler authentication-kubeconfig":          "scheduler.conf",
	"kube-scheduler authorization-kubeconfig":           "scheduler.conf",
}

// kubeconfigs checks that each kubeconfig leads to an API server of this cluster and trusts its CA,
// that each component uses its own, and that the API server knows each token.
func (t *trust) kubeconfigs() {
	for flag, name := range ownKubeconfigs {
		component, option, _ := strings.Cut(flag, " ")
		if file := t.option(t.at, component, option); file != "" &&
			file != "/etc/kubernetes/"+name {
			t.find("%s --%s is %s, want /etc/kubernetes/%s", component, option, file, name)
		}
	}
	for _, f := range t.at.Under("/etc/kubernetes") {
		if path.Ext(f.Path) != ".conf" {
			continue
		}
		k := readKubeconfig(f)
		if k.server == "" {
			t.find("%s: it does not have one cluster and one user", f.Path)
			continue
		}
		if ca := t.at.File(k.ca); ca == nil ||
			!bytes.Equal(ca.Content, t.first().File("/etc/kubernetes/pki/ca.crt").Content) {
			t.find("%s: %s is not the cluster's CA", f.Path, k.ca)
		}
		if k.token != "" && !t.knows(k.token) {
			t.find("%s: the API server does not know the token", f.Path)
		}
		t.checkServer(f.Path, k.server)
	}
}

// checkServer checks that a URL leads to the address of a control plane, to the machine's own
// balancer, or to the one endpoint that all other machines have.
func (t *trust) checkServer(by, server string) {
	if loopback(server) {
		t.checkLoopback(by, server)
		return
	}
	for _, m := range t.controlPlanes {
		if !t.leadsTo(m, server) {
			continue
		}
		if own := "https://" + net.JoinHostPort(t.option(m, "kube-apiserver", "advertise-address"),
			t.option(m, "kube-apiserver", "secure-port")); server != own {
			t.find("%s: the server is %s, want %s", by, server, own)
		} else if t.at.ControlPlane() && m != t.at {
			t.find("%s: the server is another control plane, %s", by, server)
		}
		return
	}
	for _, other := range t.endpoints() {
		if server != other {
			t.find("%s: the server is %s, elsewhere it is %s", by, server, other)
		}
	}
}

// leadsTo reports whether a URL leads to a control plane itself.
func (t *trust) leadsTo(m *Machine, server string) bool {
	return slices.Contains(hosts(server), t.option(m, "kube-apiserver", "advertise-address"))
}

// apiServers returns the servers in all kubeconfigs.
func (t *trust) apiServers() (out []string) {
	for _, m := range t.cluster {
		for _, f := range m.Under("/etc/kubernetes") {
			if path.Ext(f.Path) == ".conf" {
				out = append(out, readKubeconfig(f).server)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// endpoints returns those of the URLs that are neither a control plane's own address nor the
// machine's own balancer.
func (t *trust) endpoints() []string {
	return slices.DeleteFunc(slices.Clone(t.servers), func(server string) bool {
		return loopback(server) || slices.ContainsFunc(t.controlPlanes,
			func(m *Machine) bool { return t.leadsTo(m, server) })
	})
}

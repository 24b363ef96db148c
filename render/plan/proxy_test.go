package plan_test

import (
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// behindProxy returns the plan of a cluster with both families and an external etcd.
func behindProxy(t *testing.T) *plan.Plan {
	t.Helper()
	c, err := config.Parse("cluster.yaml", []byte(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.prod.example.org
  network:
    podSubnets: [10.244.0.0/16, "fd00:10::/56"]
    serviceSubnets: [10.96.0.0/12, "fd00:20::/112"]
    dnsDomain: prod.internal
  controlPlane:
    etcd:
      external:
        endpoints: ["https://etcd.example.org:2379", "https://[fd00:3::1]:2379"]
        caFrom: ca.crt
        certFrom: client.crt
        keyFrom: client.key
  machines:
    os: flatcar
    proxy:
      http: "http://proxy.example.org:3128"
      noProxy: [.example.com, 192.0.2.0/24, "mirror.example.net:5000"]
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11, "fd00::11"]}
  - {name: w-1, role: worker, addresses: [10.0.7.21, "fd00:0:0:7::21"]}
  - {name: w-2, role: worker, addresses: [10.0.7.22, "fd00:0:0:7::22"]}
`), etcdFiles)
	require.NoError(t, err)
	return plan.New(c)
}

// etcdFiles has ca.crt, client.crt and client.key for an external etcd.
var etcdFiles = os.DirFS("../../testdata/clusters/external-etcd/etcd")

// TestProxyVariables asks Go itself, as Kubernetes and containerd do. It runs alone because
// net/http reads the environment once in a process.
func TestProxyVariables(t *testing.T) {
	p := behindProxy(t)
	plain := regexp.MustCompile(`^[a-z0-9:/.,*-]+$`)
	for _, v := range p.ProxyVariables(&p.Machines[0].Settings.Proxy) {
		require.Regexp(t, plain, v.Value, "no character that a unit or a shell interprets")
		t.Setenv(v.Name, v.Value)
	}
	rows := []struct {
		url   string
		proxy bool
	}{
		{"https://registry.k8s.io/v2/", true},
		{"http://registry.example.org", true},
		{"https://example.com", true},
		{"https://10.0.1.1:10250", true},
		{"https://mirror.example.net", true},
		{"https://mirror.example.net:5000/v2/", false},
		{"https://a.example.com", false},
		{"https://192.0.2.1", false},
		{"https://api.prod.example.org:6443", false}, // the endpoint
		{"https://10.0.0.11:6443", false},            // an API server
		{"https://[fd00::11]:6443", false},
		{"https://10.0.7.22:10250", false}, // a kubelet
		{"https://[fd00:0:0:7::22]:10250", false},
		{"https://etcd.example.org:2379", false},
		{"https://[fd00:3::1]:2379", false},
		{"https://10.96.0.1", false}, // a Service
		{"https://[fd00:20::1]", false},
		{"https://webhook.team.svc", false},
		{"https://issuer.prod.internal", false},
		{"https://10.244.7.1:8443", false}, // a pod
		{"https://[fd00:10::1]:8443", false},
		{"https://127.0.0.1:2379", false},
		{"http://169.254.169.254/latest/", false}, // the metadata service
	}
	for _, row := range rows {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, row.url, http.NoBody)
		require.NoError(t, err)
		through, err := http.ProxyFromEnvironment(req)
		require.NoError(t, err)
		require.Equal(t, row.proxy, through != nil, row.url)
	}
}

func TestProxyVariablesNames(t *testing.T) {
	t.Parallel()
	p := behindProxy(t)
	const one, other = "http://one.example.org:1", "http://other.example.org:2"
	const httpOne, httpsOne = "HTTP_PROXY=" + one, "HTTPS_PROXY=" + one
	const httpsOther = "HTTPS_PROXY=" + other
	rows := []struct {
		name  string
		proxy config.Proxy
		want  []string
	}{
		{"none", config.Proxy{}, nil},
		{"http stands for both", config.Proxy{HTTP: one}, []string{httpsOne, httpOne}},
		{"https alone", config.Proxy{HTTPS: one}, []string{httpsOne}},
		{"both", config.Proxy{HTTP: one, HTTPS: other}, []string{httpsOther, httpOne}},
	}
	for _, row := range rows {
		var got []string
		for _, v := range p.ProxyVariables(&row.proxy) {
			if v.Name != "NO_PROXY" {
				got = append(got, v.Name+"="+v.Value)
			}
		}
		require.Equal(t, row.want, got, row.name)
	}
}

// TestMirrorWarnings: a mirror of a private network that is asked through the proxy is named once.
func TestMirrorWarnings(t *testing.T) {
	t.Parallel()
	for mirror, warned := range map[string]bool{
		"https://mirror.lan":                true,
		"http://172.16.0.9:5000":            true,
		"https://mirror":                    true,
		"https://mirror.prod.home.arpa/hub": true,
		"https://[fd99::9]:5000":            true,
		"https://mirror.example.net":        false,
		"https://mirror.inner.internal":     false, // in noProxy
		"http://10.0.0.5:5000":              false, // beside the machines
		"https://local.example.net":         false,
	} {
		p := parse(t, `
  machines:
    os: flatcar
    registries:
    - {host: docker.io, mirrors: ["`+mirror+`"]}
    - {host: quay.io, mirrors: ["`+mirror+`"]}
    proxy: {http: "http://proxy.example.org:3128", noProxy: [.inner.internal]}
`, "  - {name: w-1, role: worker, addresses: [10.0.0.21]}\n")
		warnings := p.NetworkWarnings()
		if !warned {
			require.Empty(t, warnings, mirror)
			continue
		}
		require.Len(t, warnings, 1, mirror)
		require.Contains(t, warnings[0].Message, mirror+": machines ask this mirror through the "+
			"proxy")
	}
}

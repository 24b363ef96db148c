package judges

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// golden holds the parts of a golden cluster's cluster.yaml that kubeadm needs. It has no defaults
// of kiln: for a field that the file does not set, kubeadm uses its own default, and if kiln's
// result differs, the difference needs a reason. Only the pod subnet has kiln's default, since
// kubeadm has none.
type golden struct {
	Metadata struct{ Name string }
	Spec     struct {
		Endpoint        string
		ImageRepository string
		Network         struct {
			PodSubnets, ServiceSubnets []string
			DNSDomain, Proxy           string
		}
		DNS          struct{ Provider string }
		Certificates struct{ KeyAlgorithm, Lifetime, CALifetime string }
		Machines     goldenSettings
		ControlPlane struct {
			Machines  goldenSettings
			APIServer struct {
				ExtraArgs []goldenArg
				CertSANs  []string
			}
			ControllerManager, Scheduler goldenComponent
			Etcd                         struct {
				Machines  goldenSettings
				ExtraArgs []goldenArg
				External  *struct{ Endpoints []string }
			}
			Patches []goldenPatch
		}
		Workers struct {
			Machines goldenSettings
			Patches  []goldenPatch
		}
		Patches []goldenPatch
		Nodes   []goldenNode
	}

	dir string
}

// goldenSettings are those of one layer of machines.
type goldenSettings struct {
	Kubelet          map[string]any
	KubeletExtraArgs []goldenArg
	Taints           *[]any
}

type goldenComponent struct{ ExtraArgs []goldenArg }

type goldenArg struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type goldenPatch struct {
	Patch, PatchFrom string
	Target           struct{ Kind, Name string }
}

type goldenNode struct {
	Name, Role string
	Addresses  []string
	Patches    []goldenPatch
	goldenSettings
}

// readGolden reads the cluster.yaml of a golden case.
func readGolden(name string) (*golden, error) {
	g := &golden{dir: filepath.Join("..", "..", "testdata", "clusters", name)}
	text, err := os.ReadFile(filepath.Join(g.dir, "cluster.yaml"))
	if err != nil {
		return nil, err
	}
	return g, yaml.Unmarshal(text, g)
}

// node returns the node of that name, or nil.
func (g *golden) node(name string) *goldenNode {
	for i := range g.Spec.Nodes {
		if g.Spec.Nodes[i].Name == name {
			return &g.Spec.Nodes[i]
		}
	}
	return nil
}

// firstAddress returns the first address of the first control plane.
func (g *golden) firstAddress() string {
	i := slices.IndexFunc(g.Spec.Nodes,
		func(n goldenNode) bool { return n.Role == "control-plane" })
	return g.Spec.Nodes[i].Addresses[0]
}

// ownAlgorithm is the case in which kubeadm chooses the key algorithm itself, as kiln does.
const ownAlgorithm = "single"

// keyAlgorithm is the algorithm of kubeadm's keys. If the file does not set one, it is ECDSA, as in
// kiln: kubeadm's own default takes a second per machine, all the rest a tenth of it.
func (g *golden) keyAlgorithm() string {
	if g.Spec.Certificates.KeyAlgorithm == "" && filepath.Base(g.dir) != ownAlgorithm {
		return "ECDSA-P256"
	}
	return g.Spec.Certificates.KeyAlgorithm
}

// kubeadmConfig is the cluster as a configuration of kubeadm init for one of its machines. It
// writes the user's patches to a folder.
func (g *golden) kubeadmConfig(release, name, patchesDir string) ([]byte, error) {
	n := g.node(name)
	if n == nil {
		return nil, fmt.Errorf("%s has no node %s", g.dir, name)
	}
	spec := &g.Spec
	endpoint, layer, patches := spec.Endpoint, spec.ControlPlane.Machines, spec.ControlPlane.Patches
	switch n.Role {
	case "etcd":
		layer, patches = spec.ControlPlane.Etcd.Machines, nil
		endpoint = cmp.Or(endpoint, g.firstAddress())
	case "worker":
		layer, patches = spec.Workers.Machines, spec.Workers.Patches
		// The same endpoint is kubeadm's default on the control plane.
		endpoint = cmp.Or(endpoint, g.firstAddress())
	}
	patches = slices.Concat(spec.Patches, patches, n.Patches)
	if err := g.writePatches(patches, patchesDir); err != nil {
		return nil, err
	}

	registration := map[string]any{
		"name": n.Name,
		// The default of kubeadm, which then does not look for other sockets.
		"criSocket": "unix:///var/run/containerd/containerd.sock",
		"kubeletExtraArgs": slices.Concat(
			spec.Machines.KubeletExtraArgs, layer.KubeletExtraArgs, n.KubeletExtraArgs),
	}
	kubelet := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
	}
	for _, s := range []goldenSettings{spec.Machines, layer, n.goldenSettings} {
		layOver(kubelet, s.Kubelet)
		if s.Taints != nil {
			registration["taints"] = *s.Taints
		}
	}
	etcd := map[string]any{"local": map[string]any{"extraArgs": spec.ControlPlane.Etcd.ExtraArgs}}
	var endpoints []string
	if external := spec.ControlPlane.Etcd.External; external != nil {
		endpoints = external.Endpoints
	}
	for _, other := range spec.Nodes {
		if other.Role == "etcd" && n.Role != "etcd" {
			endpoints = append(endpoints, "https://"+net.JoinHostPort(other.Addresses[0], "2379"))
		}
	}
	if len(endpoints) > 0 {
		etcd = map[string]any{"external": map[string]any{
			"endpoints": endpoints,
			"caFile":    "/etc/kubernetes/pki/etcd/ca.crt",
			"certFile":  "/etc/kubernetes/pki/apiserver-etcd-client.crt",
			"keyFile":   "/etc/kubernetes/pki/apiserver-etcd-client.key",
		}}
	}
	podSubnets := spec.Network.PodSubnets
	if len(podSubnets) == 0 {
		podSubnets = []string{"10.244.0.0/16"}
	}
	proxy := map[string]any{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
	}
	if spec.Network.Proxy != "none" {
		proxy["mode"] = spec.Network.Proxy
	}

	const api = "kubeadm.k8s.io/v1beta4"
	return yamlDocuments(
		map[string]any{
			"apiVersion": api, "kind": "InitConfiguration",
			"bootstrapTokens":  []any{map[string]any{"token": kubeadmToken}},
			"localAPIEndpoint": map[string]any{"advertiseAddress": n.Addresses[0]},
			"nodeRegistration": registration,
			"patches":          map[string]any{"directory": patchesDir},
		},
		map[string]any{
			"apiVersion": api, "kind": "ClusterConfiguration",
			"clusterName":                 g.Metadata.Name,
			"kubernetesVersion":           release,
			"controlPlaneEndpoint":        endpoint,
			"imageRepository":             spec.ImageRepository,
			"encryptionAlgorithm":         g.keyAlgorithm(),
			"certificateValidityPeriod":   orNil(spec.Certificates.Lifetime),
			"caCertificateValidityPeriod": orNil(spec.Certificates.CALifetime),
			"networking": map[string]any{
				"podSubnet":     strings.Join(podSubnets, ","),
				"serviceSubnet": strings.Join(spec.Network.ServiceSubnets, ","),
				"dnsDomain":     spec.Network.DNSDomain,
			},
			"apiServer": map[string]any{
				"extraArgs": spec.ControlPlane.APIServer.ExtraArgs,
				"certSANs":  spec.ControlPlane.APIServer.CertSANs,
			},
			"controllerManager": map[string]any{
				"extraArgs": spec.ControlPlane.ControllerManager.ExtraArgs,
			},
			"scheduler": map[string]any{"extraArgs": spec.ControlPlane.Scheduler.ExtraArgs},
			"etcd":      etcd,
			"dns":       map[string]any{"disabled": spec.DNS.Provider == "none"},
			"proxy":     map[string]any{"disabled": spec.Network.Proxy == "none"},
		},
		kubelet, proxy)
}

// orNil is a value that is left out if it is empty.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// yamlDocuments marshals several documents into one file.
func yamlDocuments(docs ...any) ([]byte, error) {
	var out bytes.Buffer
	for _, doc := range docs {
		text, err := yaml.Marshal(doc)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes(), nil
}

// layOver lays one map over another, maps within them too.
func layOver(under, over map[string]any) {
	for key, value := range over {
		below, ok1 := under[key].(map[string]any)
		above, ok2 := value.(map[string]any)
		if ok1 && ok2 {
			layOver(below, above)
		} else {
			under[key] = value
		}
	}
}

// kubeadmPatchTargets are the names that kubeadm gives to what it lets users patch.
var kubeadmPatchTargets = map[string]string{
	"Pod/etcd":                    "etcd",
	"Pod/kube-apiserver":          "kube-apiserver",
	"Pod/kube-controller-manager": "kube-controller-manager",
	"Pod/kube-scheduler":          "kube-scheduler",
	"Deployment/coredns":          "corednsdeployment",
	"KubeletConfiguration/":       "kubeletconfiguration",
}

// writePatches writes patches as kubeadm takes them, in their order.
func (g *golden) writePatches(patches []goldenPatch, dir string) error {
	for i, p := range patches {
		text := []byte(p.Patch)
		if p.PatchFrom != "" {
			var err error
			if text, err = os.ReadFile(filepath.Join(g.dir, p.PatchFrom)); err != nil {
				return err
			}
		}
		var content any
		if err := yaml.Unmarshal(text, &content); err != nil {
			return err
		}
		kind, name, form := p.Target.Kind, p.Target.Name, "json"
		if body, ok := content.(map[string]any); ok {
			form = "strategic"
			if kind == "" {
				metadata, _ := body["metadata"].(map[string]any)
				kind, name = fmt.Sprint(body["kind"]), fmt.Sprint(metadata["name"])
			}
		}
		if kind == "KubeletConfiguration" {
			name = "" // kubeadm knows one, and kiln's is named for kustomize's sake
		}
		target, ok := kubeadmPatchTargets[kind+"/"+name]
		if !ok {
			return fmt.Errorf("patch %d: kubeadm cannot patch %s %s", i, kind, name)
		}
		file := filepath.Join(dir, fmt.Sprintf("%s%02d+%s.yaml", target, i, form))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

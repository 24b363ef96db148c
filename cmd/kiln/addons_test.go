package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/facts/target"
)

const addonExamples = "../../docs/examples/addons"

// recipes are the examples of add-ons for the network of pods, by folder.
var recipes = map[string]struct {
	file     string // that people fetch or make, below the folder
	standIn  string // what stands for it here; empty if it is in the folder
	images   []string
	links    []string          // interfaces that it makes on the machines
	refusals map[string]string // what is refused if this is removed from cluster.yaml or changed
}{
	"calico": {
		file: "addons/calico/calico.yaml", standIn: "addons/calico.yaml",
		images: []string{
			"quay.io/calico/cni:v3", "quay.io/calico/kube-controllers:v3", "quay.io/calico/node:v3",
		},
		links: []string{"cali0", "vxlan.calico"},
		refusals: map[string]string{
			"10.32.0.0/16=10.33.0.0/16":            "10.32.0.0/16 is not in 10.33.0.0/16",
			"cni: none=proxy: nftables":            "write network.cni: none",
			"cni: none=cni: none, proxy: iptables": "write network.proxy: nftables",
		},
	},
	"cilium": {
		file: "addons/cilium.yaml", standIn: "addons/cilium.yaml",
		images: []string{"quay.io/cilium/cilium:v1", "quay.io/cilium/operator-generic:v1"},
		links:  []string{"cilium_host", "cilium_net", "cilium_vxlan", "lxc0"},
		refusals: map[string]string{
			"cni: none=cni: flannel":      "write network.cni: none",
			"proxy: none=proxy: nftables": "write network.proxy: none",
		},
	},
	"dns-cache": {
		file:   "addons/dns-cache.yaml",
		images: []string{"registry.k8s.io/coredns/coredns:v1.14.2"},
		links:  []string{"cni0", "veth0"},
		refusals: map[string]string{
			"[169.254.20.10]=[10.96.0.11]": "write the address of the Service kube-dns",
		},
	},
	"kube-network-policies": {
		file: "addons/kube-network-policies.yaml", standIn: "addons/kube-network-policies.yaml",
		images: []string{"registry.k8s.io/networking/kube-network-policies:v0"},
		links:  []string{"cni0", "veth0"},
	},
}

// recipe returns a copy of a recipe's folder, with what stands for the file of the project.
func recipe(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(addonExamples, name))))
	if recipes[name].standIn == "" {
		return dir
	}
	file := filepath.Join(dir, recipes[name].file)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	text := []byte(read(t, filepath.Join("../../testdata", recipes[name].standIn)))
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return dir
}

// TestRecipes: each recipe for a network of pods is valid in every minor without a warning, its
// images are in the list, and the machines' network managers leave its interfaces alone. If its
// network or kube-proxy no longer agree with the cluster, it is refused.
func TestRecipes(t *testing.T) {
	t.Parallel()
	readme := read(t, addonExamples+"/README.md")
	folders, err := filepath.Glob(addonExamples + "/*/cluster.yaml")
	require.NoError(t, err)
	require.Len(t, folders, len(recipes))
	for name, r := range recipes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, readme, r.file)
			dir := recipe(t, name)
			file := filepath.Join(dir, "cluster.yaml")
			text := read(t, file)
			valid := func(text string) (int, string) {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
				var messages bytes.Buffer
				words := []string{"validate", "--config", file}
				return run(words, nil, io.Discard, &messages, false), messages.String()
			}
			for _, release := range target.Releases {
				version := fmt.Sprintf("v1.%d.1", release.Minor)
				code, messages := valid(strings.Replace(text, "v1.36.3", version, 1))
				require.Equal(t, exitDone, code, messages)
				require.Empty(t, messages, version)
			}
			for change, want := range r.refusals {
				from, to, _ := strings.Cut(change, "=")
				require.Contains(t, text, from)
				to = strings.ReplaceAll(to, ", ", "\n    ")
				code, messages := valid(strings.ReplaceAll(text, from, to))
				require.Equal(t, exitWrong, code, change)
				require.Contains(t, messages, want, change)
			}
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			images := strings.Fields(output(t, "images", file))
			require.Subset(t, images, r.images)
			isProxy := func(image string) bool { return strings.Contains(image, "/kube-proxy:") }
			require.Equal(t, name != "cilium", slices.ContainsFunc(images, isProxy))
			requireUnmanaged(t, dir, r.links)
		})
	}
}

// requireUnmanaged renders a recipe, and requires that networkd leaves interfaces alone.
func requireUnmanaged(t *testing.T, dir string, links []string) {
	t.Helper()
	review := filepath.Join(dir, "review")
	output(t, "render", "--config", filepath.Join(dir, "cluster.yaml"),
		"--out", filepath.Join(dir, "nodes"), "--review", review)
	text := read(t, filepath.Join(review, "shared/all/etc/systemd/network/05-kiln-pods.network"))
	require.Contains(t, text, "Unmanaged=yes")
	globs := regexp.MustCompile(`(?m)^Name=(.*)$`).FindStringSubmatch(text)
	require.NotNil(t, globs)
	for _, link := range links {
		require.True(t, slices.ContainsFunc(strings.Fields(globs[1]), func(glob string) bool {
			matched, err := path.Match(glob, link)
			return err == nil && matched
		}), link)
	}
}

// TestCiliumValues: the values for Cilium's chart say what the cluster beside them says.
func TestCiliumValues(t *testing.T) {
	t.Parallel()
	var values struct {
		IPAM                 struct{ Mode string }
		KubeProxyReplacement bool
		K8sServiceHost       string
		K8sServicePort       int
		Hubble               struct{ Enabled bool }
	}
	text := read(t, addonExamples+"/cilium/values.yaml")
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &values))
	var cluster struct {
		Spec struct {
			Endpoint string
			Network  struct{ CNI, Proxy string }
		}
	}
	text = read(t, addonExamples+"/cilium/cluster.yaml")
	require.NoError(t, yaml.Unmarshal([]byte(text), &cluster))
	require.Equal(t, "none", cluster.Spec.Network.CNI)
	require.Equal(t, cluster.Spec.Network.Proxy == "none", values.KubeProxyReplacement)
	require.Equal(t, "kubernetes", values.IPAM.Mode)
	require.Equal(t, cluster.Spec.Endpoint, values.K8sServiceHost+":6443")
	require.Equal(t, target.APIServerPort, values.K8sServicePort)
}

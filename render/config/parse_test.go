package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/render/config"
)

// header and oneNode are the beginning and end of a small valid cluster.yaml.
const (
	header  = "apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: prod}\nspec:\n  kubernetesVersion: v1.36.3\n"
	oneNode = "  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n"
	onOS    = "  machines: {os: flatcar}\n"
)

// parse returns a valid cluster.
func parse(t testing.TB, text string, dir fs.FS) *config.Cluster {
	t.Helper()
	c, err := config.Parse("cluster.yaml", []byte(text), dir)
	require.NoError(t, err)
	return c
}

// problemsOf returns the problems of a bad file as text.
func problemsOf(t testing.TB, text string, dir fs.FS) string {
	t.Helper()
	c, err := config.Parse("cluster.yaml", []byte(text), dir)
	require.Error(t, err)
	require.Nil(t, c)
	return err.Error()
}

func TestParseDefaults(t *testing.T) {
	t.Parallel()
	c := parse(t, header+onOS+oneNode, nil)
	s := c.Spec
	require.Equal(t, "registry.k8s.io", s.ImageRepository)
	require.Equal(t, "10.0.0.11", s.Endpoint)
	require.Equal(t, []string{"10.244.0.0/16"}, s.Network.PodSubnets)
	require.Equal(t, []string{"10.96.0.0/12"}, s.Network.ServiceSubnets)
	require.Equal(t, []int{24}, s.Network.NodeMaskSizes)
	require.Equal(t, "cluster.local", s.Network.DNSDomain)
	require.Equal(t, "routed", s.Network.CNI)
	require.Equal(t, "nftables", s.Network.Proxy)
	require.Equal(t, config.Duration(8760*time.Hour), s.Certificates.Lifetime)
	require.Equal(t, config.Duration(87600*time.Hour), s.Certificates.CALifetime)
	require.Zero(t, s.Certificates.Stagger)
	require.Equal(t, "online", s.Certificates.Signing)
	require.Equal(t, "ECDSA-P256", s.Certificates.KeyAlgorithm)
	require.Equal(t, 2, s.DNS.Replicas)
	require.Equal(t, config.Duration(168*time.Hour), s.Boot.FormationWindow)
	require.Empty(t, s.Machines.Platform, "the settings of machines have a layer of their own for defaults")
	require.Empty(t, s.Nodes[0].Identity)
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	dual := "  network: {podSubnets: [\"fd00:10::/56\", 10.244.0.0/16], serviceSubnets: [\"fd00:20::/112\", 10.96.0.0/16]}\n"
	rows := []struct{ name, text string }{
		{"smallest", header + onOS + oneNode},
		{"first cluster of init", string(config.Init("first"))},
		{"init with a name that needs quotes", string(config.Init("1234"))},
		{"windows line ends", strings.ReplaceAll(header+onOS+oneNode, "\n", "\r\n")},
		{"document markers", "---\n" + header + onOS + oneNode + "...\n"},
		{"dual stack, IPv6 first", header + onOS + dual + "  nodes:\n  - {name: cp-1, role: control-plane, addresses: [\"fd00::11\", 10.0.0.11]}\n"},
		{"etcd machines, and any number of control planes", header + onOS + "  endpoint: api.example.com\n  controlPlane: {etcd: {machines: {arch: arm64}}}\n  nodes:\n  - {name: a, role: control-plane, addresses: [10.0.0.1]}\n  - {name: b, role: control-plane, addresses: [10.0.0.2]}\n  - {name: c, role: etcd, addresses: [10.0.0.3]}\n"},
		{"two etcd machines on purpose", header + onOS + "  controlPlane: {etcd: {allowEvenMembers: true}}\n  nodes:\n  - {name: a, role: control-plane, addresses: [10.0.0.1]}\n  - {name: b, role: etcd, addresses: [10.0.0.2]}\n  - {name: c, role: etcd, addresses: [10.0.0.3]}\n"},
		{"two control planes on purpose", header + onOS + "  endpoint: api.example.com\n  controlPlane: {etcd: {allowEvenMembers: true}}\n  nodes:\n  - {name: a, role: control-plane, addresses: [10.0.0.1]}\n  - {name: b, role: control-plane, addresses: [10.0.0.2]}\n"},
		{"endpoint at the only control plane", header + onOS + "  endpoint: 10.0.0.11:6443\n" + oneNode},
		{"endpoint of IPv6 with port", header + onOS + "  endpoint: \"[fd00::1]:6443\"\n" + oneNode},
		{"pools", header + onOS + "  network: {cni: none}\n  pools: [{name: blue, labels: {pool: blue}}]\n" + oneNode},
		{"quoted words", header + onOS + "  nodes:\n  - {name: \"on\", role: control-plane, addresses: [10.0.0.11], labels: {a: \"yes\", b: \"012\"}, kubelet: {failSwapOn: false, maxPods: 0, kubeReserved: {cpu: 100m}}}\n"},
		{"kubelet null", header + onOS + "  workers: {machines: {kubelet: {maxPods: null}}}\n" + oneNode},
		{"empty file content", header + "  machines: {os: flatcar, files: [{path: /etc/empty, content: \"\"}]}\n" + oneNode},
		{"butane taken back", header + "  machines: {os: flatcar, butane: \"variant: flatcar\\nversion: 1.1.0\"}\n  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11], os: ubuntu, butane: \"\"}\n"},
		{"network config in its envelope", header + "  machines: {os: ubuntu, networkConfig: {network: {version: 2}}}\n" + oneNode},
		{"mail address in a key's comment", header + "  machines: {os: flatcar, sshAuthorizedKeys: [\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDPYHr4Z8tYmbYVjT0bXSQm9aKxmwqkxgCUdhh8sZK5F a b@example.com\"]}\n" + oneNode},
		{"unit with continuation and comments", header + "  machines:\n    os: flatcar\n    units:\n    - name: a@b.service\n      enabled: true\n      content: |\n        # a\n        [Service]\n        ExecStart=/bin/sh -c \\\n          ; still the command's comment\n          true\n\n        [Install]\n        WantedBy=multi-user.target\n" + oneNode},
		{"external etcd", header + onOS + "  controlPlane: {etcd: {external: {endpoints: [\"https://10.0.0.31:2379\"], caFrom: ca.crt, certFrom: ./ca.crt, keyFrom: ca.key}}}\n" + oneNode},
	}
	dir := fstest.MapFS{
		"ca.crt": {Data: []byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")},
		"ca.key": {Data: []byte("-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----\n")},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			parse(t, row.text, dir)
		})
	}
}

// TestParseLimits holds the cases that are too large for a file of their own.
func TestParseLimits(t *testing.T) {
	t.Parallel()
	var nodes strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&nodes, "  - {name: w-%d, role: worker, addresses: [10.%d.%d.%d]}\n", i, 1+i/65536, i/256%256, i%256)
	}
	rows := []struct{ name, text, want string }{
		{"4 MiB", header + "# " + strings.Repeat("x", 4<<20), "at most 4 MiB"},
		{"many values", "[" + strings.Repeat("1,", 600_000) + "1]", "at most 500000 are read"},
		{"10,001 nodes", header + onOS + oneNode + nodes.String(), "nodes: has 10002 machines; one cluster has at most 10000"},
		{"deep lists", strings.Repeat("[", 400_000), "nested too deeply"},
		{"deep blocks", strings.Repeat("- ", 1<<20), "nested too deeply"},
		{"long key", header + onOS + oneNode + strings.Repeat("k", 1000) + ": 1\n", "unknown field"},
		{"long name", header + onOS + "  nodes:\n  - {name: " + strings.Repeat("n", 1<<20) + ", role: control-plane, addresses: [10.0.0.11]}\n", "at most 63"},
		{"many keys", header + onOS + "  nodes:\n  - {name: a, role: control-plane, addresses: [10.0.0.11], labels: {" + keys(200_000) + "}}\n", "has 200000 keys; at most 1000 are read"},
		{"many unknown fields", header + onOS + oneNode + strings.Repeat("  - {a1: 1, b1: 2, c1: 3, d1: 4, e1: 5, f1: 6}\n", 9000), "unknown field"},
		{"many wrong kubelet fields", header + onOS + oneNode + strings.Repeat("  - {name: x, role: worker, addresses: [10.0.0.1], kubelet: {a1: 1, b1: 2, c1: 3, d1: 4, e1: 5, f1: 6}}\n", 9000), "has no such field"},
		{"many wrong files", header + "  machines:\n    os: flatcar\n    files:\n" + strings.Repeat("    - {path: /"+strings.Repeat("a/", 1000)+"b, content: x}\n", 1500) + oneNode, "is already files[0]"},
		{"large unit", header + "  machines:\n    os: flatcar\n    units:\n    - name: a.service\n      content: |\n" + strings.Repeat("        [x]\n", 150_000) + oneNode, "has no setting"},
		{"thousand labels", header + onOS + "  nodes:\n  - {name: a, role: control-plane, addresses: [10.0.0.11], labels: {" + thousandLabels() + "}}\n", "is not a label value"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			got := problemsOf(t, row.text, nil)
			require.Less(t, time.Since(start), 10*time.Second, "bounded; a fraction of it where nothing else runs")
			require.Contains(t, got, row.want)
			require.Less(t, len(got), 64<<10)
		})
	}
}

// keys returns n pairs of a flow mapping.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v, ", i)
	}
	return b.String()
}

func thousandLabels() string {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "l%d: \"a b\", ", i)
	}
	return b.String()
}

func TestProblemsCutOff(t *testing.T) {
	t.Parallel()
	var nodes strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&nodes, "  - {name: W_%d, role: worker, addresses: [10.%d.%d.%d]}\n", i, 1+i/65536, i/256%256, i%256)
	}
	_, err := config.Parse("c.yaml", []byte(header+onOS+"  network: {cni: none, podSubnets: [\"172.16.0.0/12\"], nodeMaskSizes: [26]}\n"+oneNode+nodes.String()), nil)
	var problems config.Problems
	require.True(t, errors.As(err, &problems))
	require.Len(t, problems, 51)
	require.Equal(t, "c.yaml: and 8950 more", problems[50].Error())
	require.Equal(t, "kiln: 9000 problems in c.yaml; nothing was written", problems.Summary())
}

func TestProblemf(t *testing.T) {
	t.Parallel()
	text := header + onOS + `  controlPlane:
    apiServer:
      extraArgs:
      - {name: audit-log-maxage, value: "30"}
  nodes:
  - name: cp-1
    role: control-plane
    addresses: [10.0.0.11]
    labels: {example.com/zone.a: b, example.com/zone: c}
`
	c := parse(t, text, nil)
	rows := []struct{ path, want string }{
		{"metadata.name", "cluster.yaml:3:18: metadata.name: bad 1"},
		{"kubernetesVersion", "cluster.yaml:5:22: kubernetesVersion: bad 1"},
		{"nodes[0].addresses[0]", "cluster.yaml:14:17: nodes[0].addresses[0]: bad 1"},
		{"nodes[0].labels.example.com/zone.a", "cluster.yaml:15:34: nodes[0].labels.example.com/zone.a: bad 1"},
		{"nodes[0].labels.example.com/zone", "cluster.yaml:15:55: nodes[0].labels.example.com/zone: bad 1"},
		{"nodes[0].podCIDRs[0]", "cluster.yaml:12:5: nodes[0].podCIDRs[0]: bad 1"},
		{"nodes[7].name", "cluster.yaml:11:3: nodes[7].name: bad 1"},
		{"controlPlane.apiServer.extraArgs", "cluster.yaml:9:7: controlPlane.apiServer.extraArgs: bad 1"},
		{"dns.replicas", "cluster.yaml:4:1: dns.replicas: bad 1"},
		{"nodes[x", "cluster.yaml:11:3: nodes[x: bad 1"},
		{"", "cluster.yaml:4:1: bad 1"},
	}
	for _, row := range rows {
		require.Equal(t, row.want, c.Problemf(row.path, "bad %d", 1).Error(), row.path)
	}
	require.Equal(t, ": nodes: bad", (&config.Cluster{}).Problemf("nodes", "bad").Error())
}

func TestSummary(t *testing.T) {
	t.Parallel()
	require.Equal(t, "kiln: no problems", config.Problems(nil).Summary())
	require.Equal(t, "kiln: 1 problem in a; nothing was written", config.Problems{{File: "a", Message: "x"}}.Summary())
	require.Equal(t, "kiln: 2 problems in a; nothing was written", config.Problems{{File: "a"}, {File: "a"}}.Summary())
}

func TestTextAndFolder(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{
		"patches/a.yaml":                 {Data: []byte("a: b\n")},
		"addons/cni/kustomization.yaml":  {Data: []byte("resources: [x/y.yaml]\n")},
		"addons/cni/x/y.yaml":            {Data: []byte("y\n")},
		"addons/dns.yaml":                {Data: []byte("dns\n")},
		"addons/other/not-asked-for.txt": {Data: []byte("n\n")},
	}
	c := parse(t, header+onOS+"  patches: [{patchFrom: ./patches/a.yaml}]\n  addons: [{path: addons/cni/}, {path: addons/dns.yaml}]\n"+oneNode, dir)
	require.Equal(t, "a: b\n", string(c.Text("patches/a.yaml")))
	require.Equal(t, "a: b\n", string(c.Text("./patches/a.yaml")))
	require.Equal(t, "dns\n", string(c.Text("addons/dns.yaml")))
	require.Nil(t, c.Text("addons/other/not-asked-for.txt"))
	require.Equal(t, map[string][]byte{
		"addons/cni/kustomization.yaml": []byte("resources: [x/y.yaml]\n"),
		"addons/cni/x/y.yaml":           []byte("y\n"),
	}, c.Folder("addons/cni"))
	require.Nil(t, c.Folder("addons/other"))
	require.Nil(t, (&config.Cluster{}).Text("x"))
	require.Nil(t, (&config.Cluster{}).Folder("x"))
}

// TestLoadRefuses tries what lies beside a cluster.yaml on a real disk: links, large files, FIFOs.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600))
	dir := t.TempDir()
	write := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	write("ok.yaml", []byte("a: b\n"))
	write("large", bytes.Repeat([]byte("x"), 1<<20+1))
	write("huge/kustomization.yml", nil)
	for i := range 11 {
		write(fmt.Sprintf("huge/%d", i), make([]byte, 1<<20))
	}
	write("linked/Kustomization", nil)
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "linked", "out")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink("ok.yaml", filepath.Join(dir, "inside")))
	require.NoError(t, os.Symlink("gone", filepath.Join(dir, "dangling")))
	require.NoError(t, makeFIFO(filepath.Join(dir, "fifo")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()

	c := parse(t, header+onOS+"  patches: [{patchFrom: inside}]\n"+oneNode, root.FS())
	require.Equal(t, "a: b\n", string(c.Text("inside")))

	rows := []struct{ name, field, want string }{
		{"a link out of the folder", "patches: [{patchFrom: out}]", `"out" cannot be read: `},
		{"a dangling link", "patches: [{patchFrom: dangling}]", "there is no such file"},
		{"a FIFO", "patches: [{patchFrom: fifo}]", "is not a regular file"},
		{"a large file", "patches: [{patchFrom: large}]", "has 1048577 bytes; at most 1 MiB"},
		{"a large add-on", "addons: [{path: large}]", "has 1048577 bytes; at most 1 MiB"},
		{"a large folder", "addons: [{path: huge}]", "more than 10 MiB"},
		{"a folder with a link out", "addons: [{path: linked}]", "cannot be read: linked/out"},
		{"a backslash", "addons: [{path: 'a\\b'}]", "separate folders with /"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			require.Contains(t, problemsOf(t, header+onOS+"  "+row.field+"\n"+oneNode, root.FS()), row.want)
		})
	}
	require.Contains(t, problemsOf(t, header+onOS+"  addons: [{path: a}]\n"+oneNode, nil), "has no folder")
}

// TestNoSecretInMessages pastes secrets into every kind of field and looks for them in what is printed.
func TestNoSecretInMessages(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"private key":     `"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----\n"`,
		"bootstrap token": "abcdef.0123456789abcdef",
		"password in URL": "https://bob:b3BlbnNzaC1rZXktdjEA@example.com",
		"web token":       "eyJhbGciOiJSUzI1NiIs.b3BlbnNzaC1rZXktdjEA.c2ln",
		"age key":         "AGE-SECRET-KEY-1QQPQQPQQP0123456789ABCDEF",
		"random":          "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
	}
	fields := []string{
		"metadata: {name: %s}", "apiVersion: %s", "kind: %s", "colour: %s",
	}
	inSpec := []string{
		"kubernetesVersion: %s", "imageRepository: %s", "images: {etcd: %s}", "endpoint: %s", "network: {podSubnets: [%s]}",
		"network: {serviceSubnets: [%s]}", "network: {nodeMaskSizes: [%s]}", "network: {dnsDomain: %s}", "network: {cni: %s}",
		"certificates: {lifetime: %s}", "dns: {replicas: %s}", "machines: {os: %s}", "machines: {kubeletVersion: %s}", "machines: {kubeletPath: %s}",
		"machines: {sshAuthorizedKeys: [%s]}", "machines: {kubelet: {maxPods: %s}}", "machines: {kubelet: {evictionHard: %s}}",
		"machines: {kubelet: {syncFrequency: %s}}", "machines: {labels: {a: %s}}", "machines: {taints: [{key: %s, effect: %s}]}",
		"machines: {files: [{path: %s, mode: %s, owner: %s}]}", "machines: {units: [{name: %s, content: %s}]}", "machines: {sysctls: {a.b: %s}}",
		"machines: {kernelModules: [%s]}", "machines: {registries: [{host: %s, mirrors: [%s]}]}", "machines: {butane: %s}",
		"machines: {networkConfig: {version: %s}}", "machines: {ignorePreflight: [%s]}", "machines: {files: [{path: /a, contentFrom: %s}]}",
		"controlPlane: {apiServer: {certSANs: [%s], extraArgs: [{name: %s, value: a}]}}", "controlPlane: {etcd: {external: {endpoints: [%s], caFrom: %s, certFrom: %s, keyFrom: %s}}}",
		"controlPlane: {etcd: {allowEvenMembers: %s}}", "addons: [{path: %s}]", "patches: [{patchFrom: %s}]", "pools: [{name: %s, tokenLifetime: %s}]", "token: %s",
		"nodes: [{name: %s, role: %s, addresses: [%s], podCIDRs: [%s], mac: %s, productUUID: %s}]",
		"nodes: [{interfaces: [{name: %s, mac: %s, addresses: [%s], gateways: [%s], nameservers: [%s], searchDomains: [%s], routes: [{to: %s, via: %s}], bond: {members: [%s], mode: %s, primary: %s}, vlan: {id: 1, link: %s}}]}]",
	}
	for name, secret := range secrets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core := strings.Trim(secret, `"`)
			check := func(text string) {
				t.Helper()
				_, err := config.Parse("cluster.yaml", []byte(text), fstest.MapFS{})
				if err == nil {
					return
				}
				for line := range strings.SplitSeq(core, `\n`) {
					if line != "" {
						require.NotContains(t, err.Error(), line, "in %q", text)
					}
				}
				require.NotContains(t, err.Error(), "b3BlbnNzaC1rZXktdjEA", "in %q", text)
			}
			for _, f := range fields {
				check(strings.ReplaceAll(f, "%s", secret) + "\n")
			}
			for _, f := range inSpec {
				check(header + "  " + strings.ReplaceAll(f, "%s", secret) + "\n")
			}
		})
	}
}

// TestParsePublic: where the secrets are not, their files may be missing, and only theirs.
func TestParsePublic(t *testing.T) {
	t.Parallel()
	text := []byte(header + onOS + `  controlPlane:
    etcd: {external: {endpoints: ["https://e:2379"], caFrom: ca.crt, certFrom: client.crt, keyFrom: client.key}}
  workers:
    machines:
      files: [{path: /etc/a, contentFrom: a, mode: "0600", secret: true}]
      preBoot: [{name: b, contentFrom: b, secret: true}]
` + oneNode)
	certificate := &fstest.MapFile{Data: []byte("-----BEGIN CERTIFICATE-----\n")}
	dir := fstest.MapFS{"ca.crt": certificate, "client.crt": certificate}
	_, err := config.Parse("cluster.yaml", text, dir)
	var problems config.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 3)

	c, err := config.ParsePublic("cluster.yaml", text, dir)
	require.NoError(t, err)
	require.Nil(t, c.Text("client.key"))
	delete(dir, "client.crt")
	_, err = config.ParsePublic("cluster.yaml", text, dir)
	require.ErrorContains(t, err, "certFrom")
	dir["client.crt"], dir["b"] = certificate, &fstest.MapFile{}
	_, err = config.ParsePublic("cluster.yaml", text, dir)
	require.ErrorContains(t, err, "is empty; write the commands for sh", "what is there is checked")
}

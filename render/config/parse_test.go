package config_test

import (
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

// Parts of a small valid cluster.yaml.
const (
	header = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  kubernetesVersion: v1.36.3
`
	onOS    = "  machines: {os: flatcar}\n"
	oneNode = "  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n"
)

// sshKey is a public key without a comment.
const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDPYHr4Z8tYmbYVjT0bXSQm9aKxmwqkxgCUdhh8sZK5F"

// parse returns a valid cluster.
func parse(t testing.TB, text string, dir fs.FS) *config.Cluster {
	t.Helper()
	c, err := config.Parse("cluster.yaml", []byte(text), dir)
	require.NoError(t, err)
	return c
}

// problemsOf returns the problems of a wrong file.
func problemsOf(t testing.TB, text string, dir fs.FS) string {
	t.Helper()
	c, err := config.Parse("cluster.yaml", []byte(text), dir)
	require.Error(t, err)
	require.Nil(t, c)
	return err.Error()
}

// TestStagger reads the time by which certificates end apart: 30 days of a year, less of a shorter
// lifetime, and the time that is written, also none.
func TestStagger(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]time.Duration{
		"":                            720 * time.Hour,
		"lifetime: 17520h":            720 * time.Hour,
		"lifetime: 240h":              20 * time.Hour,
		"lifetime: 5m30s":             27 * time.Second,
		"stagger: 0s":                 0,
		"stagger: 2h":                 2 * time.Hour,
		"lifetime: 240h, stagger: 3h": 3 * time.Hour,
	} {
		c := parse(t, header+onOS+oneNode+"  certificates: {"+written+"}\n", nil)
		require.Equal(t, config.Duration(want), *c.Spec.Certificates.Stagger, written)
	}
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text string }{
		{"smallest", header + onOS + oneNode},
		{"first cluster of init", string(firstConfig("first"))},
		{"init with a name that needs quotes", string(firstConfig("1234"))},
		{"windows line ends", strings.ReplaceAll(header+onOS+oneNode, "\n", "\r\n")},
		{"document markers", "---\n" + header + onOS + oneNode + "...\n"},
		{"a mark of a document at the end", header + onOS + oneNode + "---\n# nothing\n---\n"},
		{"dual stack, IPv6 first", header + onOS + `  network:
    podSubnets: ["fd00:10::/56", 10.244.0.0/16]
    serviceSubnets: ["fd00:20::/112", 10.96.0.0/16]
  nodes:
  - {name: cp-1, role: control-plane, addresses: ["fd00::11", 10.0.0.11]}
`},
		{"etcd machines, and any number of control planes", header + onOS + `
  endpoint: api.example.com
  controlPlane: {etcd: {machines: {arch: arm64}}}
  nodes:
  - {name: a, role: control-plane, addresses: [10.0.0.1]}
  - {name: b, role: control-plane, addresses: [10.0.0.2]}
  - {name: c, role: etcd, addresses: [10.0.0.3]}
`},
		{"two etcd machines on purpose", header + onOS + `
  controlPlane: {etcd: {allowEvenMembers: true}}
  nodes:
  - {name: a, role: control-plane, addresses: [10.0.0.1]}
  - {name: b, role: etcd, addresses: [10.0.0.2]}
  - {name: c, role: etcd, addresses: [10.0.0.3]}
`},
		{"two control planes on purpose", header + onOS + `  endpoint: api.example.com
  controlPlane: {etcd: {allowEvenMembers: true}}
  nodes:
  - {name: a, role: control-plane, addresses: [10.0.0.1]}
  - {name: b, role: control-plane, addresses: [10.0.0.2]}
`},
		{
			"endpoint at the only control plane",
			header + onOS + oneNode + "  endpoint: 10.0.0.11:6443\n",
		},
		{
			"endpoint of IPv6 with port",
			header + onOS + oneNode + "  endpoint: \"[fd00::1]:6443\"\n",
		},
		{"pools", header + onOS + oneNode + `  network: {cni: none}
  pools: [{name: blue, labels: {pool: blue}}]
`},
		{"quoted words", header + onOS + `  nodes:
  - name: "on"
    role: control-plane
    addresses: [10.0.0.11]
    labels: {a: "yes", b: "012"}
    kubelet: {failSwapOn: false, maxPods: 0, kubeReserved: {cpu: 100m}}
`},
		{
			"kubelet null",
			header + onOS + oneNode + "  workers: {machines: {kubelet: {maxPods: null}}}\n",
		},
		{"empty file content", header + oneNode + `  machines:
    os: flatcar
    files: [{path: /etc/empty, content: ""}]
`},
		{"butane taken back", header + `
  machines: {os: flatcar, butane: "variant: flatcar\nversion: 1.1.0"}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11], os: ubuntu, butane: ""}
`},
		{"network config in its envelope", header + oneNode + `  machines:
    os: ubuntu
    networkConfig: {network: {version: 2}}
`},
		{"mail address in the comment of a key", header + oneNode + `  machines:
    os: flatcar
    sshAuthorizedKeys:
    - ` + sshKey + ` a b@example.com
`},
		{"unit with continuation and comments", header + oneNode + `  machines:
    os: flatcar
    units:
    - name: a@b.service
      enabled: true
      content: |
        # a
        [Service]
        ExecStart=/bin/sh -c \
          ; still the command's comment
          true

        [Install]
        WantedBy=multi-user.target
`},
		{"external etcd", header + onOS + oneNode + `  controlPlane:
    etcd:
      external:
        endpoints: ["https://10.0.0.31:2379"]
        caFrom: ca.crt
        certFrom: ./client.crt
        keyFrom: client.key
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{}
			for _, name := range []string{"ca.crt", "client.crt", "client.key"} {
				data, err := os.ReadFile("../../testdata/clusters/external-etcd/etcd/" + name)
				require.NoError(t, err)
				files[name] = &fstest.MapFile{Data: data}
			}
			parse(t, row.text, files)
		})
	}
}

// TestParseLimits has the cases that are too large for a file of their own.
func TestParseLimits(t *testing.T) {
	t.Parallel()
	worker := func(settings string) string {
		return "  - {name: x, role: worker, addresses: [10.0.0.1], " + settings + "}\n"
	}
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, row := range []struct{ name, text, want string }{
		{"4 MiB", header + "# " + strings.Repeat("x", 4<<20), "at most 4 MiB"},
		{"many values", "[" + strings.Repeat("1,", 600_000) + "1]", "at most 500000 are read"},
		{
			"10,001 nodes", header + onOS + oneNode + workers(10_001, "w-%d"),
			"nodes: has 10002 machines; one cluster has at most 10000",
		},
		{
			"binary", strings.Repeat("\x89PNG\r\n\x1a\n\xff", 100),
			"cluster.yaml:1:1: is not a text in UTF-8",
		},
		{"deep lists", strings.Repeat("[", 400_000), "nested too deeply"},
		{"deep blocks", strings.Repeat("- ", 1<<20), "nested too deeply"},
		{
			"long key", header + onOS + oneNode + strings.Repeat("k", 1000) + ": 1\n",
			"unknown field",
		},
		{
			"long name", header + onOS + oneNode +
				"  - {role: worker, name: " + strings.Repeat("n", 1<<20) + "}\n",
			"at most 63",
		},
		{
			"many keys", header + onOS + oneNode + worker(
				"labels: {"+repeat(200_000, "k%d: v, ")+"}"),
			"has 200000 keys; at most 1000 are read",
		},
		{
			"many unknown fields", header + onOS + oneNode +
				strings.Repeat("  - {a1: 1, b1: 2, c1: 3, d1: 4, e1: 5, f1: 6}\n", 9000),
			"unknown field",
		},
		{
			"many wrong kubelet fields", header + onOS + oneNode +
				strings.Repeat(worker("kubelet: {a1: 1, b1: 2, c1: 3, d1: 4, e1: 5, f1: 6}"), 9000),
			"has no such field",
		},
		{
			"many wrong files", header + oneNode + "  machines:\n    os: flatcar\n    files:\n" +
				strings.Repeat("    - {path: /"+strings.Repeat("a/", 1000)+"b, content: x}\n",
					1500),
			"machines.files: has 1500 items; at most 1000 are read",
		},
		{
			"deep files", header + oneNode + "  machines:\n    os: flatcar\n    files:\n" +
				strings.Repeat("    - {path: /"+strings.Repeat("a/", 1000)+"b, content: x}\n",
					1000),
			"lies in more than 99 folders",
		},
		{
			"repeated files", header + oneNode + "  machines:\n    os: flatcar\n    files:\n" +
				strings.Repeat("    - {path: /"+strings.Repeat("a/", 99)+"b, content: x}\n",
					1000),
			"is already files[0]",
		},
		{
			"101 pools", header + onOS + oneNode + "  pools:\n" + repeat(101, "  - {name: p%d}\n"),
			"pools: has 101 pools; one cluster has at most 100",
		},
		{
			"1001 names", header + onOS + oneNode + "  controlPlane: {apiServer: {certSANs: [" +
				repeat(1001, "s%d.example.com, ") + "]}}\n",
			"controlPlane.apiServer.certSANs: has 1001 items; at most 1000 are read",
		},
		{
			"unknown flags", header + onOS + oneNode + "  controlPlane: {apiServer: {extraArgs: [" +
				repeat(20_000, "{name: flag-%d, value: x}, ") + "]}}\n",
			"extraArgs: has 20000 items; at most 1000 are read",
		},
		{
			"large unit", header + oneNode + "  machines:\n    os: flatcar\n    units:\n" +
				"    - name: a.service\n      content: |\n" + strings.Repeat("        [x]\n",
				150_000),
			"has no setting",
		},
		{
			"thousand labels", header + onOS + oneNode +
				worker("labels: {"+repeat(1000, "l%d: \"a b\", ")+"}"),
			"is not a label value",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			got := problemsOf(t, row.text, nil)
			require.Less(t, time.Since(start), 10*time.Second,
				"it takes a fraction of that on an idle machine")
			require.Contains(t, got, row.want)
			require.Less(t, len(got), 64<<10)
		})
	}
}

// workers returns n nodes. Their names are made of their numbers.
func workers(n int, name string) string {
	var b strings.Builder
	for i := range n {
		address := fmt.Sprintf("10.%d.%d.%d", 1+i/65536, i/256%256, i%256)
		fmt.Fprintf(&b, "  - {name: "+name+", role: worker, addresses: [%s]}\n", i, address)
	}
	return b.String()
}

// TestParsePublic holds ParsePublic to what it allows: of the named files, those with secrets may
// be missing, and no others.
func TestParsePublic(t *testing.T) {
	t.Parallel()
	text := []byte(header + onOS + `  controlPlane:
    etcd:
      external:
        endpoints: ["https://e:2379"]
        caFrom: ca.crt
        certFrom: client.crt
        keyFrom: client.key
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
	require.ErrorContains(t, err, "is empty; write the commands for sh",
		"a file that exists is checked")
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	rows := []struct {
		text, host string
		port       int
	}{
		{"api.example.com", "api.example.com", 6443},
		{"api.example.com:443", "api.example.com", 443},
		{"10.0.0.1", "10.0.0.1", 6443},
		{"10.0.0.1:8443", "10.0.0.1", 8443},
		{"fd00::1", "fd00::1", 6443},
		{"[fd00::1]", "fd00::1", 6443},
		{"[fd00::1]:443", "fd00::1", 443},
	}
	for _, row := range rows {
		values := parse(t, header+onOS+"  endpoint: \""+row.text+"\"\n"+oneNode, nil).Values()
		require.Equal(t, row.host, values.EndpointHost)
		require.Equal(t, row.port, values.EndpointPort)
		a, err := netip.ParseAddr(row.host)
		require.Equal(t, err == nil, values.EndpointAddress.IsValid())
		require.Equal(t, a, values.EndpointAddress)
	}
	for _, bad := range []string{
		":6443", "[fd00::1", "[fd00::1]x", "a:b", "a:1:2", "a:+1", "a:01", "a:65536",
	} {
		problems := problemsOf(t, header+onOS+"  endpoint: \""+bad+"\"\n"+oneNode, nil)
		require.Contains(t, problems, ": endpoint: ", bad)
	}
}

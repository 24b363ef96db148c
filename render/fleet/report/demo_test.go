package report_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/report"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/twin/change"
)

// today is the day of the demo.
var today = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

// demo is a cluster before and after a change of every kind, made by hand so that neither the hook
// nor a key changes it. The pictures in docs are made of its page.
func demo(t *testing.T) report.Input {
	t.Helper()
	old, new := demoState(false), demoState(true)
	d := change.Compare(old, new)
	steps, err := rollout.New(d, rollout.Options{MaxUnavailable: "25%"})
	require.NoError(t, err)
	in := report.Input{
		Cluster: new, Now: today, Diff: d, Steps: steps,
		Ends: render.TwinCerts(new), Running: render.TwinCerts(old),
		Exposed: []report.Exposed{
			{Machines: []string{"cp-1", "cp-2", "cp-3"}, Platform: "openstack", Copy: "document",
				Holds: "cluster", Readers: []string{"root", "host", "account", "processes"}},
			{Machines: machinesOf(new, "worker"), Pools: []string{"burst"}, Platform: "openstack",
				Copy: "document", Holds: "machine", Readers: []string{"root", "host", "account"}},
		},
	}
	for i, m := range new.Machines {
		s := report.Size{Machine: m.Name, Pool: m.Pool, Role: m.Role, OS: m.OS,
			Platform: m.Platform, Bytes: 25_300 + 8*i, Limit: 49_149, Own: 720,
			Fields: []report.Field{{Path: "machines.files[0]", Bytes: 1_840}}}
		if m.Role == "control-plane" {
			s.Bytes, s.Own = 45_100+9*i, 3_950
			s.Fields = append([]report.Field{{Path: "addons[0].path", Bytes: 14_212}}, s.Fields...)
		}
		in.Sizes = append(in.Sizes, s)
	}
	return in
}

// machinesOf returns the names of the machines of a role.
func machinesOf(c *change.Cluster, role string) (names []string) {
	for _, m := range c.Machines {
		if m.Role == role && !m.Pool {
			names = append(names, m.Name)
		}
	}
	return names
}

// demoState returns the cluster before the change, or after it: control planes get a flag of the
// API server, and workers of a zone another limit of pods; two workers get a label, one comes, and
// one goes.
func demoState(after bool) *change.Cluster {
	c := &change.Cluster{
		Name: "prod", UUID: "5f0c1b6e-4a53-4c62-9d11-0a3b7f5e2c84", Version: "v1.36.3",
		Properties: change.Properties{
			{Name: "endpoint", Value: "https://api.prod.example.com:6443"},
			{Name: "pod subnets", Value: "10.244.0.0/16"},
			{Name: "service subnets", Value: "10.96.0.0/12"},
			{Name: "dns domain", Value: "cluster.local"},
			{Name: "pod network", Value: "flannel, vxlan, port 8472"},
			{Name: "proxy", Value: "nftables"},
		},
		Entries: change.Entries{shown("admin.conf", "admin", "kubernetes-admin", "kubernetes",
			"client", today.AddDate(0, 11, 20))},
	}
	for i := range 3 {
		c.Machines = append(c.Machines, demoMachine(fmt.Sprintf("cp-%d", i+1), "control-plane",
			11+i, "zone-"+"abc"[i:i+1], after))
	}
	for i := range 12 {
		name := fmt.Sprintf("worker-%d", i+1)
		if after && name == "worker-4" || !after && i >= 11 {
			continue
		}
		zone := "zone-" + "abc"[i%3:i%3+1]
		c.Machines = append(c.Machines, demoMachine(name, "worker", 21+i, zone, after))
	}
	pool := demoMachine("burst", "worker", 0, "", after)
	pool.Pool, pool.Properties = true, pool.Properties[:1]
	pool.Entries = change.Entries{
		{Key: change.Key{Kind: "file", ID: "/etc/kubernetes/bootstrap-kubelet.conf"},
			Secret: "token/burst g1"},
	}
	pool.Properties = append(pool.Properties, change.Property{Name: "until",
		Value: today.AddDate(0, 0, 12).Format(time.RFC3339)})
	c.Machines = append(c.Machines, pool)
	return c
}

// demoMachine returns a machine with the address 10.0.0.NUMBER.
func demoMachine(name, role string, number int, zone string, after bool) *change.Machine {
	until := today.AddDate(0, 10, 3*(number-10))
	labels := "topology.kubernetes.io/zone=" + zone
	if after && (name == "worker-5" || name == "worker-8") {
		labels += ",example.com/tier=front"
	}
	pods := "110"
	if after && zone == "zone-c" && role == "worker" {
		pods = "150"
	}
	certificate := func(path, secret, subject, issuer, use string) *change.Entry {
		return shown(path, secret+"/"+name, subject, issuer, use, until)
	}
	authority := func(path, secret, subject string) *change.Entry {
		e := shown(path, secret, subject, subject, "ca", today.AddDate(9, 10, 0))
		e.Shown[0] += "; fingerprint SHA-256 " + strings.Repeat(secret[:1]+"0", 32)
		return e
	}
	node := "system:node:" + name + ",O=system:nodes"
	m := &change.Machine{
		Name: name, Role: role, OS: "flatcar", Platform: "openstack", Format: "ignition",
		Properties: change.Properties{
			{Name: "kubelet", Value: "v1.36.3"},
			{Name: "addresses", Value: fmt.Sprintf("10.0.0.%d", number)},
			{Name: "until", Value: until.Format(time.RFC3339)},
		},
		Entries: change.Entries{
			file("/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
				"[Service]\nExecStart=\nExecStart=kubelet --node-labels="+labels+"\n"),
			file("/var/lib/kubelet/config.yaml",
				"kind: KubeletConfiguration\nclusterDNS: [10.96.0.10]\nmaxPods: "+pods+
					"\nrotateCertificates: true\n"),
			authority("/etc/kubernetes/pki/ca.crt", "ca", "kubernetes"),
			certificate("/var/lib/kubelet/pki/kubelet-client-kiln.pem", "kubelet-client", node,
				"kubernetes", "client"),
			certificate("/var/lib/kubelet/pki/kubelet.crt", "kubelet-server", node, "kubernetes",
				"server"),
		},
	}
	if role == "control-plane" {
		flags := "\n    - --profiling=false"
		if after {
			flags += "\n    - --goaway-chance=0.001"
		}
		pod := func(name, flags string) *change.Entry {
			return file("/etc/kubernetes/manifests/"+name+".yaml", "kind: Pod\nspec:\n"+
				"  containers:\n  - name: "+name+"\n    command:\n    - "+name+flags+"\n")
		}
		m.Entries = append(m.Entries, pod("kube-apiserver", flags), pod("etcd", ""),
			authority("/etc/etcd/pki/ca.crt", "etcd-ca", "etcd-ca"),
			certificate("/etc/etcd/pki/peer.crt", "etcd-peer", name, "etcd-ca", "server,client"),
			certificate("/etc/kubernetes/pki/apiserver.crt", "apiserver", "kube-apiserver",
				"kubernetes", "server"),
			shown("/etc/kubernetes/pki/install.crt", "install", "kiln:install", "kubernetes",
				"client", today.AddDate(0, 0, 3)),
		)
	}
	slices.SortFunc(m.Entries, func(a, b *change.Entry) int { return a.Compare(b.Key) })
	return m
}

// file returns a file that a reviewer sees.
func file(path, content string) *change.Entry {
	return &change.Entry{Key: change.Key{Kind: "file", ID: path}, Content: []byte(content),
		Traits: map[string]string{"mode": "0644", "owner": "root:root"}}
}

// shown returns a file with a certificate as a twin shows it.
func shown(path, secret, subject, issuer, use string, until time.Time) *change.Entry {
	return &change.Entry{Key: change.Key{Kind: "file", ID: path},
		Traits: map[string]string{"mode": "0600", "owner": "root:root"},
		Shown: []string{fmt.Sprintf("certificate %s g1: subject CN=%s; issuer CN=%s; for %s; "+
			"from %s; until %s; ECDSA", secret, subject, issuer, use,
			today.AddDate(0, -2, 0).Format(time.RFC3339), until.Format(time.RFC3339))}}
}

// demoTo is where TestDemo writes the page of the demo. test/page makes pictures of it.
var demoTo = flag.String("demo", "", "write the page of the demo to this `FILE`")

// pictures is the folder of the pictures. Its file page.sha256 has the sum of the page that they
// show.
const pictures = "../../../docs/report"

// TestDemo: the pictures in docs show the page as it is today. Another font changes no sum: it is
// that of the page, not of the pictures.
func TestDemo(t *testing.T) {
	t.Parallel()
	page, err := report.Page(demo(t))
	require.NoError(t, err)
	if *demoTo != "" {
		require.NoError(t, os.WriteFile(*demoTo, page, 0o600))
		return
	}
	sum := sha256.Sum256(page)
	made, err := os.ReadFile(filepath.Join(pictures, "page.sha256"))
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(sum[:]), strings.TrimSpace(string(made)),
		"the pictures in docs/report are older than the page: make pictures")
	files, err := filepath.Glob(filepath.Join(pictures, "*.png"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	text, err := os.ReadFile("../../../docs/report.md")
	require.NoError(t, err)
	const most = 150 << 10
	for _, path := range files {
		picture, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "\x89PNG\r\n", string(picture[:6]), path)
		require.Less(t, len(picture), most, path)
		require.Contains(t, string(text), "](report/"+filepath.Base(path)+")")
	}
}

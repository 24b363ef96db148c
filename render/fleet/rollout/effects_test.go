package rollout

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// TestWhatRunningMachinesRead: a change of what a running machine goes on with reaches it by a
// replacement, or by kiln apply if what reads the file reads it each time.
func TestWhatRunningMachinesRead(t *testing.T) {
	t.Parallel()
	const (
		data     = plan.KilnDir + "/machine"
		balancer = plan.BalancerConf
		server   = plan.ManifestsDir + "/kube-apiserver.yaml"
		sysctls  = "/etc/sysctl.d/90-kiln.conf"
	)
	flags := func(servers string) string {
		return "spec:\n  containers:\n  - name: kube-apiserver\n    command:\n" +
			"    - kube-apiserver\n    - --etcd-servers=" + servers + "\n"
	}
	for _, row := range []struct{ name, path, old, now, verdict string }{
		{"the API of a pool", data, "api='https://a:6443'\n", "api='https://b:6443'\n", Replace},
		{"the address of a pool's Nodes", data, "node_address='-4 route get 1'\n",
			"node_address='-4 address show eth1'\n", Replace},
		{"where snapshots go", data, "backup_directory='/a'\n", "backup_directory='/b'\n", Live},
		{"how many are kept", data, "backup_keep='7'\n", "backup_keep='3'\n", Live},
		{"the time for a step", data, "step_timeout='600'\n", "step_timeout='900'\n",
			NextReplacement},
		{"a control plane more", balancer, "  server a 10.0.0.1:6443 check\n",
			"  server a 10.0.0.1:6443 check\n  server b 10.0.0.2:6443 check\n", NextReplacement},
		{"no control plane that it knows", balancer, "  server a 10.0.0.1:6443 check\n",
			"  server a 10.0.0.2:6443 check\n", Restart},
		{"a member of etcd less", server, flags("https://10.0.0.1:2379,https://10.0.0.2:2379"),
			flags("https://10.0.0.2:2379"), NextReplacement},
		{"no member that it knows", server, flags("https://10.0.0.1:2379"),
			flags("https://10.0.0.2:2379,https://10.0.0.3:2379"), Restart},
		{"a flag of the API server", server, flags("https://10.0.0.1:2379"),
			strings.Replace(flags("https://10.0.0.1:2379"), "--etcd", "--v=4\n    - --etcd", 1),
			Restart},
		{"another address of the API server", server, flags("https://10.0.0.1:2379"),
			strings.Replace(flags("https://10.0.0.1:2379"), "--etcd",
				"--advertise-address=10.0.0.1\n    - --etcd", 1), Replace},
		{"a kubelet's setting", plan.KubeletConfig, "maxPods: 110\n", "maxPods: 200\n", Restart},
		{"processors of pods", plan.KubeletConfig, "cpuManagerPolicy: none\n",
			"cpuManagerPolicy: static\n", Restart},
		{"the driver of cgroups", plan.KubeletConfig, "cgroupDriver: systemd\n",
			"cgroupDriver: cgroupfs\n", Replace},
		{"programs of the same sum", plan.ArtifactList,
			"aa v1 /opt/bin/kubelet - - https://a/kubelet\n",
			"aa v1 /opt/bin/kubelet - - https://b/kubelet\n", NextReplacement},
		{"another kubelet that it fetches", plan.ArtifactList,
			"aa v1 /opt/bin/kubelet - - https://a/kubelet\n",
			"bb v2 /opt/bin/kubelet - - https://a/kubelet\n", Restart},
		{"another system extension", plan.ArtifactList,
			"aa - /var/lib/extensions/kubernetes.raw - - https://a/k.raw\n",
			"bb - /var/lib/extensions/kubernetes.raw - - https://a/k.raw\n", Replace},
		{"a kernel setting that goes", sysctls, "vm.y = 1\nvm.x = 1\n", "vm.x = 1\n", Live},
		{"huge pages", sysctls, "vm.nr_hugepages = 1\n", "vm.nr_hugepages = 2\n", Restart},
		{"huge pages that go", sysctls, "vm.nr_hugepages = 1\nvm.x = 1\n", "vm.x = 1\n", Restart},
		{"connections", sysctls, "net.netfilter.nf_conntrack_max = 1\n",
			"net.netfilter.nf_conntrack_max = 2\n", Replace},
		{"another module", "/etc/modules-load.d/90-kiln.conf", "a\nb\n", "b\nc\n", Live},
		{"names of hosts", "/etc/hosts", "::1 localhost\n", "::1 localhost\n10.0.0.1 a\n", Live},
		{"a CA of the system", "/etc/ssl/certs/kiln-1.pem", "a\n", "b\n", Restart},
		{"containerd's folder", plan.ContainerdConfig, "bin_dir = \"/a\"\n", "bin_dir = \"/b\"\n",
			Restart},
		{"the sandbox's image", plan.ContainerdConfig, "sandbox_image = \"a\"\n",
			"sandbox_image = \"b\"\n", NextReplacement},
		{"containerd's driver of cgroups", plan.ContainerdConfig, "  SystemdCgroup = true\n",
			"  SystemdCgroup = false\n", Replace},
		{"the wall before the metadata service", plan.UnitDir + "/" + plan.WallUnit,
			"[Service]\nExecStart=/a\n", "[Service]\nExecStart=/b\n", Replace},
		{"taints alone", plan.KubeletConfig, "a: 1\n",
			"a: 1\nregisterWithTaints: [{key: a, effect: NoSchedule}]\n", Live},
	} {
		p := planned(t, holding(row.path, row.old), holding(row.path, row.now), nil)
		require.Equal(t, row.verdict, p.Machines[0].Verdict, "%s: %s", row.name, p.Machines[0].Why)
	}
}

// TestSettingsOfRunningPrograms: the rules know each setting of the hook's data that a program
// reads long after the first boot.
func TestSettingsOfRunningPrograms(t *testing.T) {
	t.Parallel()
	// If these change, the machine has another name, address or role, and so other files too.
	others := []string{"node", "role", "etcd_member", "backup_url"}
	others = append(others, "cluster") // the programs have a variable of this name
	settings := map[string]bool{}
	data, err := filepath.Glob("../../../testdata/clusters/*/want/*/etc/kiln/machine")
	require.NoError(t, err)
	pools, err := filepath.Glob("../../../testdata/clusters/*/want/pools/*/etc/kiln/machine")
	require.NoError(t, err)
	require.NotEmpty(t, pools)
	for _, path := range append(data, pools...) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		list, ok := layout.ReadSettings(text)
		require.True(t, ok, path)
		for _, s := range list {
			settings[s.Name] = true
		}
	}
	var programs strings.Builder
	for _, name := range []string{"backup", "pool"} {
		data, err := os.ReadFile(filepath.Join("../../../templates/boot", name))
		require.NoError(t, err)
		text := string(data)
		if name == "pool" { // before each start of the kubelet the hook looks for the addresses
			_, text, _ = strings.Cut(text, "\nlocated()")
			text, _, _ = strings.Cut(text, "\n}\n")
		}
		programs.WriteString(text)
	}
	for _, other := range others {
		delete(settings, other)
	}
	c := &change.Change{Kind: "file", Name: plan.KilnDir + "/machine", What: change.Changed}
	read := 0
	for name := range settings {
		if !regexp.MustCompile(`\$\{?` + name + `\b`).MatchString(programs.String()) {
			continue
		}
		read++
		a, b := "a", "b"
		e, _ := effectOf(nil, c, &change.Field{Name: name, Old: &a, New: &b})
		require.Greater(t, e, layout.Later, "a program that runs reads %s", name)
	}
	require.GreaterOrEqual(t, read, 3)
}

// TestCarriedAddress: an address that control planes carry does not go away under those who look
// for the API servers there.
func TestCarriedAddress(t *testing.T) {
	t.Parallel()
	state := func(endpoint, address string) *change.Cluster {
		c := oneMachine("v1.36.3")
		c.Properties = change.Properties{{Name: "endpoint", Value: endpoint}}
		c.Machines[0].Role = controlPlane
		if address != "" {
			c.Machines[0].Entries = change.Entries{{
				Key: change.Key{Kind: "file", ID: plan.ManifestsDir + "/kube-vip.yaml"},
				Content: []byte("spec:\n  containers:\n  - env:\n    - name: address\n" +
					"      value: " + address + "\n    - name: port\n      value: \"6443\"\n"),
			}}
		}
		return c
	}
	const address, name = "https://10.0.0.10:6443", "https://api.example.com:6443"
	for _, row := range []struct {
		name, old, now, why, instead string
		endpoint                     string
	}{
		{"stays", "10.0.0.10", "10.0.0.10", "", "", address},
		{"new", "", "10.0.0.10", "", "", name},
		{"moved", "10.0.0.10", "10.0.0.9", "controlPlane.vip 10.0.0.10 → 10.0.0.9: ",
			"first make a name the endpoint", address},
		{"moved, IPv6", "fd00::10", `"::9"`, "controlPlane.vip fd00::10 → ::9: ",
			"first make a name the endpoint", "https://[fd00::10]:6443"},
		{"removed", "10.0.0.10", "", "controlPlane.vip 10.0.0.10 → none: ",
			"first make a name the endpoint", address},
		{"removed, behind a name", "10.0.0.10", "", "controlPlane.vip 10.0.0.10 → none: ",
			"let the endpoint's name lead to", name},
	} {
		p := planned(t, state(row.endpoint, row.old), state(row.endpoint, row.now), nil)
		if row.why == "" {
			require.Empty(t, p.Refused, row.name)
			continue
		}
		require.Len(t, p.Refused, 1, row.name)
		require.Equal(t, "vip", p.Refused[0].Name, row.name)
		require.Contains(t, p.Refused[0].Why, row.why, row.name)
		require.Contains(t, p.Refused[0].Instead, row.instead, row.name)
	}
}

// TestEtcdVersions: etcd goes up by one minor at a time, and to 3.7 from 3.6.11 on.
func TestEtcdVersions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ old, now, why string }{
		{"3.6.8-0", "3.6.11-0", ""},
		{"3.6.11-0", "3.7.0-0", ""},
		{"v3.6.12", "3.7.0-0@sha256:aa", ""},
		{"3.6.8-0", "3.7.0-0", "a has etcd 3.6.8, from which no way leads to 3.7"},
		{"3.5.24-0", "3.7.0-0", "a has etcd 3.5.24, from which no way leads to 3.7"},
		{"3.7.0-0", "3.6.11-0", "a has etcd 3.7.0, from which no way leads to 3.6"},
		{"latest", "3.7.0-0", ""},
	} {
		state := func(tag string) *change.Cluster {
			c := holding(plan.ManifestPath(target.Etcd),
				"spec:\n  containers:\n  - image: x/etcd:"+tag+"\n")
			c.Machines[0].Role = controlPlane
			return c
		}
		p := planned(t, state(row.old), state(row.now), nil)
		if row.why == "" {
			require.Empty(t, p.Refused, "%s", row.old)
			continue
		}
		require.Len(t, p.Refused, 1)
		require.Equal(t, "etcd-version", p.Refused[0].Name)
		require.Equal(t, row.why, p.Refused[0].Why)
	}
}

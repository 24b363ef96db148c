package judges

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/judges/machine"
)

// TestKubeadmRulesAreNeeded: each reviewed difference is still one.
func TestKubeadmRulesAreNeeded(t *testing.T) {
	t.Parallel()
	rules, err := kubeadmRules()
	require.NoError(t, err)
	release, seen, needed := "", []string{}, map[*kubeadmRule][]string{}
	for _, machines := range clusters(t, minor) {
		for _, m := range machines {
			if m.Pool {
				continue
			}
			release, seen = m.Kubernetes, append(seen, m.Case)
			lines, err := kubeadmDifferences(m)
			require.NoError(t, err, "%s: %s", m.Case, m.Name)
			for _, line := range lines {
				if r := rules.explain(line, m); r != nil {
					needed[r] = append(needed[r], m.Case)
				}
			}
		}
	}
	for _, finding := range rules.stale(release, seen, needed) {
		t.Error(finding)
	}
}

// TestKubeadmSees checks that a changed machine differs from kubeadm's, and that the finding says
// where.
func TestKubeadmSees(t *testing.T) {
	t.Parallel()
	replace := func(path, before, after string) func(*Machine) {
		return func(m *Machine) {
			f := m.File(path)
			text := readable(f)
			if !strings.Contains(text, before) {
				panic(path + " does not have " + before)
			}
			f.Content = []byte(strings.Replace(text, before, after, 1))
		}
	}
	content := func(path, other string) func(*Machine) {
		return func(m *Machine) { m.File(path).Content = m.File(other).Content }
	}
	object := func(kind string) string {
		for _, f := range cluster(t, "single", "ignition")[0].Under(objectsDir) {
			if strings.HasSuffix(f.Path, kind+".yaml") {
				return f.Path
			}
		}
		panic("no " + kind)
	}
	const (
		manifests = "/etc/kubernetes/manifests/"
		pki       = "/etc/kubernetes/pki/"
	)
	for _, tt := range []struct {
		name   string
		change func(*Machine)
		want   string
	}{
		{"value of a flag",
			replace(manifests+"kube-apiserver.yaml",
				"--allow-privileged=true", "--allow-privileged=false"),
			"pod kube-apiserver flag --allow-privileged: true -> false"},
		{"flag gone", replace(manifests+"kube-scheduler.yaml", "    - --leader-elect=true\n", ""),
			"pod kube-scheduler flag --leader-elect: true -> absent"},
		{"flag added",
			replace(manifests+"etcd.yaml",
				"    - --tls-min-version",
				"    - --force-new-cluster=true\n    - --tls-min-version"),
			"pod etcd flag --force-new-cluster: absent -> true"},
		{"field of a pod",
			replace(manifests+"etcd.yaml", "hostNetwork: true", "hostNetwork: false"),
			"pod etcd spec.hostNetwork: true -> absent"},
		{"mount",
			replace(manifests+"kube-apiserver.yaml",
				"mountPath: /etc/ssl/certs", "mountPath: /etc/ssl"),
			"pod kube-apiserver mount /etc/ssl: absent -> DirectoryOrCreate read-only " +
				"from /etc/ssl/certs"},
		{"mount of CAs",
			replace(manifests+"kube-apiserver.yaml", "path: /usr/share/ca-certificates", "path: /"),
			"pod kube-apiserver mount /usr/share/ca-certificates: absent -> DirectoryOrCreate " +
				"read-only from /"},
		{"label of the node",
			replace(nodeObject, "node.kubernetes.io/exclude-from-external-load-balancers", "x"),
			"object Node <node> metadata.labels." +
				"node.kubernetes.io/exclude-from-external-load-balancers: \"\" -> absent"},
		{"kubeconfig without verification",
			replace("/etc/kubernetes/scheduler.conf",
				"    certificate-authority: /etc/kubernetes/pki/ca.crt\n",
				"    insecure-skip-tls-verify: true\n"),
			"kubeconfig scheduler.conf insecure-skip-tls-verify: absent -> true"},
		{"common name", content(pki+"front-proxy-client.crt", pki+"apiserver-kubelet-client.crt"),
			"cert front-proxy-client CN: front-proxy-client -> kube-apiserver-kubelet-client"},
		{"SAN", content(pki+"apiserver.crt", "/var/lib/kubelet/pki/kubelet.crt"),
			"cert apiserver SAN kubernetes.default.svc: yes -> absent"},
		{"issuer", content(pki+"front-proxy-ca.crt", pki+"ca.crt"),
			"cert front-proxy-ca issuer: front-proxy-ca -> kubernetes"},
		{"identity of a kubeconfig",
			replace("/etc/kubernetes/scheduler.conf",
				"pki/scheduler.crt", "pki/controller-manager.crt"),
			"kubeconfig scheduler.conf client CN: system:kube-scheduler -> " +
				"system:kube-controller-manager"},
		{"server of a kubeconfig",
			replace("/etc/kubernetes/kubelet.conf", "https://10.0.0.11:", "https://10.0.0.12:"),
			"kubeconfig kubelet.conf server: https://<node address>:6443 -> " +
				"https://10.0.0.12:6443"},
		{"mode of a key", func(m *Machine) { m.File(pki + "ca.key").Mode = 0o644 },
			"key ca mode: 0600 -> 0644"},
		{"owner of a file", func(m *Machine) { m.File(pki + "sa.key").User = "etcd" },
			"key sa owner: root:root -> etcd:root"},
		{"file gone", func(m *Machine) {
			m.Files = slices.DeleteFunc(m.Files,
				func(f File) bool { return f.Path == pki+"sa.pub" })
		}, "file /etc/kubernetes/pki/sa.pub: present -> absent"},
		{"file added", func(m *Machine) { m.Files = append(m.Files, File{Path: pki + "old.key"}) },
			"key old: absent -> present"},
		{"mode of a folder", func(m *Machine) { m.Dir("/etc/kubernetes/manifests").Mode = 0o777 },
			"dir /etc/kubernetes/manifests mode: 0700 -> 0777"},
		{"kubelet's configuration",
			replace("/var/lib/kubelet/config.yaml", "mode: Webhook", "mode: AlwaysAllow"),
			"kubelet authorization.mode: Webhook -> AlwaysAllow"},
		{"kubelet's flag", replace(kubeletDropIn, "--kubeconfig=", "--kube-config="),
			"kubelet flag --kubeconfig: /etc/kubernetes/kubelet.conf -> absent"},
		{"field of an object",
			replace(object("deployment-coredns"), "maxUnavailable: 1", "maxUnavailable: 2"),
			"object Deployment kube-system/coredns " +
				"spec.strategy.rollingUpdate.maxUnavailable: 1 -> 2"},
		{"subject of a binding", replace(object("clusterrolebinding-kubeadm-cluster-admins"),
			"name: cluster-admin\n", "name: view\n"),
			"object ClusterRoleBinding kubeadm:cluster-admins roleRef.name: cluster-admin -> view"},
		{"file within an object",
			replace(object("configmap-kube-proxy"), "clusterCIDR: 10.244", "clusterCIDR: 10.245"),
			"object ConfigMap kube-system/kube-proxy config.conf.clusterCIDR: 10.244.0.0/16 " +
				"-> 10.245.0.0/16"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			machines := cluster(t, "single", "ignition")
			tt.change(machines[0])
			require.Contains(t, kubeadmJudge(machines),
				machines[0].Name+": not as kubeadm has it: "+tt.want)
		})
	}
}

func TestParseKubeadmRules(t *testing.T) {
	t.Parallel()
	rules, err := parseKubeadmRules(`# Head.

pod * flag --profiling: absent -> false
[v1.34 worker ha] kubelet *: * -> absent
    A reason of
    two lines.
`)
	require.NoError(t, err)
	require.Len(t, rules, 2)
	require.Equal(t, 4, rules[1].Line)
	require.Equal(t, "A reason of two lines.", rules[1].Reason)

	m := &Machine{machine.Machine{Case: "ha", Role: "worker", Kubernetes: "v1.34.4"}}
	require.Equal(t, rules[0], rules.explain("pod etcd flag --profiling: absent -> false", m))
	require.Nil(t, rules.explain("pod etcd flag --profiling: absent -> true", m))
	require.Equal(t, rules[1], rules.explain("kubelet flag --v: 2 -> absent", m))
	for _, other := range []machine.Machine{
		{Case: "single", Role: "worker", Kubernetes: "v1.34.4"},
		{Case: "ha", Role: "control-plane", Kubernetes: "v1.34.4"},
		{Case: "ha", Role: "worker", Kubernetes: "v1.36.3"},
	} {
		require.Nil(t, rules.explain("kubelet flag --v: 2 -> absent", &Machine{other}))
	}

	seen := []string{"ha", "single"}
	require.Len(t, rules.stale("v1.34.4", seen, nil), 2, "neither is needed")
	require.Len(t, rules.stale("v1.36.3", seen, nil), 1, "the second is for another minor")
	require.Len(t, rules.stale("v1.34.4", seen[1:], nil), 1, "there is no case for the second")
	needed := map[*kubeadmRule][]string{rules[0]: {"single"}, rules[1]: {"single"}}
	require.Len(t, rules.stale("v1.34.4", seen, needed), 1,
		"the second names a case that does not need it")
	needed[rules[1]] = []string{"ha"}
	require.Empty(t, rules.stale("v1.34.4", seen, needed))

	for name, text := range map[string]string{
		"no reason": "pod etcd: present -> absent\n",
		"nothing":   "    a reason\n",
		"after its reason": "pod etcd: present -> absent\n    a reason\npod x: present -> " +
			"absent\n    another\n",
		"blank line between": "pod etcd: present -> absent\n\n    a reason\n",
	} {
		_, err := parseKubeadmRules(text)
		require.Error(t, err, name)
	}
}

package judges

import (
	"path"
	"slices"
	"strings"
)

// etcdMembers checks that all members know the same members and token, and that each is one of them
// under its own address.
func (t *trust) etcdMembers() {
	if t.commands[t.at]["etcd"] == nil {
		return
	}
	for _, flag := range []string{
		"initial-cluster", "initial-cluster-token", "initial-cluster-state",
	} {
		own, first := t.option(t.at, "etcd", flag), t.option(t.members[0], "etcd", flag)
		if own != first {
			t.find("etcd --%s is %s, on %s it is %s", flag, own, t.members[0].Name, first)
		}
	}
	own := t.option(t.at, "etcd", "name") + "=" +
		t.option(t.at, "etcd", "initial-advertise-peer-urls")
	members := strings.Split(t.option(t.at, "etcd", "initial-cluster"), ",")
	if !slices.Contains(members, own) || len(members) != len(t.members) {
		t.find("etcd --initial-cluster is %v, want %d members and %s among them",
			members, len(t.members), own)
	}
	for _, flags := range [][2]string{
		{"listen-client-urls", "advertise-client-urls"},
		{"listen-peer-urls", "initial-advertise-peer-urls"},
	} {
		listen, advertised := t.option(t.at, "etcd", flags[0]), t.option(t.at, "etcd", flags[1])
		if !strings.Contains(listen, advertised) {
			t.find("etcd --%s is %s, which others do not reach", flags[0], listen)
		}
	}
}

// etcdServers checks that an API server without a member on its machine uses all members, and that
// all members are on machines of one role.
func (t *trust) etcdServers() {
	for _, m := range t.members {
		if m.Role != t.members[0].Role {
			t.find("etcd is on %s and on %s, whose roles differ", t.members[0].Name, m.Name)
		}
	}
	if len(t.members) == 0 || t.commands[t.at]["etcd"] != nil {
		return
	}
	var want []string
	for _, m := range t.members {
		want = append(want, t.option(m, "etcd", "advertise-client-urls"))
	}
	got := strings.Split(t.option(t.at, "kube-apiserver", "etcd-servers"), ",")
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.find("kube-apiserver --etcd-servers is %v, want %v", got, want)
	}
}

// standalone checks that a machine with role etcd runs only its member. Its kubelet finds no API
// server, and serves nobody, since it could not ask who may do what. The machine has nothing of the
// cluster's own trust.
func (t *trust) standalone() {
	for _, w := range t.at.workloads() {
		if w.name != "etcd" {
			t.find("%s: it is not etcd", w.file)
		}
	}
	for _, flag := range []string{"kubeconfig", "bootstrap-kubeconfig"} {
		if conf := t.option(t.at, "kubelet", flag); conf != "" {
			t.find("kubelet --%s is %s, but the machine is no Node", flag, conf)
		}
	}
	for field, want := range map[string]string{
		"enableServer": "false", "readOnlyPort": "0", "staticPodPath": "/etc/kubernetes/manifests",
	} {
		if got, _ := t.kubelet(field); got != want {
			t.find("%s: %s is %q, want %s", kubeletConfig, field, got, want)
		}
	}
	for _, f := range t.at.Files {
		if strings.HasPrefix(f.Path, "/etc/kubernetes/") &&
			path.Dir(f.Path) != "/etc/kubernetes/manifests" {
			t.find("%s: it is for machines that are Nodes", f.Path)
		}
	}
}

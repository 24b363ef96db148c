package render_test

import "kiln.dev/kiln/render/plan"

// fileRefusals has the rows for files that programs name, and for the rights of pods to use them.
var fileRefusals = []refusal{
	{name: "missing file of a flag", breaks: func(m *machine) {
		m.remove(plan.ServicePub)
	}, want: "static pod kube-apiserver: --service-account-key-file: names " +
		"/etc/kubernetes/pki/sa.pub, which the machine does not have"},
	{name: "missing file of a kubeconfig", breaks: func(m *machine) {
		m.edit(plan.SchedulerConf, "scheduler.crt", "client.crt")
	}, want: "file /etc/kubernetes/scheduler.conf: names /etc/kubernetes/pki/client.crt, which " +
		"the machine does not have"},
	{name: "missing file of the kubelet", machine: "worker-1", breaks: func(m *machine) {
		m.edit(plan.KubeletConfig, plan.CACert, plan.PKIDir+"/x.crt")
	}, want: "file /var/lib/kubelet/config.yaml: names /etc/kubernetes/pki/x.crt"},
	{name: "missing file of a unit", machine: "worker-1", breaks: func(m *machine) {
		m.edit(dropIn, plan.KubeletConf, plan.KubernetesDir+"/node.conf")
	}, want: "file " + dropIn + ": names /etc/kubernetes/node.conf"},
	{name: "missing program of a unit", machine: "worker-1", breaks: func(m *machine) {
		m.remove(plan.KilnDir + "/boot")
	}, want: "file /etc/systemd/system/kiln.service: names /etc/kiln/boot"},
	{name: "missing file that retires", breaks: func(m *machine) {
		m.edit(hookMachine, "install.key", "installer.key")
	}, want: "file /etc/kiln/machine: retire: names /etc/kubernetes/pki/installer.key"},
	{name: "missing kubelet configuration", machine: "worker-1", breaks: func(m *machine) {
		m.remove(plan.KubeletConfig)
	}, want: "file /var/lib/kubelet/config.yaml: missing"},
	{name: "missing static pod", breaks: func(m *machine) {
		m.remove(plan.ManifestsDir + "/etcd.yaml")
	}, want: "static pod etcd: a control plane needs a container of this name"},
	{name: "no pod", breaks: func(m *machine) {
		m.file(plan.ManifestsDir + "/etcd.yaml").Content = []byte("[")
	}, want: "file /etc/kubernetes/manifests/etcd.yaml: "},
	{name: "no kubeconfig", breaks: func(m *machine) {
		m.file(plan.SchedulerConf).Content = []byte("[")
	}, want: "file /etc/kubernetes/scheduler.conf: not a kubeconfig with one cluster and one user"},
	{name: "no kubelet configuration", machine: "worker-1", breaks: func(m *machine) {
		m.file(plan.KubeletConfig).Content = []byte("[")
	}, want: "file /var/lib/kubelet/config.yaml: "},
	{name: "missing command line of the kubelet", machine: "worker-1", breaks: func(m *machine) {
		m.remove(dropIn)
	}, want: "file " + dropIn + ": missing"},
	{name: "etcd's key is root's", breaks: func(m *machine) {
		m.file(etcdKey).User, m.file(etcdKey).Group = "", ""
	}, want: "static pod etcd: --key-file: the pod's user 232 cannot read " +
		"/etc/etcd/pki/server.key (mode 0600, owner root)"},
	{name: "etcd's folder is root's", breaks: func(m *machine) {
		m.give(plan.EtcdPKIDir, "root")
	}, want: "the pod's user 232 cannot enter /etc/etcd/pki (mode 0700, owner root)"},
	{name: "etcd's data is root's", breaks: func(m *machine) {
		m.give(plan.EtcdData, "root")
	}, want: "static pod etcd: --data-dir: the pod's user 232 cannot write /var/lib/etcd"},
	{name: "user of a patch", breaks: func(m *machine) {
		m.pod("kube-scheduler", "  securityContext:\n    seccompProfile",
			"  securityContext:\n    runAsUser: 65534\n    seccompProfile")
	}, want: "static pod kube-scheduler: --kubeconfig: the pod's user 65534 cannot read " +
		"/etc/kubernetes/scheduler.conf"},
	{name: "root without capabilities", breaks: func(m *machine) {
		m.file(plan.Encryption).User = "232"
	}, want: "static pod kube-apiserver: --encryption-provider-config: the pod's user 0 cannot " +
		"read /etc/kubernetes/apiserver/encryption.yaml (mode 0600, owner 232)"},
	{name: "no mount", breaks: func(m *machine) {
		m.pod("kube-apiserver",
			"    - mountPath: /etc/kubernetes/apiserver\n"+
				"      name: settings\n      readOnly: true\n",
			"")
	}, want: "static pod kube-apiserver: --audit-policy-file: " +
		"/etc/kubernetes/apiserver/audit.yaml is in no volume of the pod"},
	{name: "no mount for a kubeconfig's files", breaks: func(m *machine) {
		m.pod("kube-scheduler",
			"    - mountPath: /etc/kubernetes/pki/scheduler.crt\n"+
				"      name: certificate\n      readOnly: true\n",
			"")
	}, want: "static pod kube-scheduler: --kubeconfig: /etc/kubernetes/pki/scheduler.crt is in " +
		"no volume of the pod"},
	{name: "no volume", breaks: func(m *machine) {
		m.pod("kube-scheduler", "type: File\n    name: ca\n", "type: File\n    name: authority\n")
	}, want: `static pod kube-scheduler: mounts the volume "ca", which the pod does not have`},
	{name: "volume of another folder", breaks: func(m *machine) {
		m.pod("kube-apiserver", "      path: /etc/kubernetes/apiserver\n",
			"      path: /etc/kubernetes/settings\n")
	}, want: "static pod kube-apiserver: volume settings: names /etc/kubernetes/settings"},
	{name: "volume of another type", breaks: func(m *machine) {
		m.pod("kube-scheduler", "type: File", "type: Directory")
	}, want: "static pod kube-scheduler: volume kubeconfig: /etc/kubernetes/scheduler.conf is " +
		"not of the type Directory"},
	{name: "audit log in no volume", breaks: func(m *machine) {
		m.pod("kube-apiserver", "audit-log-path=/var/log/kubernetes/", "audit-log-path=/var/log/")
	}, want: "static pod kube-apiserver: --audit-log-path: /var/log/audit.log is in no volume of " +
		"the pod"},
	{name: "data in a read-only volume", breaks: func(m *machine) {
		m.pod("etcd", "      name: etcd-data\n", "      name: etcd-data\n      readOnly: true\n")
	}, want: "static pod etcd: --data-dir: /var/lib/etcd is written, and its volume etcd-data is " +
		"read-only"},
}

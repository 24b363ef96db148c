package render_test

import "kiln.dev/kiln/render/plan"

// fileRefusals has the rows for files that programs name, and for the rights of pods to use them.
var fileRefusals = []refusal{
	{"missing file of a flag", "", remove(plan.ServicePub), "static pod kube-apiserver: " +
		"--service-account-key-file: names /etc/kubernetes/pki/sa.pub, which the machine " +
		"does not have"},
	{"missing file of a kubeconfig", "", edit(plan.SchedulerConf, "scheduler.crt", "client.crt"),
		"file /etc/kubernetes/scheduler.conf: names /etc/kubernetes/pki/client.crt, which " +
			"the machine does not have"},
	{"missing file of the kubelet", "ha/worker-1",
		edit(plan.KubeletConfig, plan.CACert, plan.PKIDir+"/x.crt"),
		"file /var/lib/kubelet/config.yaml: names /etc/kubernetes/pki/x.crt"},
	{"missing file of a unit", "ha/worker-1",
		edit(dropIn, plan.KubeletConf, plan.KubernetesDir+"/node.conf"),
		"file " + dropIn + ": names /etc/kubernetes/node.conf"},
	{"missing program of a unit", "ha/worker-1", remove(plan.KilnDir + "/boot"),
		"file /etc/systemd/system/kiln.service: names /etc/kiln/boot"},
	{"missing file that retires", "", edit(hookMachine, "install.key", "installer.key"),
		"file /etc/kiln/machine: retire: names /etc/kubernetes/pki/installer.key"},
	{"missing kubelet configuration", "ha/worker-1", remove(plan.KubeletConfig),
		"file /var/lib/kubelet/config.yaml: missing"},
	{"missing static pod", "", remove(plan.ManifestsDir + "/etcd.yaml"),
		"static pod etcd: a control plane needs a container of this name"},
	{"no pod", "",
		func(m *machine) { m.file(plan.ManifestsDir + "/etcd.yaml").Content = []byte("[") },
		"file /etc/kubernetes/manifests/etcd.yaml: "},
	{"no kubeconfig", "", func(m *machine) { m.file(plan.SchedulerConf).Content = []byte("[") },
		"file /etc/kubernetes/scheduler.conf: not a kubeconfig with one cluster and one user"},
	{"no kubelet configuration", "ha/worker-1",
		func(m *machine) { m.file(plan.KubeletConfig).Content = []byte("[") },
		"file /var/lib/kubelet/config.yaml: "},
	{"missing command line of the kubelet", "ha/worker-1", remove(dropIn),
		"file " + dropIn + ": missing"},
	{"etcd's key is root's", "",
		func(m *machine) { m.file(etcdKey).User, m.file(etcdKey).Group = "", "" },
		"static pod etcd: --key-file: the pod's user 232 cannot read " +
			"/etc/etcd/pki/server.key (mode 0600, owner root)"},
	{"etcd's folder is root's", "", give(plan.EtcdPKIDir, "root"),
		"the pod's user 232 cannot enter /etc/etcd/pki (mode 0700, owner root)"},
	{"etcd's data is root's", "", give(plan.EtcdData, "root"),
		"static pod etcd: --data-dir: the pod's user 232 cannot write /var/lib/etcd"},
	{"user of a patch", "", pod("kube-scheduler", "  securityContext:\n    seccompProfile",
		"  securityContext:\n    runAsUser: 65534\n    seccompProfile"),
		"static pod kube-scheduler: --kubeconfig: the pod's user 65534 cannot read " +
			"/etc/kubernetes/scheduler.conf"},
	{"root without capabilities", "", func(m *machine) { m.file(plan.Encryption).User = "232" },
		"static pod kube-apiserver: --encryption-provider-config: the pod's user 0 cannot " +
			"read /etc/kubernetes/apiserver/encryption.yaml (mode 0600, owner 232)"},
	{"no mount", "", pod("kube-apiserver",
		"    - mountPath: /etc/kubernetes/apiserver\n"+
			"      name: settings\n      readOnly: true\n",
		""), "static pod kube-apiserver: --audit-policy-file: " +
		"/etc/kubernetes/apiserver/audit.yaml is in no volume of the pod"},
	{"no mount for a kubeconfig's files", "", pod("kube-scheduler",
		"    - mountPath: /etc/kubernetes/pki/scheduler.crt\n"+
			"      name: certificate\n      readOnly: true\n",
		""), "static pod kube-scheduler: --kubeconfig: /etc/kubernetes/pki/scheduler.crt " +
		"is in no volume of the pod"},
	{"no volume", "",
		pod("kube-scheduler", "type: File\n    name: ca\n", "type: File\n    name: authority\n"),
		`static pod kube-scheduler: mounts the volume "ca", which the pod does not have`},
	{"volume of another folder", "", pod("kube-apiserver",
		"      path: /etc/kubernetes/apiserver\n", "      path: /etc/kubernetes/settings\n"),
		"static pod kube-apiserver: volume settings: names /etc/kubernetes/settings"},
	{"volume of another type", "", pod("kube-scheduler", "type: File", "type: Directory"),
		"static pod kube-scheduler: volume kubeconfig: /etc/kubernetes/scheduler.conf is not " +
			"of the type Directory"},
	{"audit log in no volume", "", pod("kube-apiserver", "audit-log-path=/var/log/kubernetes/",
		"audit-log-path=/var/log/"), "static pod kube-apiserver: --audit-log-path: " +
		"/var/log/audit.log is in no volume of the pod"},
	{"data in a read-only volume", "", pod("etcd", "      name: etcd-data\n",
		"      name: etcd-data\n      readOnly: true\n"), "static pod etcd: --data-dir: " +
		"/var/lib/etcd is written, and its volume etcd-data is read-only"},
}

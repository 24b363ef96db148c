package render_test

import (
	"net/netip"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/plan"
)

// nameRefusals has the rows for servers and the names in their certificates.
var nameRefusals = []refusal{
	{"endpoint of a worker", "ha/worker-1", edit(plan.KubeletConf, "api.ha.example.com",
		"api.example.com"), "node worker-1: file /etc/kubernetes/kubelet.conf: server: " +
		"https://api.example.com:6443: the API server on cp-1 has no certificate for " +
		"api.example.com"},
	{"endpoint of the hook", "ha/worker-1", edit(hookMachine, "api.ha.example.com", "10.9.9.9"),
		"file /etc/kiln/machine: api: https://10.9.9.9:6443: the API server on cp-1 has no " +
			"certificate"},
	{"endpoint of the operator", "", func(m *machine) {
		m.own()
		m.r.Plan.EndpointHost = "api.example.com"
	}, "admin.conf: https://api.example.com:6443: the API server on cp-1 has no certificate"},
	{"endpoint of kube-proxy", "", editObject("ConfigMap", "kube-proxy", "api.ha.example.com",
		"api.example.com"), "ConfigMap kube-proxy: server: https://api.example.com:6443: " +
		"the API server on cp-1 has no certificate"},
	{"kubeconfig of another machine", "", edit(plan.SchedulerConf, "10.0.0.11", "10.0.0.99"),
		"file /etc/kubernetes/scheduler.conf: server: https://10.0.0.99:6443"},
	{"no SAN for Services", "",
		reissue("apiserver", func(s *pki.Spec) { s.Names.IPs = s.Names.IPs[:1] }),
		"pods: https://10.96.0.1:443: the API server on cp-1 has no certificate for 10.96.0.1"},
	{"a worker's certificate for Services", "ha/worker-1",
		reissue("kubelet-server", func(s *pki.Spec) {
			s.Names.DNS = append(s.Names.DNS, "*.default.svc")
		}), "/var/lib/kubelet/pki/kubelet.crt: the kubelet's certificate is for " +
			"kubernetes.default.svc, which is a name or an address of the API server"},
	{"a worker's client certificate for a control plane", "ha/worker-1",
		reissue("kubelet-client", func(s *pki.Spec) {
			s.Names.IPs = append(s.Names.IPs, netip.MustParseAddr("10.0.0.12"))
		}), "/var/lib/kubelet/pki/kubelet-client-current.pem: the kubelet's certificate is for " +
			"10.0.0.12, which is"},
	{"a control plane's certificate for the endpoint", "",
		reissue("kubelet-server", func(s *pki.Spec) {
			s.Names.DNS = append(s.Names.DNS, "api.ha.example.com")
		}), "/var/lib/kubelet/pki/kubelet.crt: the kubelet's certificate is for " +
			"api.ha.example.com, which is"},
	{"no SAN for etcd's client", "", reissue("etcd-server", func(s *pki.Spec) {
		s.Names.IPs = []netip.Addr{netip.MustParseAddr("10.0.0.11")}
	}), "static pod kube-apiserver: --etcd-servers: clients dial 127.0.0.1, and " +
		"/etc/etcd/pki/server.crt is not for it"},
	{"etcd peer of another address", "", pod("etcd", "cp-2=https://10.0.0.12",
		"cp-2=https://10.0.0.22"), "static pod etcd: --initial-cluster: " +
		"cp-2=https://10.0.0.22:2380: no machine has a certificate of etcd's"},
	{"etcd peer of the hook", "", edit(hookMachine, "cp-3=", "cp-4="),
		"file /etc/kiln/machine: etcd_peers: cp-4=https://10.0.0.13:2380: no machine has a " +
			"certificate of etcd's"},
	{"etcd URL of the hook", "",
		edit(hookMachine, "etcd_url='https://10.0.0.11:2380'", "etcd_url='https://10.0.0.9:2380'"),
		"file /etc/kiln/machine: etcd_url is https://10.0.0.9:2380, but static pod etcd"},
	{"kubelet of another address", "ha/worker-1", edit(dropIn, "--node-ip=10.0.0.21",
		"--node-ip=10.0.0.99"), "kubelet.service: --node-ip: clients dial 10.0.0.99, and " +
		"/var/lib/kubelet/pki/kubelet.crt is not for it"},
}

// trustRefusals has the rows for certificates, keys and CAs: which programs trust each other.
var trustRefusals = []refusal{
	{"swapped certificates", "",
		swap(plan.PKIDir+"/scheduler.crt", plan.PKIDir+"/controller-manager.crt"),
		"/etc/kubernetes/pki/scheduler.key is not the key of /etc/kubernetes/pki/scheduler.crt"},
	{"key of another machine", "ha/worker-1",
		func(m *machine) {
			m.file(plan.KubeletPKI + "/kubelet.key").Content = m.r.Bundle.CAKey.PEM()
		},
		"file /var/lib/kubelet/config.yaml: tlsPrivateKeyFile: " +
			"/var/lib/kubelet/pki/kubelet.key is not the key of " +
			"/var/lib/kubelet/pki/kubelet.crt"},
	{"expired", "", func(m *machine) {
		m.own()
		m.r.Bundle.Issued = m.r.Bundle.Issued.Add(20 * 365 * 24 * time.Hour)
	}, "certificate scheduler/cp-1: x509: certificate has expired"},
	{"no certificate", "",
		func(m *machine) { m.file(plan.PKIDir + "/apiserver.crt").Content = []byte("hello") },
		"certificate apiserver/cp-1: /etc/kubernetes/pki/apiserver.crt is missing or holds none"},
	{"not for clients", "", reissue("scheduler", func(s *pki.Spec) { s.Usages = nil }),
		"file /etc/kubernetes/scheduler.conf: client-certificate: " +
			"/etc/kubernetes/pki/scheduler.crt does not verify"},
	{"CA of clients", "", pod("kube-apiserver", "--client-ca-file="+plan.CACert,
		"--client-ca-file="+plan.FrontProxyCA), `static pod kube-apiserver: ` +
		`--client-ca-file: /etc/kubernetes/pki/front-proxy-ca.crt does not hold the CA ` +
		`"kubernetes"`},
	{"CA of clients not set", "", pod("kube-apiserver", "    - --client-ca-file="+plan.CACert+"\n",
		""), "static pod kube-apiserver: --client-ca-file is not set"},
	{"CA of a kubeconfig", "ha/worker-1",
		func(m *machine) { m.file(plan.CACert).Content = m.r.Bundle.EtcdCA.PEM() },
		`file /etc/kubernetes/kubelet.conf: certificate-authority: ` +
			`/etc/kubernetes/pki/ca.crt does not hold the CA "kubernetes"`},
	{"CA of kubelets", "", pod("kube-apiserver", "--kubelet-certificate-authority="+plan.CACert,
		"--kubelet-certificate-authority="+plan.EtcdCA), "static pod kube-apiserver: " +
		"--kubelet-certificate-authority: /etc/kubernetes/pki/etcd/ca.crt does not hold " +
		"the CA"},
	{"CA of a kubelet's clients", "ha/worker-1",
		edit(plan.KubeletConfig, plan.CACert, plan.KubeletPKI+"/kubelet.crt"),
		"file /var/lib/kubelet/config.yaml: authentication.x509.clientCAFile: " +
			"/var/lib/kubelet/pki/kubelet.crt does not hold the CA"},
	{"CA of the front proxy", "", pod("kube-apiserver",
		"--requestheader-client-ca-file="+plan.FrontProxyCA,
		"--requestheader-client-ca-file="+plan.CACert), "--proxy-client-cert-file: " +
		"/etc/kubernetes/pki/front-proxy-client.crt does not verify with " +
		"/etc/kubernetes/pki/ca.crt"},
	{"name of the front proxy", "",
		pod("kube-apiserver", "allowed-names=front-proxy-client", "allowed-names=aggregator"),
		`static pod kube-apiserver: --requestheader-allowed-names: want "front-proxy-client"`},
	{"CA of etcd's server", "", pod("kube-apiserver", "--etcd-cafile="+plan.EtcdCA,
		"--etcd-cafile="+plan.CACert), "static pod etcd: --cert-file: " +
		"/etc/etcd/pki/server.crt does not verify with /etc/kubernetes/pki/ca.crt"},
	{"CA of etcd's clients", "",
		func(m *machine) { m.file(plan.EtcdOwnCA).Content = m.r.Bundle.CA.PEM() },
		"--etcd-certfile: /etc/kubernetes/pki/apiserver-etcd-client.crt does not verify with " +
			"/etc/etcd/pki/ca.crt"},
	{"signer of another CA", "", pod("kube-controller-manager",
		"cluster-signing-cert-file="+plan.CASigning,
		"cluster-signing-cert-file="+plan.FrontProxyCA),
		"static pod kube-controller-manager: --cluster-signing-cert-file: " +
			"/etc/kubernetes/pki/front-proxy-ca.crt does not hold the CA"},
	{"service account key", "", pod("kube-controller-manager", "private-key-file="+plan.ServiceKey,
		"private-key-file="+plan.CAKey), "--service-account-private-key-file: " +
		"kube-apiserver's --service-account-key-file does not hold the public key of " +
		"/etc/kubernetes/pki/ca.key"},
	{"service account public key", "",
		func(m *machine) { m.file(plan.ServicePub).Content = m.r.Bundle.CAKey.PublicPEM() },
		"--service-account-signing-key-file: kube-apiserver's --service-account-key-file " +
			"does not hold the public key"},
	{"another client's kubeconfig", "", swap(plan.SchedulerConf, plan.ManagerConf),
		"static pod kube-scheduler: --kubeconfig: /etc/kubernetes/pki/controller-manager.crt " +
			"is for CN=system:kube-controller-manager, want the name system:kube-scheduler"},
	{"another Node", "ha/worker-1",
		func(m *machine) { m.file("/etc/hostname").Content = []byte("worker-7\n") },
		"want the name system:node:worker-7 in the group system:nodes"},
	{"another Node in the hook", "ha/worker-1", edit(hookMachine, "node='worker-1'",
		"node='worker-7'"), "want the name system:node:worker-7 in the group system:nodes"},
	{"install credential without rights", "",
		reissue("install", func(s *pki.Spec) { s.Organizations = nil }),
		"want the name kiln:install in the group system:masters"},
	{"kubeconfig without a credential", "", swap(plan.SchedulerConf, plan.ProxyConf),
		"static pod kube-scheduler: --kubeconfig: /etc/kubernetes/scheduler.conf has no " +
			"client certificate"},
	{"kubelet without a CA", "ha/worker-1",
		edit(plan.KubeletConfig, "clientCAFile: ", "clientCA: "),
		"file /var/lib/kubelet/config.yaml: authentication.x509.clientCAFile is not set"},
	{"kubelet without a certificate", "ha/worker-1", edit(plan.KubeletConfig, "tlsCertFile: ",
		"tlsCert: "), "file /var/lib/kubelet/config.yaml: tlsCertFile is not set"},
	{"unknown token", "pools/large", withoutObject("Secret", "bootstrap-token-"),
		"pool large: file /etc/kubernetes/bootstrap-kubelet.conf: the API server is not told " +
			"of the token"},
}

// rightRefusals has the rows for rights in the API, and for the objects that give them.
var rightRefusals = []refusal{
	{"operator's rights", "", withoutObject("ClusterRoleBinding", "kubeadm:cluster-admins"),
		"objects: no ClusterRoleBinding gives Group kubeadm:cluster-admins the ClusterRole " +
			"cluster-admin"},
	{"API server's rights", "",
		withoutObject("ClusterRoleBinding", "kubeadm:apiserver-kubelet-client"),
		"gives kube-apiserver-kubelet-client the ClusterRole system:kubelet-api-admin"},
	{"kubelets' renewal", "", withoutObject("ClusterRoleBinding",
		"kubeadm:node-autoapprove-certificate-rotation"), "gives Group system:nodes the " +
		"ClusterRole system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"},
	{"kube-proxy's rights", "", withoutObject("ClusterRoleBinding", "kubeadm:node-proxier"),
		"gives ServiceAccount kube-proxy the ClusterRole system:node-proxier"},
	{"joining", "pools/cp-1", withoutObject("ClusterRoleBinding", "kubeadm:kubelet-bootstrap"),
		"gives Group system:bootstrappers:kiln the ClusterRole system:node-bootstrapper"},
	{"joining machines' certificates", "pools/cp-1", withoutObject("ClusterRoleBinding",
		"kubeadm:node-autoapprove-bootstrap"), "gives Group system:bootstrappers:kiln the " +
		"ClusterRole system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
	{"object of another content", "",
		edit(plan.KilnDir+"/objects/008-clusterrolebinding-kubeadm-cluster-admins.yaml",
			"cluster-admin", "view"), "file /etc/kiln/objects/index: line 9: the object of " +
			"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:cluster-admins is " +
			"not what it should be"},
	{"missing object", "",
		func(m *machine) {
			m.file(plan.KilnDir + "/objects/index").Content = []byte("/api\tapi.yaml\n")
		},
		"file /etc/kiln/objects/index: lists"},
	{"missing objects", "", remove(plan.KilnDir + "/objects/index"),
		"file /etc/kiln/objects/index: missing"},
}

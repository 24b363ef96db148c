package render_test

import (
	"net/netip"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/plan"
)

// nameRefusals has the rows for servers and the names in their certificates.
var nameRefusals = []refusal{
	{name: "endpoint of a worker", machine: "worker-1", breaks: func(m *machine) {
		m.edit(plan.KubeletConf, "api.ha.example.com", "api.example.com")
	}, want: "node worker-1: file /etc/kubernetes/kubelet.conf: server: " +
		"https://api.example.com:6443: " +
		"the API server on cp-1 has no certificate for api.example.com"},
	{name: "endpoint of the hook", machine: "worker-1", breaks: func(m *machine) {
		m.edit(hookMachine, "api.ha.example.com", "10.9.9.9")
	}, want: "file /etc/kiln/machine: api: https://10.9.9.9:6443: the API server on cp-1 has no " +
		"certificate"},
	{name: "endpoint of the operator", fresh: true, breaks: func(m *machine) {
		m.r.Plan.EndpointHost = "api.example.com"
	}, want: "admin.conf: https://api.example.com:6443: the API server on cp-1 has no certificate"},
	{name: "endpoint of kube-proxy",
		objects: replaced("ConfigMap", "kube-proxy", "api.ha.example.com", "api.example.com"),
		want: "ConfigMap kube-proxy: server: https://api.example.com:6443: the API server on " +
			"cp-1 has no certificate"},
	{name: "kubeconfig of another machine", breaks: func(m *machine) {
		m.edit(plan.SchedulerConf, "10.0.0.11", "10.0.0.99")
	}, want: "file /etc/kubernetes/scheduler.conf: server: https://10.0.0.99:6443"},
	{name: "no SAN for Services", breaks: func(m *machine) {
		m.reissue("apiserver", func(s *pki.Spec) { s.Names.IPs = s.Names.IPs[:1] })
	}, want: "pods: https://10.96.0.1:443: the API server on cp-1 has no certificate for " +
		"10.96.0.1"},
	{name: "a worker's certificate for Services", machine: "worker-1", breaks: func(m *machine) {
		m.reissue("kubelet-server", func(s *pki.Spec) {
			s.Names.DNS = append(s.Names.DNS, "*.default.svc")
		})
	}, want: "/var/lib/kubelet/pki/kubelet.crt: the kubelet's certificate is for " +
		"kubernetes.default.svc, which is a name or an address of the API server"},
	{name: "a worker's client certificate for a control plane", machine: "worker-1",
		breaks: func(m *machine) {
			m.reissue("kubelet-client", func(s *pki.Spec) {
				s.Names.IPs = append(s.Names.IPs, netip.MustParseAddr("10.0.0.12"))
			})
		}, want: "/var/lib/kubelet/pki/kubelet-client-current.pem: the kubelet's certificate is " +
			"for 10.0.0.12, which is"},
	{name: "a control plane's certificate for the endpoint", breaks: func(m *machine) {
		m.reissue("kubelet-server", func(s *pki.Spec) {
			s.Names.DNS = append(s.Names.DNS, "api.ha.example.com")
		})
	}, want: "/var/lib/kubelet/pki/kubelet.crt: the kubelet's certificate is for " +
		"api.ha.example.com, which is"},
	{name: "no SAN for etcd's client", breaks: func(m *machine) {
		m.reissue("etcd-server", func(s *pki.Spec) {
			s.Names.IPs = []netip.Addr{netip.MustParseAddr("10.0.0.11")}
		})
	}, want: "static pod kube-apiserver: --etcd-servers: clients dial 127.0.0.1, and " +
		"/etc/etcd/pki/server.crt is not for it"},
	{name: "etcd peer of another address", breaks: func(m *machine) {
		m.pod("etcd", "cp-2=https://10.0.0.12", "cp-2=https://10.0.0.22")
	}, want: "static pod etcd: --initial-cluster: cp-2=https://10.0.0.22:2380: no machine has a " +
		"certificate of etcd's"},
	{name: "etcd peer of the hook", breaks: func(m *machine) {
		m.edit(hookMachine, "cp-3=", "cp-4=")
	}, want: "file /etc/kiln/machine: etcd_peers: cp-4=https://10.0.0.13:2380: no machine has a " +
		"certificate of etcd's"},
	{name: "etcd URL of the hook", breaks: func(m *machine) {
		m.edit(hookMachine, "etcd_url='https://10.0.0.11:2380'", "etcd_url='https://10.0.0.9:2380'")
	}, want: "file /etc/kiln/machine: etcd_url is https://10.0.0.9:2380, but static pod etcd"},
	{name: "kubelet of another address", machine: "worker-1", breaks: func(m *machine) {
		m.edit(dropIn, "--node-ip=10.0.0.21", "--node-ip=10.0.0.99")
	}, want: "kubelet.service: --node-ip: clients dial 10.0.0.99, and " +
		"/var/lib/kubelet/pki/kubelet.crt is not for it"},
}

// trustRefusals has the rows for certificates, keys and CAs: which programs trust each other.
var trustRefusals = []refusal{
	{name: "swapped certificates", breaks: func(m *machine) {
		m.swap(plan.PKIDir+"/scheduler.crt", plan.PKIDir+"/controller-manager.crt")
	}, want: "/etc/kubernetes/pki/scheduler.key is not the key of " +
		"/etc/kubernetes/pki/scheduler.crt"},
	{name: "key of another machine", machine: "worker-1", breaks: func(m *machine) {
		m.file(plan.KubeletPKI + "/kubelet.key").Content = m.r.Bundle.CAKey.PEM()
	}, want: "file /var/lib/kubelet/config.yaml: tlsPrivateKeyFile: " +
		"/var/lib/kubelet/pki/kubelet.key is not the key of /var/lib/kubelet/pki/kubelet.crt"},
	{name: "expired", fresh: true, breaks: func(m *machine) {
		m.r.Bundle.Issued = m.r.Bundle.Issued.Add(20 * 365 * 24 * time.Hour)
	}, want: "certificate scheduler/cp-1: x509: certificate has expired"},
	{name: "no certificate", breaks: func(m *machine) {
		m.file(plan.PKIDir + "/apiserver.crt").Content = []byte("hello")
	}, want: "certificate apiserver/cp-1: /etc/kubernetes/pki/apiserver.crt is missing or holds " +
		"none"},
	{name: "not for clients", breaks: func(m *machine) {
		m.reissue("scheduler", func(s *pki.Spec) { s.Usages = nil })
	}, want: "file /etc/kubernetes/scheduler.conf: client-certificate: " +
		"/etc/kubernetes/pki/scheduler.crt does not verify"},
	{name: "CA of clients", breaks: func(m *machine) {
		m.pod("kube-apiserver", "--client-ca-file="+plan.CACert,
			"--client-ca-file="+plan.FrontProxyCA)
	}, want: `static pod kube-apiserver: --client-ca-file: ` +
		`/etc/kubernetes/pki/front-proxy-ca.crt does not hold the CA "kubernetes"`},
	{name: "CA of clients not set", breaks: func(m *machine) {
		m.pod("kube-apiserver", "    - --client-ca-file="+plan.CACert+"\n", "")
	}, want: "static pod kube-apiserver: --client-ca-file is not set"},
	{name: "CA of a kubeconfig", machine: "worker-1", breaks: func(m *machine) {
		m.file(plan.CACert).Content = m.r.Bundle.EtcdCA.PEM()
	}, want: `file /etc/kubernetes/kubelet.conf: certificate-authority: ` +
		`/etc/kubernetes/pki/ca.crt does not hold the CA "kubernetes"`},
	{name: "CA of kubelets", breaks: func(m *machine) {
		m.pod("kube-apiserver", "--kubelet-certificate-authority="+plan.CACert,
			"--kubelet-certificate-authority="+plan.EtcdCA)
	}, want: "static pod kube-apiserver: --kubelet-certificate-authority: " +
		"/etc/kubernetes/pki/etcd/ca.crt does not hold the CA"},
	{name: "CA of a kubelet's clients", machine: "worker-1", breaks: func(m *machine) {
		m.edit(plan.KubeletConfig, plan.CACert, plan.KubeletPKI+"/kubelet.crt")
	}, want: "file /var/lib/kubelet/config.yaml: authentication.x509.clientCAFile: " +
		"/var/lib/kubelet/pki/kubelet.crt does not hold the CA"},
	{name: "CA of the front proxy", breaks: func(m *machine) {
		m.pod("kube-apiserver", "--requestheader-client-ca-file="+plan.FrontProxyCA,
			"--requestheader-client-ca-file="+plan.CACert)
	}, want: "--proxy-client-cert-file: /etc/kubernetes/pki/front-proxy-client.crt does not " +
		"verify with /etc/kubernetes/pki/ca.crt"},
	{name: "name of the front proxy", breaks: func(m *machine) {
		m.pod("kube-apiserver", "allowed-names=front-proxy-client", "allowed-names=aggregator")
	}, want: `static pod kube-apiserver: --requestheader-allowed-names: want "front-proxy-client"`},
	{name: "CA of etcd's server", breaks: func(m *machine) {
		m.pod("kube-apiserver", "--etcd-cafile="+plan.EtcdCA, "--etcd-cafile="+plan.CACert)
	}, want: "static pod etcd: --cert-file: /etc/etcd/pki/server.crt does not verify with " +
		"/etc/kubernetes/pki/ca.crt"},
	{name: "CA of etcd's clients", breaks: func(m *machine) {
		m.file(plan.EtcdOwnCA).Content = m.r.Bundle.CA.PEM()
	}, want: "--etcd-certfile: /etc/kubernetes/pki/apiserver-etcd-client.crt does not verify " +
		"with /etc/etcd/pki/ca.crt"},
	{name: "signer of another CA", breaks: func(m *machine) {
		m.pod("kube-controller-manager", "cluster-signing-cert-file="+plan.CASigning,
			"cluster-signing-cert-file="+plan.FrontProxyCA)
	}, want: "static pod kube-controller-manager: --cluster-signing-cert-file: " +
		"/etc/kubernetes/pki/front-proxy-ca.crt does not hold the CA"},
	{name: "service account key", breaks: func(m *machine) {
		m.pod("kube-controller-manager", "private-key-file="+plan.ServiceKey,
			"private-key-file="+plan.CAKey)
	}, want: "--service-account-private-key-file: kube-apiserver's --service-account-key-file " +
		"does not hold the public key of /etc/kubernetes/pki/ca.key"},
	{name: "service account public key", breaks: func(m *machine) {
		m.file(plan.ServicePub).Content = m.r.Bundle.CAKey.PublicPEM()
	}, want: "--service-account-signing-key-file: kube-apiserver's --service-account-key-file " +
		"does not hold the public key"},
	{name: "another client's kubeconfig", breaks: func(m *machine) {
		m.swap(plan.SchedulerConf, plan.ManagerConf)
	}, want: "static pod kube-scheduler: --kubeconfig: " +
		"/etc/kubernetes/pki/controller-manager.crt is for CN=system:kube-controller-manager, " +
		"want the name system:kube-scheduler"},
	{name: "another Node", machine: "worker-1", breaks: func(m *machine) {
		m.file("/etc/hostname").Content = []byte("worker-7\n")
	}, want: "want the name system:node:worker-7 in the group system:nodes"},
	{name: "another Node in the hook", machine: "worker-1", breaks: func(m *machine) {
		m.edit(hookMachine, "node='worker-1'", "node='worker-7'")
	}, want: "want the name system:node:worker-7 in the group system:nodes"},
	{name: "install credential without rights", breaks: func(m *machine) {
		m.reissue("install", func(s *pki.Spec) { s.Organizations = nil })
	}, want: "want the name kiln:install in the group system:masters"},
	{name: "kubeconfig without a credential", breaks: func(m *machine) {
		m.swap(plan.SchedulerConf, plan.ProxyConf)
	}, want: "static pod kube-scheduler: --kubeconfig: /etc/kubernetes/scheduler.conf has no " +
		"client certificate"},
	{name: "kubelet without a CA", machine: "worker-1", breaks: func(m *machine) {
		m.edit(plan.KubeletConfig, "clientCAFile: ", "clientCA: ")
	}, want: "file /var/lib/kubelet/config.yaml: authentication.x509.clientCAFile is not set"},
	{name: "kubelet without a certificate", machine: "worker-1", breaks: func(m *machine) {
		m.edit(plan.KubeletConfig, "tlsCertFile: ", "tlsCert: ")
	}, want: "file /var/lib/kubelet/config.yaml: tlsCertFile is not set"},
	{name: "unknown token", cluster: "pools", machine: "large",
		objects: without("Secret", "bootstrap-token-"),
		want: "pool large: file /etc/kubernetes/bootstrap-kubelet.conf: the API server is not " +
			"told of the token"},
}

// rightRefusals has the rows for rights in the API, and for the objects that give them.
var rightRefusals = []refusal{
	{name: "operator's rights", objects: without("ClusterRoleBinding", "kubeadm:cluster-admins"),
		want: "objects: no ClusterRoleBinding gives Group kubeadm:cluster-admins the ClusterRole " +
			"cluster-admin"},
	{name: "API server's rights",
		objects: without("ClusterRoleBinding", "kubeadm:apiserver-kubelet-client"),
		want:    "gives kube-apiserver-kubelet-client the ClusterRole system:kubelet-api-admin"},
	{name: "kubelets' renewal",
		objects: without("ClusterRoleBinding", "kubeadm:node-autoapprove-certificate-rotation"),
		want: "gives Group system:nodes the ClusterRole " +
			"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"},
	{name: "kube-proxy's rights", objects: without("ClusterRoleBinding", "kubeadm:node-proxier"),
		want: "gives ServiceAccount kube-proxy the ClusterRole system:node-proxier"},
	{name: "joining", cluster: "pools",
		objects: without("ClusterRoleBinding", "kubeadm:kubelet-bootstrap"),
		want:    "gives Group system:bootstrappers:kiln the ClusterRole system:node-bootstrapper"},
	{name: "joining machines' certificates", cluster: "pools",
		objects: without("ClusterRoleBinding", "kubeadm:node-autoapprove-bootstrap"),
		want: "gives Group system:bootstrappers:kiln the ClusterRole " +
			"system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
	{name: "object of another content", breaks: func(m *machine) {
		m.edit(plan.KilnDir+"/objects/008-clusterrolebinding-kubeadm-cluster-admins.yaml",
			"cluster-admin",
			"view")
	}, want: "file /etc/kiln/objects/index: line 9: the object of " +
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:cluster-admins is not " +
		"what it should be"},

	{name: "missing object", breaks: func(m *machine) {
		m.file(plan.KilnDir + "/objects/index").Content = []byte("/api\tapi.yaml\n")
	}, want: "file /etc/kiln/objects/index: lists"},
	{name: "missing objects", breaks: func(m *machine) {
		m.remove(plan.KilnDir + "/objects/index")
	}, want: "file /etc/kiln/objects/index: missing"},
}

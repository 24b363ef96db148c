package cis

import "kiln.dev/kiln/test/judges/machine"

// checks are the checks of the CIS Kubernetes Benchmark 1.12, as kube-bench's cis-1.12 data has
// them: master.yaml of revision 0139daa, etcd.yaml of f1807bb, controlplane.yaml of 3a25de8,
// node.yaml of 0f317df, policies.yaml of 0ec1f76. kube-bench looks at files, at the arguments of
// processes and at objects of the API server. It accepts any argument that contains the name of a
// flag; here the name has to match exactly. For admin.conf and super-admin.conf, only the files
// that exist count, as the benchmark says.
var checks = []check{
	{"1.1.1", automated, mode(manifest("kube-apiserver")), within(0o600)},
	{"1.1.2", automated, owner(manifest("kube-apiserver")), is("root:root")},
	{"1.1.3", automated, mode(manifest("kube-controller-manager")), within(0o600)},
	{"1.1.4", automated, owner(manifest("kube-controller-manager")), is("root:root")},
	{"1.1.5", automated, mode(manifest("kube-scheduler")), within(0o600)},
	{"1.1.6", automated, owner(manifest("kube-scheduler")), is("root:root")},
	{"1.1.7", automated, mode(manifest("etcd")), within(0o600)},
	{"1.1.8", automated, owner(manifest("etcd")), is("root:root")},
	{"1.1.9", manual, mode(leases), within(0o600)},
	{"1.1.10", manual, owner(leases), is("root:root")},
	{"1.1.11", automated, mode(etcdData), within(0o700)},
	{"1.1.12", automated, owner(etcdData), is("etcd:etcd")},
	{"1.1.13", automated, mode(adminConfs), within(0o600)},
	{"1.1.14", automated, owner(adminConfs), is("root:root")},
	{"1.1.15", automated, mode(present("/etc/kubernetes/scheduler.conf")), within(0o600)},
	{"1.1.16", automated, owner(present("/etc/kubernetes/scheduler.conf")), is("root:root")},
	{"1.1.17", automated, mode(present("/etc/kubernetes/controller-manager.conf")), within(0o600)},
	{"1.1.18", automated,
		owner(present("/etc/kubernetes/controller-manager.conf")), is("root:root")},
	{"1.1.19", automated, owner(below("/etc/kubernetes/pki/", "")), is("root:root")},
	{"1.1.20", manual, mode(below("/etc/kubernetes/pki/", ".crt")), within(0o644)},
	{"1.1.21", manual, mode(below("/etc/kubernetes/pki/", ".key")), within(0o600)},

	{"1.2.1", manual, argument("kube-apiserver", "anonymous-auth"), is("false")},
	{"1.2.2", automated, argument("kube-apiserver", "token-auth-file"), unset},
	{"1.2.3", manual,
		argument("kube-apiserver", "enable-admission-plugins"), has("DenyServiceExternalIPs")},
	{"1.2.4", automated,
		argument("kube-apiserver", "kubelet-client-certificate", "kubelet-client-key"), set},
	{"1.2.5", automated, argument("kube-apiserver", "kubelet-certificate-authority"), set},
	{"1.2.6", automated, argument("kube-apiserver", "authorization-mode"), lacks("AlwaysAllow")},
	{"1.2.7", automated, argument("kube-apiserver", "authorization-mode"), has("Node")},
	{"1.2.8", automated, argument("kube-apiserver", "authorization-mode"), has("RBAC")},
	{"1.2.9", manual,
		argument("kube-apiserver", "enable-admission-plugins"), has("EventRateLimit")},
	{"1.2.10", automated,
		argument("kube-apiserver", "enable-admission-plugins"), orUnset(lacks("AlwaysAdmit"))},
	{"1.2.11", manual,
		argument("kube-apiserver", "enable-admission-plugins"), has("AlwaysPullImages")},
	{"1.2.12", automated,
		argument("kube-apiserver", "disable-admission-plugins"), orUnset(lacks("ServiceAccount"))},
	{"1.2.13", automated,
		argument("kube-apiserver", "disable-admission-plugins"),
		orUnset(lacks("NamespaceLifecycle"))},
	{"1.2.14", automated,
		argument("kube-apiserver", "enable-admission-plugins"), has("NodeRestriction")},
	{"1.2.15", automated, argument("kube-apiserver", "profiling"), is("false")},
	{"1.2.16", automated, argument("kube-apiserver", "audit-log-path"), set},
	{"1.2.17", automated, argument("kube-apiserver", "audit-log-maxage"), atLeast(30)},
	{"1.2.18", automated, argument("kube-apiserver", "audit-log-maxbackup"), atLeast(10)},
	{"1.2.19", automated, argument("kube-apiserver", "audit-log-maxsize"), atLeast(100)},
	{id: "1.2.20", kind: personal}, // --request-timeout
	{"1.2.21", automated,
		argument("kube-apiserver", "service-account-lookup"), orUnset(is("true"))},
	{"1.2.22", automated, argument("kube-apiserver", "service-account-key-file"), set},
	{"1.2.23", automated, argument("kube-apiserver", "etcd-certfile", "etcd-keyfile"), set},
	{"1.2.24", automated, argument("kube-apiserver", "tls-cert-file", "tls-private-key-file"), set},
	{"1.2.25", automated, argument("kube-apiserver", "client-ca-file"), set},
	{"1.2.26", automated, argument("kube-apiserver", "etcd-cafile"), set},
	{"1.2.27", manual, argument("kube-apiserver", "encryption-provider-config"), set},
	{"1.2.28", manual,
		firstProviders, among("aescbc, kms and secretbox", "aescbc", "kms", "secretbox")},
	{"1.2.29", manual, argument("kube-apiserver", "tls-cipher-suites"), among("strong suites",
		"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	)},
	{"1.2.30", automated,
		argument("kube-apiserver", "service-account-extend-token-expiration"), is("false")},

	{"1.3.1", manual, argument("kube-controller-manager", "terminated-pod-gc-threshold"), set},
	{"1.3.2", automated, argument("kube-controller-manager", "profiling"), is("false")},
	{"1.3.3", automated,
		argument("kube-controller-manager", "use-service-account-credentials"), isNot("false")},
	{"1.3.4", automated,
		argument("kube-controller-manager", "service-account-private-key-file"), set},
	{"1.3.5", automated, argument("kube-controller-manager", "root-ca-file"), set},
	{"1.3.6", automated,
		argument("kube-controller-manager", "feature-gates"),
		orUnset(lacks("RotateKubeletServerCertificate=false"))},
	{"1.3.7", automated,
		argument("kube-controller-manager", "bind-address"), orUnset(is("127.0.0.1"))},

	{"1.4.1", automated, argument("kube-scheduler", "profiling"), is("false")},
	{"1.4.2", automated, argument("kube-scheduler", "bind-address"), orUnset(is("127.0.0.1"))},

	{"2.1", automated, argument("etcd", "cert-file", "key-file"), set},
	{"2.2", automated, argument("etcd", "client-cert-auth"), is("true")},
	{"2.3", automated, argument("etcd", "auto-tls"), orUnset(is("false"))},
	{"2.4", automated, argument("etcd", "peer-cert-file", "peer-key-file"), set},
	{"2.5", automated, argument("etcd", "peer-client-cert-auth"), is("true")},
	{"2.6", automated, argument("etcd", "peer-auto-tls"), orUnset(is("false"))},
	{"2.7", manual, argument("etcd", "trusted-ca-file"), set},

	{id: "3.1.1", kind: personal}, // no client certificates for people
	{id: "3.1.2", kind: personal}, // no service account tokens for people
	{id: "3.1.3", kind: personal}, // no bootstrap tokens for people
	{"3.2.1", manual, argument("kube-apiserver", "audit-policy-file"), set},
	{id: "3.2.2", kind: personal}, // what the audit policy covers

	{"4.1.1", automated, mode(kubeletUnit), within(0o600)},
	{"4.1.2", automated, owner(kubeletUnit), is("root:root")},
	{"4.1.3", manual, mode(present("/etc/kubernetes/proxy.conf")), within(0o600)},
	{"4.1.4", manual, owner(present("/etc/kubernetes/proxy.conf")), is("root:root")},
	{"4.1.5", automated, mode(present("/etc/kubernetes/kubelet.conf")), within(0o600)},
	{"4.1.6", automated, owner(present("/etc/kubernetes/kubelet.conf")), is("root:root")},
	{"4.1.7", manual, mode(present("/etc/kubernetes/pki/ca.crt")), within(0o644)},
	{"4.1.8", manual, owner(present("/etc/kubernetes/pki/ca.crt")), is("root:root")},
	{"4.1.9", automated, mode(present(machine.KubeletConfig)), within(0o600)},
	{"4.1.10", automated, owner(present(machine.KubeletConfig)), is("root:root")},

	{"4.2.1", automated,
		setting("anonymous-auth", "authentication.anonymous.enabled"), is("false")},
	{"4.2.2", automated, setting("authorization-mode", "authorization.mode"), lacks("AlwaysAllow")},
	{"4.2.3", automated, setting("client-ca-file", "authentication.x509.clientCAFile"), set},
	{"4.2.4", manual, setting("read-only-port", "readOnlyPort"), orUnset(is("0"))},
	{"4.2.5", manual,
		setting("streaming-connection-idle-timeout", "streamingConnectionIdleTimeout"),
		orUnset(isNot("0"))},
	{"4.2.6", automated,
		setting("make-iptables-util-chains", "makeIPTablesUtilChains"), orUnset(is("true"))},
	{"4.2.7", manual, argument("kubelet", "hostname-override"), unset},
	{"4.2.8", manual, setting("event-qps", "eventRecordQPS"), orUnset(atLeast(0))},
	{"4.2.9", manual,
		both(
			setting("tls-cert-file", "tlsCertFile"),
			setting("tls-private-key-file", "tlsPrivateKeyFile"),
		), set},
	{"4.2.10", automated,
		setting("rotate-certificates", "rotateCertificates"), orUnset(is("true"))},
	{"4.2.11", manual,
		setting("feature-gates", "featureGates.RotateKubeletServerCertificate"),
		orUnset(lacks("false"))},
	{"4.2.12", manual, setting("tls-cipher-suites", "tlsCipherSuites"),
		among("strong suites, named without POLY1305_SHA256,",
			"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
			"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
			"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
		)},
	{"4.2.13", manual, setting("pod-max-pids", "podPidsLimit"), set},
	{"4.2.14", manual, setting("seccomp-default", "seccompDefault"), set},

	// kube-proxy's configuration is in a ConfigMap, which the tool cannot see; trustJudge reads it.
	{"4.3.1", automated, argument("kube-proxy", "metrics-bind-address"), orUnset(has("127.0.0.1"))},

	// Of roles, accounts and namespaces, the tool also reads those of 5.1.3, 5.1.5 and 5.1.6. They
	// are met by no cluster: Kubernetes itself makes objects that do not meet them.
	{"5.1.1", manual, administrators, is("cluster-admin")},
	{"5.1.2", manual, everybodyMay("secrets", "get", "list", "watch"), is("no")},
	{id: "5.1.3", kind: personal}, // no wildcards in roles
	{"5.1.4", manual, everybodyMay("pods", "create"), is("no")},
	{id: "5.1.5", kind: personal},  // default service accounts are not used
	{id: "5.1.6", kind: personal},  // tokens are mounted where they are needed
	{id: "5.1.7", kind: personal},  // the group system:masters is not used
	{id: "5.1.8", kind: personal},  // who may bind, impersonate and escalate
	{id: "5.1.9", kind: personal},  // who may create persistent volumes
	{id: "5.1.10", kind: personal}, // who may use nodes/proxy
	{id: "5.1.11", kind: personal}, // who may approve certificate requests
	{id: "5.1.12", kind: personal}, // who may change webhook configurations
	{id: "5.1.13", kind: personal}, // who may create tokens of service accounts

	{id: "5.2.1", kind: personal}, // a policy for pods is in place
	{"5.2.2", manual, containers("privileged",
		func(c *container) *bool { return c.SecurityContext.Privileged }), orUnset(isNot("true"))},
	{"5.2.3", manual, pods("hostPID",
		func(s *podSpec) *bool { return s.HostPID }), orUnset(isNot("true"))},
	{"5.2.4", manual, pods("hostIPC",
		func(s *podSpec) *bool { return s.HostIPC }), orUnset(isNot("true"))},
	{"5.2.5", manual, pods("hostNetwork",
		func(s *podSpec) *bool { return s.HostNetwork }), orUnset(isNot("true"))},
	{"5.2.6", manual, containers("allowPrivilegeEscalation",
		func(c *container) *bool { return c.SecurityContext.AllowPrivilegeEscalation }),
		orUnset(isNot("true"))},
	{id: "5.2.7", kind: personal},  // no root in containers
	{id: "5.2.8", kind: personal},  // no NET_RAW
	{id: "5.2.9", kind: personal},  // no capabilities
	{id: "5.2.10", kind: personal}, // no HostProcess on Windows
	{id: "5.2.11", kind: personal}, // no hostPath
	{id: "5.2.12", kind: personal}, // no hostPort

	{id: "5.3.1", kind: personal}, // the CNI plugin knows network policies
	{id: "5.3.2", kind: personal}, // each namespace has network policies
	{id: "5.4.1", kind: personal}, // Secrets as files
	{id: "5.4.2", kind: personal}, // Secrets outside of the cluster
	{id: "5.5.1", kind: personal}, // where images come from
	{id: "5.6.1", kind: personal}, // boundaries by namespaces
	{id: "5.6.2", kind: personal}, // seccomp in each pod
	{id: "5.6.3", kind: personal}, // a securityContext in each pod
	{id: "5.6.4", kind: personal}, // nothing in the namespace default
}

// Files that checks look at, in the tool's order of preference.
var (
	adminConfs  = present("/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf")
	kubeletUnit = first(machine.KubeletDropIn, "/etc/systemd/system/kubelet.service",
		"/lib/systemd/system/kubelet.service")
)

func manifest(component string) files {
	return present(machine.ManifestsDir + "/" + component + ".yaml")
}

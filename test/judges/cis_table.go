package judges

// cisChecks are the checks of sections 1 to 4 of the CIS Kubernetes Benchmark 1.12, as kube-bench's
// cis-1.12 data has them: master.yaml of revision 0139daa, etcd.yaml of f1807bb, controlplane.yaml
// of 3a25de8, node.yaml of 0f317df. kube-bench looks at files and at the arguments of processes. It
// accepts any argument that contains the name of a flag; here the name has to match exactly. For
// admin.conf and super-admin.conf, only the files that exist count, as the benchmark says.
var cisChecks = []check{
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
	{"4.1.9", automated, mode(present(kubeletConfig)), within(0o600)},
	{"4.1.10", automated, owner(present(kubeletConfig)), is("root:root")},

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
}

// Files that checks look at, in the tool's order of preference.
var (
	adminConfs  = present("/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf")
	kubeletUnit = first(kubeletDropIn, "/etc/systemd/system/kubelet.service",
		"/lib/systemd/system/kubelet.service")
)

func manifest(component string) files { return present(manifestsDir + "/" + component + ".yaml") }

// cisExceptions are the checks that do not pass, each reviewed.
var cisExceptions = []exception{
	{
		"1.2.1", (*Machine).ControlPlane,
		"the flag forbids probes too; --authentication-config allows anonymous health checks alone",
	},
	{"1.2.11", (*Machine).ControlPlane,
		"no pod would start without the registry; security.alwaysPullImages turns it on"},
	{"1.2.20 3.1.1 3.1.2 3.1.3 3.2.2", (*Machine).ControlPlane, "the tool leaves them to a person"},

	{
		"1.1.9 1.1.10",
		controlPlaneOf("addons", "delivery-pointer", "delivery-split", "pools", "pools-cloud"),
		"the pod network is somebody else's",
	},
	{"4.1.3 4.1.4", inCase("addons"), "there is no kube-proxy"},
	{"1.1.7 1.1.8 1.1.11 1.1.12", controlPlaneOf("external-etcd"), "etcd is somebody else's"},
	{"1.1.7 1.1.8 1.1.11 1.1.12", controlPlaneOf("etcd-machine", "etcd-machines"),
		"etcd is on machines of its own, which are held to them"},
	{"1.2.3 1.2.9", controlPlaneOf("patches"), "the user's own admission plugins replace ours"},
	{"1.2.5", controlPlaneOf("delivery-pointer", "delivery-split", "pools"),
		"kubelets that join with a token make their own serving certificates"},
	{"4.1.5 4.1.6", withToken, "the kubelet writes the file when it has joined, 0600"},
	{"4.2.9", withToken, "the kubelet makes its own serving certificate, or asks for one"},
	{"4.2.10", inCase("offline-signing"),
		"nothing signs the next certificate; it comes with the next document"},

	{"1.2.3 1.2.9 1.2.16 1.2.17 1.2.18 1.2.19 1.2.30 1.3.1 3.2.1", controlPlaneOf("baseline"),
		baselineSays},
	{"4.1.3 4.1.4 4.2.13 4.2.14", inCase("baseline"), baselineSays},
	{"1.2.28", controlPlaneOf("baseline"), "the cluster asks for encryption: identity"},
}

// A cluster with profile baseline passes the rest: all modes and owners, all that kubeadm's default
// passes, and all that costs nothing.
const baselineSays = "the profile baseline leaves out what workloads may notice"

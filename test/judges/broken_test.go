package judges

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBroken: what is wrong with a machine is found, by the judge that it is for.
func TestBroken(t *testing.T) {
	t.Parallel()
	const (
		apiServer  = "manifests/kube-apiserver.yaml"
		manager    = "manifests/kube-controller-manager.yaml"
		scheduler  = "manifests/kube-scheduler.yaml"
		etcd       = "manifests/etcd.yaml"
		kubelet    = "/var/lib/kubelet/config.yaml"
		dropIn     = kubeletDropIn
		index      = "objects/index"
		proxy      = "-configmap-kube-proxy.yaml"
		encryption = "apiserver/encryption.yaml"
		admission  = "apiserver/admission.yaml"
	)
	for name, tt := range map[string]struct {
		judge func([]*Machine) []string
		in    string // the golden cluster; its first machine is changed
		file  string // the end of the file's path
		// regular expression; the first match is replaced, without one the file is removed
		old  string
		new  string
		want string // part of a finding
	}{
		"pod with an unknown field": {objectsJudge, "ha", apiServer,
			"hostNetwork: true", "hostNet: true", `unknown field "spec.hostNet"`},
		"pod with a field in other case": {objectsJudge, "ha", apiServer,
			"hostNetwork: true", "HostNetwork: true", `unknown field "spec.HostNetwork"`},
		"pod with a field twice": {objectsJudge, "ha", apiServer,
			"hostNetwork: true", "hostNetwork: true\n  hostNetwork: true",
			`"hostNetwork" already set`},
		"pod with port 99999": {objectsJudge, "ha", apiServer,
			"containerPort: 6443", "containerPort: 99999", "must be between 1 and 65535"},
		"pod and another document": {objectsJudge, "ha", scheduler,
			"$", "---\nkind: Pod\n", "more than one document"},
		"pod that is none": {objectsJudge, "ha", scheduler,
			"kind: Pod", "kind: Service", "unknown field"},
		"pod with a ConfigMap": {objectsJudge, "ha", scheduler,
			`hostPath:\n.*\n.*\n`, "configMap: {name: pki}\n", "may not refer to configmaps"},
		"pod with a mount of nothing": {objectsJudge, "ha", scheduler,
			"name: kubeconfig", "name: kubeconf", "volumeMounts"},
		"privileged without leave": {objectsJudge, "ha", apiServer,
			"--allow-privileged=true", "--allow-privileged=false",
			"kube-proxy\" is invalid: spec.template.spec.containers[0].securityContext.privileged"},
		"label of the node": {objectsJudge, "ha", "node.yaml",
			`control-plane: ""`, `control-plane: "a b"`, "metadata.labels"},
		"selector of other pods": {objectsJudge, "ha", "-deployment-coredns.yaml",
			`matchLabels:\n +k8s-app: kube-dns`, "matchLabels: {k8s-app: dns}",
			"`selector` does not match"},
		"service on port 0": {objectsJudge, "ha", "-service-kube-dns.yaml",
			"port: 53", "port: 0", "spec.ports[0].port"},
		"role binding without a role": {objectsJudge, "ha", "-node-proxier.yaml",
			"kind: ClusterRole\n", "kind: Rule\n", "roleRef.kind"},
		"object of an unknown kind": {objectsJudge, "ha", proxy,
			"kind: ConfigMap", "kind: Config", "no validator is known of a /v1, Kind=Config"},
		"object of an unknown version": {objectsJudge, "ha", proxy,
			"apiVersion: v1", "apiVersion: v2",
			"no kind \"ConfigMap\" is registered for version \"v2\""},
		"object at another path": {objectsJudge, "ha", index,
			"configmaps/coredns", "configmaps/dns",
			"belongs at /api/v1/namespaces/kube-system/configmaps/coredns"},
		"object in another namespace": {objectsJudge, "ha", proxy,
			"namespace: kube-system", "namespace: default",
			"belongs at /api/v1/namespaces/default/"},
		"object that is absent": {objectsJudge, "ha", proxy,
			"", "", "absent, but in the index"},
		"object that nobody creates": {objectsJudge, "ha", index,
			`.*-configmap-kube-proxy.yaml\n`, "", "not in the index"},
		"no objects": {objectsJudge, "ha", index,
			"", "", "index: it is absent"},
		"object before its namespace": {objectsJudge, "addons", index,
			`.*-namespace-gateway.yaml\n`, "", "before its namespace gateway"},
		"object before its definition": {objectsJudge, "addons", index,
			`.*-customresourcedefinition-.*\n`, "",
			"no validator is known of a example.com/v1, Kind=Gateway"},
		"definition that does not hold": {objectsJudge, "addons", "-gateways.example.com.yaml",
			"plural: gateways", "plural: doors", "spec.names.plural"},
		"custom object with a bad name": {objectsJudge, "addons", "-gateway_public.yaml",
			"name: public", "name: Public", "RFC 1123"},

		"kubelet's unknown field": {configurationsJudge, "ha", kubelet,
			"podPidsLimit", "podPidLimit", `unknown field "podPidLimit"`},
		"kubelet's port": {configurationsJudge, "ha", kubelet,
			"healthzPort: 10248", "healthzPort: 99999",
			"healthzPort (--healthz-port) 99999 must be between 1 and 65535"},
		"kubelet's feature gate": {configurationsJudge, "ha", kubelet,
			"$", "featureGates: {Levitation: true}\n", "unrecognized feature gate: Levitation"},
		"kubelet's CA": {configurationsJudge, "ha", kubelet,
			"/pki/ca.crt", "/pki/other.crt", "needs /etc/kubernetes/pki/other.crt"},
		"kubelet's key": {configurationsJudge, "ha", "/var/lib/kubelet/pki/kubelet.key",
			"", "", "/var/lib/kubelet/pki/kubelet.key, which are not both there"},
		"kube-proxy's unknown field": {configurationsJudge, "ha", proxy,
			"clusterCIDR:", "clusterCIDRs:", `unknown field "clusterCIDRs"`},
		"kube-proxy's mode": {configurationsJudge, "ha", proxy,
			"mode: nftables", "mode: bogus", "KubeProxyConfiguration.Mode"},
		"kube-proxy's kubeconfig": {configurationsJudge, "ha", proxy,
			`  kubeconfig.conf: \|`, "  kube.conf: |", "needs /var/lib/kube-proxy/kubeconfig.conf"},
		"kube-proxy's token": {configurationsJudge, "ha", proxy,
			"tokenFile: .*", "tokenFile: /token", "needs /token"},
		"kubeconfig's unknown field": {configurationsJudge, "ha", "/scheduler.conf",
			"server:", "serve:", `unknown field "clusters[0].cluster.serve"`},
		"kubeconfig's server": {configurationsJudge, "ha", "/scheduler.conf",
			"server: .*", `server: ""`, "no server found for cluster"},
		"kubeconfig's context": {configurationsJudge, "ha", "/admin.conf",
			"current-context: ", "current-context: x", "context was not found"},
		"kubeconfig's certificate": {configurationsJudge, "ha", "/pki/scheduler.crt",
			"", "", "needs /etc/kubernetes/pki/scheduler.crt"},
		"kubeconfig's other key": {configurationsJudge, "ha", "/scheduler.conf",
			"/pki/scheduler.key", "/pki/apiserver.key", "private key does not match public key"},
		"kubeconfig out of sight": {configurationsJudge, "ha", scheduler,
			"mountPath: /etc/kubernetes/pki", "mountPath: /pki",
			"kube-scheduler --kubeconfig: it needs /etc/kubernetes/pki/"},
		"audit level": {configurationsJudge, "ha", "/audit.yaml",
			"level: Metadata", "level: Bogus", `Unsupported value: "Bogus"`},
		"audit of nothing": {configurationsJudge, "ha", "/audit.yaml",
			`rules:(\n.*)*`, "rules: []", "0 rules"},
		"encryption key of 3 bytes": {configurationsJudge, "ha", encryption,
			"secret: .*", "secret: YWJj", "secret is not of the expected length"},
		"encryption of nothing": {configurationsJudge, "ha", encryption,
			"resources: ?\n.*secrets", "resources: []", "resources"},
		"admission of nothing": {configurationsJudge, "ha", admission,
			"name: PodSecurity", "name: PodSafety", "plugin PodSafety is unknown"},
		"pod security level": {configurationsJudge, "ha", admission,
			"enforce: baseline", "enforce: sturdy", "defaults.enforce"},
		"pod security's field": {configurationsJudge, "ha", admission,
			"enforce: baseline", "enforces: baseline", `unknown field "defaults.enforces"`},
		"event rate limit": {configurationsJudge, "ha", admission,
			"qps: 10", "qps: 0", "must be positive"},
		"event rate limit's field": {configurationsJudge, "ha", admission,
			"qps: 10", "rate: 10", `unknown field "limits[1].rate"`},
		"authentication's field": {configurationsJudge, "ha", "/authentication.yaml",
			"anonymous:", "anonymity:", `unknown field "anonymity"`},
		"authentication's own issuer": {configurationsJudge, "ha", "/authentication.yaml",
			"$",
			"jwt: [{issuer: {url: https://kubernetes.default.svc.cluster.local, audiences: [a]}, " +
				"claimMappings: {username: {claim: sub, prefix: ''}}}]\n",
			"URL must not overlap with disallowed issuers"},

		"unknown flag": {flagsJudge, "ha", apiServer,
			"--profiling=false", "--profile=false", "unknown flag: --profile"},
		"removed flag": {flagsJudge, "ha", apiServer,
			"--profiling=false", "--insecure-port=0", "unknown flag: --insecure-port"},
		"deprecated flag": {flagsJudge, "ha", dropIn,
			"--node-ip=[0-9.]+", "--healthz-port=10248", "--healthz-port is deprecated"},
		"flag of the wrong type": {flagsJudge, "ha", apiServer,
			"--secure-port=6443", "--secure-port=https", `invalid argument "https"`},
		"flag given twice": {flagsJudge, "ha", apiServer,
			"--secure-port=6443", "--secure-port=6443\n    - --secure-port=6443",
			"--secure-port is given 2 times"},
		"argument that is no flag": {flagsJudge, "ha", scheduler,
			"--profiling=false", "profiling", `"profiling" is not a flag`},
		"flag that is no range": {flagsJudge, "ha", apiServer,
			"--service-cluster-ip-range=10.96.0.0/12", "--service-cluster-ip-range=10.96.0.0/33",
			"service-cluster-ip-range"},
		"flag that another forbids": {flagsJudge, "ha", apiServer,
			"--profiling=false", "--anonymous-auth=false", "--anonymous-auth flag cannot be set"},
		"feature gate": {flagsJudge, "ha", apiServer,
			"--profiling=false", "--feature-gates=Levitation=true",
			"unrecognized feature gate: Levitation"},
		"admission plugin": {flagsJudge, "ha", apiServer,
			"NodeRestriction,", "NodeRestrictions,", "NodeRestrictions"},
		"cipher suite": {flagsJudge, "ha", apiServer,
			"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_NONE", "TLS_NONE"},
		"key that is loaded": {flagsJudge, "ha", encryption,
			"secret: .*", "secret: YWJj", "expected one of [32]"},
		"controller": {flagsJudge, "ha", manager,
			`--controllers=\*`, "--controllers=*,bogus",
			`"bogus" is not in the list of known controllers`},
		"scheduler's lease": {flagsJudge, "ha", scheduler,
			"--leader-elect=true", "--leader-elect-lease-duration=1s", "leaseDuration"},
		"etcd's unknown flag": {flagsJudge, "ha", etcd,
			"--heartbeat-interval=250", "--heartbeat=250", "unknown flag: --heartbeat"},
		"etcd's state": {flagsJudge, "ha", etcd,
			"state=new", "state=old", `invalid argument "old"`},
		"etcd's address": {flagsJudge, "ha", etcd,
			"--listen-peer-urls=https://10.0.0.11:2380", "--listen-peer-urls=https://cp-1:2380",
			"expected IP in URL"},
		"etcd's members": {flagsJudge, "ha", etcd,
			"--initial-cluster=cp-1=https://10.0.0.11:2380", "--initial-cluster=cp-1", "cp-1"},
		"etcd's cipher suite": {flagsJudge, "ha", etcd,
			"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_NONE", "unknown cipher suite TLS_NONE"},
		"etcd's key": {flagsJudge, "ha", etcd,
			"--key-file=/etc/etcd/pki/server.key", "--key-file=/etc/etcd/pki/peer.key",
			"private key does not match public key"},
		"kubelet's label": {flagsJudge, "ha", dropIn,
			"--node-ip=[0-9.]+", "--node-labels=node-role.kubernetes.io/a=",
			"unknown 'kubernetes.io' or 'k8s.io' labels"},
		"kube-proxy's flag": {flagsJudge, "ha", "-daemonset-kube-proxy.yaml",
			"--hostname-override", "--hostname", "unknown flag: --hostname"},
		"CoreDNS' file": {flagsJudge, "ha", "-deployment-coredns.yaml",
			"- /etc/coredns/Corefile", "- /etc/coredns/file", "needs /etc/coredns/file"},
		"certificate that is absent": {flagsJudge, "ha", "/pki/apiserver.crt",
			"", "", "--tls-cert-file needs /etc/kubernetes/pki/apiserver.crt"},
		"certificate that is none": {flagsJudge, "ha", "/pki/front-proxy-ca.crt",
			`(?s).*`, "no", "--requestheader-client-ca-file"},
		"certificate with another key": {flagsJudge, "ha", apiServer,
			"/apiserver.key", "/apiserver-etcd-client.key",
			"private key does not match public key"},
		"configuration that is absent": {flagsJudge, "ha", "/audit.yaml",
			"", "", "--audit-policy-file needs /etc/kubernetes/apiserver/audit.yaml"},
		"file that is not mounted": {flagsJudge, "ha", scheduler,
			"mountPath: /etc/kubernetes/scheduler.conf", "mountPath: /etc/kubernetes/other.conf",
			"--kubeconfig needs /etc/kubernetes/scheduler.conf"},
		"log with nowhere to go": {flagsJudge, "ha", apiServer,
			"--audit-log-path=/var/log/kubernetes/", "--audit-log-path=/var/log/",
			"--audit-log-path needs /var/log,"},
		"control plane without program": {flagsJudge, "ha", scheduler,
			"", "", "kube-scheduler: it does not run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machines := cluster(t, tt.in, "ignition")
			m := machines[0]
			i := slices.IndexFunc(m.Files,
				func(f File) bool { return strings.HasSuffix(f.Path, tt.file) })
			require.GreaterOrEqual(t, i, 0, tt.file)
			if tt.old == "" {
				m.Files = slices.Delete(m.Files, i, i+1)
			} else {
				f := &m.Files[i]
				text := readable(f)
				at := regexp.MustCompile(tt.old).FindStringIndex(text)
				require.NotNil(t, at, "%s: %s", f.Path, tt.old)
				f.Content = []byte(text[:at[0]] + tt.new + text[at[1]:])
			}
			assert.Contains(t, strings.Join(tt.judge(machines), "\n"), tt.want)
		})
	}
}

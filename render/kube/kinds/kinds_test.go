package kinds_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/kube/kinds"
)

// TestCheck has a row for each way in which a document can be wrong.
func TestCheck(t *testing.T) {
	t.Parallel()
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
	const container = "  containers:\n  - name: a\n    image: b\n"
	for _, row := range []struct {
		name, text string
		minor      int
		want       []string
	}{
		{name: "good", text: pod + container},
		{name: "null is any type", text: pod + container + "    ports: null\n"},
		{name: "not a map", text: "[]", want: []string{"want a map, got a list"}},
		{name: "not YAML", text: "[", want: []string{
			"is not valid YAML: line 1: did not find expected node content",
		}},
		{name: "repeated key", text: pod + container + "    image: c\n", want: []string{
			`is not valid YAML: line 8: key "image" already set in map`,
		}},
		{name: "value of another type", text: "stringData: {password: !!int hunter2}",
			want: []string{"is not valid YAML: cannot decode !!str a value as a !!int"}},
		{name: "key of null", text: "stringData: {~: hunter2}", want: []string{
			"is not valid YAML: a key is not a string; write quotation marks around it",
		}},
		{name: "values of a pod", text: pod + container +
			"    env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]\n" +
			"    securityContext: {seccompProfile: {type: Localhost}}\n" +
			"  securityContext: {seccompProfile: {type: Unconfined, localhostProfile: a}}\n" +
			"  volumes: [{name: v, hostPath: {path: /a}, emptyDir: {}}]\n",
			want: []string{
				"spec.containers[a].env[A]: has value and valueFrom; remove one",
				"spec.containers[a].securityContext.seccompProfile: localhostProfile is missing; " +
					"type Localhost needs the path of a profile",
				"spec.securityContext.seccompProfile.localhostProfile: only type Localhost has a " +
					"path; remove it",
				"spec.volumes[v]: has 2 sources; a volume has one",
			}},
		{name: "unknown field", text: pod + container + "    imagePullPolice: Never\n",
			want: []string{`spec.containers[a].imagePullPolice: Container has no such field; ` +
				`did you mean "imagePullPolicy"?`}},
		{name: "unknown field, few known", text: pod + container +
			"    securityContext: {seccompProfile: {x: y, type: RuntimeDefault}}\n",
			want: []string{
				"spec.containers[a].securityContext.seccompProfile.x: SeccompProfile has no such " +
					"field; it has localhostProfile, type",
			}},
		{name: "wrong types", text: pod + container + "    ports: {}\n    tty: 1\n" +
			"    resources: {limits: {cpu: banana, memory: 2}, requests: []}\n" +
			"    args: [1]\n    livenessProbe: {httpGet: {port: []}}\n",
			want: []string{
				"spec.containers[a].args[0]: want a string, got a whole number",
				"spec.containers[a].livenessProbe.httpGet.port: want a whole number or a string, " +
					"got a list",
				"spec.containers[a].ports: want a list, got a map",
				`spec.containers[a].resources.limits.cpu: "banana" is not a quantity such as ` +
					"500m or 2Gi",
				"spec.containers[a].resources.requests: want a map, got a list",
				"spec.containers[a].tty: want a boolean, got a whole number",
			}},
		{name: "claims of a StatefulSet", text: "apiVersion: apps/v1\nkind: StatefulSet\n" +
			"metadata: {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n" +
			"  volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]\n" +
			"  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n" +
			"      - {name: a, image: b, volumeMounts: [{name: data, mountPath: /a}, " +
			"{name: date, mountPath: /b}]}\n",
			want: []string{
				"spec.template.spec.containers[a].volumeMounts[date]: the pod has no volume " +
					`"date"; did you mean "data"?`,
			}},
		{name: "no deadline", text: pod + container + "  activeDeadlineSeconds: null\n"},
		{name: "deadline of 0", text: pod + container + "  activeDeadlineSeconds: 0\n",
			want: []string{"spec.activeDeadlineSeconds: 0 is not within 1 and 2147483647"}},
		{name: "compared toleration", text: pod + container +
			"  tolerations: [{key: a, operator: Lt, value: \"1\"}]\n"},
		{name: "compared toleration in an old minor", minor: 34, text: pod + container +
			"  tolerations: [{key: a, operator: Lt, value: \"1\"}]\n",
			want: []string{"spec.tolerations[a].operator: Kubernetes has Lt since 1.35; " +
				"write Equal or Exists"}},
		{name: "endless quantities", text: pod + container + "    resources: {limits: " +
			"{cpu: '1e-99999999', memory: 1e99999999}, requests: {memory: 1Gi}}\n" +
			"    Resources: {limits: {cpu: '1e-99999999'}}\n",
			want: []string{
				`spec.containers[a].Resources: Container has no such field; ` +
					`did you mean "resources"?`,
				`spec.containers[a].resources.limits.cpu: "1e-99999999" is not a quantity such ` +
					"as 500m or 2Gi",
				`spec.containers[a].resources.limits.memory: "1e99999999" is not a quantity such ` +
					"as 500m or 2Gi",
			}},
		{name: "too large", text: pod + "  priority: 3000000000\n" + container, want: []string{
			"spec.priority: want a whole number (int32), got 3000000000",
		}},
		{name: "field of a later minor", minor: 34,
			text: "apiVersion: admissionregistration.k8s.io/v1\n" +
				"kind: MutatingAdmissionPolicy\nmetadata: {name: a}\n",
			want: []string{
				"apiVersion: Kubernetes 1.34 has no MutatingAdmissionPolicy in " +
					"admissionregistration.k8s.io/v1; write " +
					"admissionregistration.k8s.io/v1alpha1 or admissionregistration.k8s.io/v1beta1",
			}},
		{name: "removed version", text: "apiVersion: extensions/v1beta1\nkind: Ingress\n",
			want: []string{"apiVersion: Kubernetes 1.36 has no Ingress in extensions/v1beta1; " +
				"write networking.k8s.io/v1"}},
		{name: "custom resource", text: "apiVersion: example.com/v1\nkind: Widget\nx: 1\n"},
		{name: "no container", text: pod + "  restartPolicy: Always\n", want: []string{
			"spec: containers is missing; a pod needs one",
		}},
		{name: "names", text: pod + container + "  - {name: a, image: b}\n  - {image: b}\n",
			want: []string{
				`spec.containers[1]: another container has the name "a"`,
				"spec.containers[2]: name is missing",
			}},
		{name: "probes", text: pod + container + "    livenessProbe: {exec: {command: [a]}, " +
			"tcpSocket: {port: 1}, successThreshold: 2}\n    readinessProbe: {periodSeconds: -1}\n",
			want: []string{
				"spec.containers[a].livenessProbe: a probe has exactly one of exec, httpGet, " +
					"tcpSocket and grpc",
				"spec.containers[a].livenessProbe.successThreshold: 2 is not 1",
				"spec.containers[a].readinessProbe: a probe has exactly one of exec, httpGet, " +
					"tcpSocket and grpc",
				"spec.containers[a].readinessProbe.periodSeconds: -1 is below 0",
			}},
		{name: "requests above limits", text: pod + container +
			"    resources: {limits: {cpu: 1}, requests: {cpu: 2}}\n",
			want: []string{
				"spec.containers[a].resources.requests.cpu: 2 is more than the limit, 1",
			}},
		{name: "selector of other pods", text: "apiVersion: apps/v1\nkind: DaemonSet\n" +
			"metadata: {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n" +
			"    metadata: {labels: {a: c}}\n" +
			"    spec: {restartPolicy: Never, containers: [{name: a, image: b}]}\n",
			want: []string{
				"spec.selector: does not select the pods of spec.template: their labels are a=c",
				`spec.template.spec.restartPolicy: "Never": these pods take only Always`,
			}},
		{name: "admission plugins", text: "apiVersion: apiserver.config.k8s.io/v1\n" +
			"kind: AdmissionConfiguration\nplugins:\n- name: PodSecurity\n  configuration:\n" +
			"    apiVersion: pod-security.admission.config.k8s.io/v1\n" +
			"    kind: PodSecurityConfiguration\n" +
			"    defaults: {enforce: strict, warn-version: v2.0, warm: baseline}\n" +
			"    exemptions: {namespaces: [Kube_System], usernames: ['']," +
			" runtimeClasses: [a, a]}\n" +
			"- name: PodSecurity\n",
			want: []string{
				`plugins[0].configuration.defaults.enforce: "strict": must be one of privileged, ` +
					`baseline, restricted`,
				`plugins[0].configuration.defaults.warm: PodSecurityDefaults has no such ` +
					`field; did you mean "warn"?`,
				`plugins[0].configuration.defaults.warn-version: "v2.0": must be "latest" ` +
					`or "v1.x"`,
				`plugins[0].configuration.exemptions.namespaces[0]: "Kube_System": a lowercase ` +
					`RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
					`and must start and end with an alphanumeric character`,
				"plugins[0].configuration.exemptions.runtimeClasses[1]: stands there twice",
				"plugins[0].configuration.exemptions.usernames[0]: username must not be empty",
				"plugins[1]: another plugin has this name",
			}},
		{name: "audit policy", text: "apiVersion: audit.k8s.io/v1\nkind: Policy\n" +
			"rules: [{level: All}, {omitStages: [Panik]}]\n",
			want: []string{
				`rules[0].level: "All" is not known: supported values: "None", "Metadata", ` +
					`"Request", "RequestResponse"`,
				"rules[1].level: is missing",
				`rules[1].omitStages[0]: "Panik": allowed stages are RequestReceived,` +
					`ResponseStarted,ResponseComplete,Panic`,
			}},
		{name: "audit rule of two kinds", text: "apiVersion: audit.k8s.io/v1\nkind: Policy\n" +
			"rules: [{level: None, resources: [{group: \"\"}], nonResourceURLs: [/healthz]}]\n",
			want: []string{"rules[0].nonResourceURLs: rules cannot apply to both regular " +
				"resources and non-resource URLs"}},
		{name: "authentication", text: "apiVersion: apiserver.config.k8s.io/v1beta1\n" +
			"kind: AuthenticationConfiguration\n" +
			"jwt: [{issuer: {url: 'http://a', audiences: [b, c]}, claimMappings: " +
			"{username: {expression: claims.}}}]\n",
			want: []string{
				"jwt[0].claimMappings.username.expression: \"claims.\": compilation failed: " +
					"ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'",
				"jwt[0].issuer.audienceMatchPolicy: audienceMatchPolicy must be MatchAny for " +
					"multiple audiences",
				"jwt[0].issuer.url: \"http://a\": URL scheme must be https",
			}},
		{name: "authorization", text: "apiVersion: apiserver.config.k8s.io/v1\n" +
			"kind: AuthorizationConfiguration\n" +
			"authorizers: [{type: Nod}, {type: RBAC}, {type: AlwaysAllow, name: c}, " +
			"{type: Webhook, name: b, webhook: {timeout: 3s, subjectAccessReviewVersion: v1, " +
			"failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, " +
			"kubeConfigFile: /nowhere/config}}}]\n",
			want: []string{
				`authorizers[0].type: "Nod" is not known: supported values: "ABAC", ` +
					`"AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"`,
				"authorizers[1].name: is missing",
				"authorizers[c].type: AlwaysAllow lets every client with any credential do " +
					"everything; remove it",
			}},
		{name: "job that restarts", text: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n" +
			"spec: {template: {spec: {containers: [{name: a, image: b}]}}}\n",
			want: []string{
				"spec.template.spec: the pods of a Job need restartPolicy Never or OnFailure",
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if row.minor == 0 {
				row.minor = 36
			}
			require.Equal(t, row.want, lines(kinds.New(row.minor).Check([]byte(row.text))))
		})
	}
}

// TestStaticPod: a static pod refers to nothing in the API.
func TestStaticPod(t *testing.T) {
	t.Parallel()
	const text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n" +
		"  serviceAccountName: a\n  volumes: [{name: v, secret: {secretName: s}}]\n" +
		"  containers: [{name: a, image: b, envFrom: [{configMapRef: {name: c}}]}]\n"
	require.Empty(t, kinds.New(36).Check([]byte(text)))
	require.Equal(t, []string{
		`spec: container "a": a static pod takes no environment from ConfigMaps and Secrets`,
		"spec.serviceAccountName: a static pod has no service account; remove it",
		"spec.volumes[v]: a static pod cannot use a Secret; " +
			"give it a file of the machine with hostPath",
	}, lines(kinds.New(36).StaticPod([]byte(text))))
}

// TestStaticReferences has a row for each way in which a pod can refer to an object of the API, and
// the ways that refer to none: pkg/api/pod/util.go of Kubernetes 1.36.3, HasAPIObjectReference.
func TestStaticReferences(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n" +
		"  containers: [{name: a, image: b}]\n"
	const use = "spec.volumes[v]: a static pod cannot use "
	const remedy = "; give it a file of the machine with hostPath"
	for _, row := range []struct{ field, want string }{
		{"imagePullSecrets: [{name: s}]", "spec.imagePullSecrets: a static pod has no Secrets; " +
			"give containerd the credentials of the registry"},
		{"imagePullSecrets: [{}]", ""},
		{"resourceClaims: [{name: c, resourceClaimName: d}]",
			"spec.resourceClaims: a static pod has no resource claims; remove them"},
		{"emptyDir: {}", ""},
		{"hostPath: {path: /a}", ""},
		{"configMap: {name: c}", "a ConfigMap"},
		{"secret: {secretName: s}", "a Secret"},
		{"csi: {driver: d}", "a CSI driver"},
		{"csi: {driver: d, nodePublishSecretRef: {name: s}}", "a CSI driver"},
		{"persistentVolumeClaim: {claimName: c}", "a PersistentVolumeClaim"},
		{"ephemeral: {volumeClaimTemplate: {spec: {}}}", "a PersistentVolumeClaim"},
		{"glusterfs: {endpoints: e, path: p}", "Endpoints"},
		{"azureFile: {secretName: s, shareName: m}", "a Secret"},
		{"cephfs: {monitors: [m], secretRef: {name: s}}", "a Secret"},
		{"cephfs: {monitors: [m], secretRef: {}}", ""},
		{"cephfs: {monitors: [m]}", ""},
		{"cinder: {volumeID: v, secretRef: {name: s}}", "a Secret"},
		{"flexVolume: {driver: d, secretRef: {name: s}}", "a Secret"},
		{"rbd: {monitors: [m], image: i, secretRef: {name: s}}", "a Secret"},
		{"scaleIO: {gateway: g, system: s, secretRef: {name: s}}", "a Secret"},
		{"iscsi: {targetPortal: t, iqn: i, lun: 0, secretRef: {name: s}}", "a Secret"},
		{"storageos: {secretRef: {name: s}}", "a Secret"},
		{"projected: {sources: [{downwardAPI: {items: []}}]}", ""},
		{"projected: {sources: [{configMap: {name: c}}]}", "a ConfigMap"},
		{"projected: {sources: [{secret: {name: s}}]}", "a Secret"},
		{"projected: {sources: [{serviceAccountToken: {path: p}}]}", "a service account"},
		{"projected: {sources: [{clusterTrustBundle: {name: t, path: p}}]}",
			"a ClusterTrustBundle"},
		{"projected: {sources: [{podCertificate: {signerName: s, keyType: k}}]}",
			"a certificate of the pod"},
	} {
		text := head + "  " + row.field + "\n"
		var want []string
		if !strings.HasPrefix(row.field, "imagePull") && !strings.HasPrefix(row.field, "resource") {
			text = head + "  volumes: [{name: v, " + row.field + "}]\n"
			if row.want != "" {
				want = []string{use + row.want + remedy}
			}
		} else if row.want != "" {
			want = []string{row.want}
		}
		require.Empty(t, lines(kinds.New(36).Check([]byte(text))), row.field)
		require.Equal(t, want, lines(kinds.New(36).StaticPod([]byte(text))), row.field)
	}
}

func lines(findings []kinds.Finding) (out []string) {
	for _, f := range findings {
		out = append(out, f.String())
	}
	return out
}

// free matches the paths of maps whose keys people choose.
var free = regexp.MustCompile(`\b(labels|annotations|matchLabels|nodeSelector|selector|data|` +
	`stringData|limits|requests|systemReserved|kubeReserved|featureGates|parameters)$`)

// TestEveryScalar: in every document of the golden machines, no scalar can be replaced by a value
// of another type, and no key misspelt, without a finding. A finding in kiln's own documents would
// be a mistake of the table.
func TestEveryScalar(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{} // kinds with paths, without the numbers of elements
	found := 0
	for _, doc := range goldenDocuments(t) {
		require.Empty(t, lines(doc.check(doc.text)), doc.path)
		var root yaml.Node
		require.NoError(t, yaml.Unmarshal(doc.text, &root))
		visit(root.Content[0], "", func(path, parent string, value, key *yaml.Node) {
			at := doc.kind + " " + regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, "[]")
			if path == "apiVersion" || path == "kind" || seen[at] || custom.MatchString(at) {
				return
			}
			seen[at] = true
			found++
			require.NotEmpty(t, changed(t, doc, &root, value, func(n *yaml.Node) {
				*n = yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
					{Kind: yaml.ScalarNode, Value: "wrong"}, {Kind: yaml.ScalarNode, Value: "type"},
				}}
			}), "%s: a map is taken at %s", doc.path, path)
			if key != nil && !free.MatchString(parent) {
				require.NotEmpty(t, changed(t, doc, &root, key, func(n *yaml.Node) {
					n.Value += "z"
				}), "%s: %s may be misspelt", doc.path, path)
			}
		})
	}
	require.Greater(t, found, 250, "paths")
}

// custom matches what Kubernetes gives no form: custom resources.
var custom = regexp.MustCompile(`^(Gateway|Widget) (spec|size)`)

// document is a file of a golden machine.
type document struct {
	path, kind string
	text       []byte
	check      func([]byte) []kinds.Finding
}

// goldenDocuments returns the different documents with a kind on the golden machines.
func goldenDocuments(t *testing.T) (all []document) {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/clusters/*/want/*/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	seen := map[string]bool{}
	minorOf := regexp.MustCompile(`/v1\.(\d+)/`)
	walk := func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".conf" {
			return nil
		}
		text, err := os.ReadFile(path)
		var header struct {
			Kind string `yaml:"kind"`
		}
		if err != nil || yaml.Unmarshal(text, &header) != nil || header.Kind == "" ||
			seen[string(text)] {
			return err
		}
		seen[string(text)] = true
		minor := 36
		if m := minorOf.FindStringSubmatch(path); m != nil {
			minor, _ = strconv.Atoi(m[1])
		}
		doc := document{path: path, kind: header.Kind, text: text, check: kinds.New(minor).Check}
		if strings.Contains(path, "/manifests/") {
			doc.check = kinds.New(minor).StaticPod
		}
		all = append(all, doc)
		return nil
	}
	for _, dir := range files {
		require.NoError(t, filepath.Walk(dir, walk))
	}
	return all
}

// changed returns the findings of a document with one node changed.
func changed(
	t *testing.T, doc document, root, at *yaml.Node, change func(*yaml.Node),
) []kinds.Finding {
	t.Helper()
	before := *at
	change(at)
	text, err := yaml.Marshal(root)
	*at = before
	require.NoError(t, err)
	return doc.check(text)
}

// visit calls what for each scalar below n, with its path and its key, nil in a list.
func visit(n *yaml.Node, path string, what func(path, parent string, value, key *yaml.Node)) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			below := strings.TrimPrefix(path+"."+key.Value, ".")
			if value.Kind == yaml.ScalarNode {
				what(below, path, value, key)
			}
			visit(value, below, what)
		}
	case yaml.SequenceNode:
		for i, e := range n.Content {
			below := path + "[" + strconv.Itoa(i) + "]"
			if e.Kind == yaml.ScalarNode {
				what(below, path, e, nil)
			}
			visit(e, below, what)
		}
	}
}

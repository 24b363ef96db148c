package render_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/test/need"
)

// editor holds the values of a JSON object against a schema, as an editor does, and prints the keys
// of those that the schema refuses.
const editor = `
import json, sys
from jsonschema import Draft202012Validator
with open(sys.argv[1]) as schema, open(sys.argv[2]) as values:
    judge = Draft202012Validator(json.load(schema))
    print(json.dumps([k for k, v in json.load(values).items() if not judge.is_valid(v)]))
`

// refused returns the keys of the files that an editor with the JSON Schema would mark. One that is
// not YAML is marked without it.
func refused(t *testing.T, files map[string]string) map[string]bool {
	t.Helper()
	need.Program(t, "cloud-init") // whose package needs that of jsonschema
	dir := t.TempDir()
	marked, values := map[string]bool{}, map[string]any{}
	for name, text := range files {
		var value any
		if err := yaml.UnmarshalStrict([]byte(text), &value); err != nil {
			marked[name] = true
			continue
		}
		values[name] = value
	}
	data, err := json.Marshal(values)
	require.NoError(t, err)
	schema, input := filepath.Join(dir, "schema"), filepath.Join(dir, "values")
	require.NoError(t, os.WriteFile(schema, config.Schema(), 0o600))
	require.NoError(t, os.WriteFile(input, data, 0o600))
	out, err := exec.Command(need.Python, "-c", editor, schema, input).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var found []string
	require.NoError(t, json.Unmarshal(out, &found))
	for _, name := range found {
		marked[name] = true
	}
	return marked
}

// TestSchemaRefuses: an editor marks most mistakes of the tables before kiln sees them, and nothing
// that kiln accepts.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	correct, err := os.ReadFile(filepath.Join(mistakes, "cluster.yaml"))
	require.NoError(t, err)
	files, valid := map[string]string{"correct": string(correct)}, map[string]bool{"correct": true}
	tables, err := filepath.Glob(filepath.Join(mistakes, "*.txt"))
	require.NoError(t, err)
	wrong := 0
	for _, table := range tables {
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		_, rows := readMistakes(string(text))
		for _, row := range rows {
			name := filepath.Base(table) + ": " + row.name
			files[name] = row.apply(t, string(correct))
			valid[name] = strings.HasPrefix(row.want, "valid\n")
			if !valid[name] {
				wrong++
			}
		}
	}
	marked := refused(t, files)
	for name := range marked {
		require.False(t, valid[name], "%s: kiln accepts it", name)
	}
	t.Logf("%d of %d mistakes are marked", len(marked), wrong)
	require.Greater(t, len(marked)*100, wrong*60)
}

// TestSchemaAccepts: an editor marks nothing in the golden clusters, nor in rare forms of values.
func TestSchemaAccepts(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range cases(t) {
		text, err := os.ReadFile(filepath.Join(clusters, name, "cluster.yaml"))
		require.NoError(t, err)
		files[name] = string(text)
	}
	const around = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: a}
spec:
  kubernetesVersion: v1.36.3
  machines: {os: ubuntu, MACHINE}
  nodes: [{name: cp.1, role: control-plane, addresses: [10.0.0.11]}]
  SPEC
`
	for _, row := range []string{
		"kubeletVersion: v1.33.0", `kubeletVersion: ""`, "labels: {a: '', a.b/C_d: E-f.9}",
		"ntpServers: [fd00::1, 10.0.0.1, a]", "hostAliases: [{ip: 'FD00::1', hostnames: [a]}]",
		"registries: [{host: _default, mirrors: ['http://[fd00::1]:5000/v2/a']}]",
		"registries: [{host: '[fd00::1]:65535', mirrors: ['https://a/B%20c']}]",
		"registries: [{host: 'a:5000', mirrors: ['https://a.b:1/c']}]",
		"taints: [{key: a/b, effect: NoExecute}]", "taints: []",
		`files: [{path: /opt/a, content: ""}]`, "files: [{path: /a, owner: '0:a_', content: a}]",
		"preBoot: [{name: a, content: '#!/usr/bin/env -S bash -eu'}]",
		"preBoot: [{name: a, content: '#'}]", `preBoot: [{name: a, content: "#! \nls"}]`,
		`preBoot: [{name: a, content: "ls"}]`, `preBoot: [{name: a, content: "\nls\r\n"}]`,
		"kubelet: {registerNode: true, featureGates: {NodeSwap: true}, maxPods: 9}",
		"kubelet: {evictionHard: {memory.available: 5%}, cpuManagerPolicyOptions: null}",
		"cloudConfig: {mounts: [[a, /b]], resize_rootfs: noblock}",
		"kubeletExtraArgs: [{name: v, value: '2'}, {name: cloud-provider, value: ''}]",
		"SPEC endpoint: '[fd00::1]:6443'", "SPEC endpoint: fd00::1", "SPEC endpoint: a.b:443",
		"SPEC certificates: {lifetime: 4m60s}", "SPEC boot: {formationWindow: 300000ms}",
		"SPEC network: {podSubnets: [172.16.0.0/12], dnsDomain: a}",
		"SPEC images: {etcd: 'r:5000/a@sha256:" + strings.Repeat("0a", 32) + "'}",
		"SPEC controlPlane: {apiServer: {certSANs: ['*.a.b', fd00::1, 10.0.0.1]}}",
		"ARGS apiServer: {extraArgs: [{name: authorization-mode, value: 'Node,RBAC'}]}",
		"ARGS controllerManager: {extraArgs: [{name: controllers, value: '*,-ttl'}]}",
		"ARGS scheduler: {extraArgs: [{name: tls-min-version, value: ''}]}",
	} {
		machine, spec := row, ""
		if rest, ok := strings.CutPrefix(row, "ARGS "); ok {
			row = "SPEC controlPlane: {" + rest + "}"
		}
		if rest, ok := strings.CutPrefix(row, "SPEC "); ok {
			machine, spec = "", rest
		}
		text := strings.NewReplacer("MACHINE", machine, "SPEC", spec).Replace(around)
		_, err := config.Parse("cluster.yaml", []byte(text), os.DirFS(t.TempDir()))
		require.NoError(t, err, row)
		files[row] = text
	}
	require.Empty(t, refused(t, files))
}

package patches

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/types"
)

// TestEveryFieldIsClassified compares the table with kustomize's own types. A new version with
// another field fails here, so that a person decides whether the field names a file.
func TestEveryFieldIsClassified(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of.Name()] {
			return
		}
		seen[of.Name()] = true
		for i := range of.NumField() {
			f := of.Field(i)
			name := of.Name() + "." + f.Name
			if !f.IsExported() {
				continue
			}
			kind, known := fields[name]
			require.True(t, known, "%s is in no row of the table: does it name a file, "+
				"a folder or a program?", name)
			seen[name] = true
			if kind == nothing || kind == within {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[types.Kustomization]())
	for name := range fields {
		require.True(t, seen[name], "%s is in the table, and kustomize has no such field", name)
	}
}

// build calls Build, and withholds every value that contains glpat.
func build(root string, files map[string][]byte) ([]byte, error) {
	return Build(root, files, func(value string) bool { return strings.Contains(value, "glpat") })
}

// addresses are values that kustomize would fetch or pass to git. HOST stands for the listener's
// address.
var addresses = []string{
	"http://HOST/x.yaml", "HTTP://HOST/x.yaml", "https://HOST/x.yaml", "http://HOST/x: y",
	"http:HOST/x.yaml", "https://HOST/a/b?ref=main",
	"git::http://HOST/a/b", "git::https://HOST/a/b", "GIT::HTTP://HOST/a/b", "git::file:///tmp//a",
	"git::file:///?ref=--upload-pack=touch%20MARK", "file:///?ref=--upload-pack=touch%20MARK",
	"file:///tmp/a.git//b", "FILE:///tmp",
	"ssh://git@HOST/a/b", "ssh://HOST/a/b.git", "git@HOST:a/b", "git@HOST:a/b.git//c",
	"user@127.0.0.1/a/b", "git@github.com:x/y",
	"github.com/x/y", "GitHub.com/x/y//z", "github.com:x/y",
	"github.com/x/y?ref=--upload-pack=touch%20MARK",
	"git@host:x/y?ref=--upload-pack=touch%20MARK", "http://HOST/x/y.git?timeout=1&submodules=false",
}

// fieldsWithPaths are kustomizations with an address in every field that can have one.
var fieldsWithPaths = []string{
	"resources: [%q]", "bases: [%q]", "components: [%q]", "crds: [%q]", "configurations: [%q]",
	"patches: [{path: %q}]", "patches: [{path: %q, target: {kind: Pod}}]",
	"patchesStrategicMerge: [%q]",
	"patchesJson6902: [{path: %q, target: {version: v1, kind: Pod, name: web}}]",
	"configMapGenerator: [{name: a, files: [%q]}]", "configMapGenerator: [{name: a, files: " +
		"['key='%q]}]",
	"configMapGenerator: [{name: a, envs: [%q]}]", "configMapGenerator: [{name: a, env: %q}]",
	"secretGenerator: [{name: a, files: [%q]}]", "secretGenerator: [{name: a, envs: [%q]}]",
	"secretGenerator: [{name: a, env: %q}]",
	"replacements: [{path: %q}]", "openapi: {path: %q}",
	"generators: [%q]", "transformers: [%q]", "validators: [%q]",
	"transformers: [\"{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: " +
		"%s}\"]",
	"transformers: [\"{apiVersion: builtin, kind: PatchStrategicMergeTransformer, metadata: " +
		"{name: a}, paths: ['%s']}\"]",
	"transformers: [\"{apiVersion: builtin, kind: ReplacementTransformer, metadata: {name: a}, " +
		"replacements: [{path: '%s'}]}\"]",
	"generators: [\"{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, files: " +
		"['%s']}\"]",
	"helmCharts: [{name: a, repo: %q}]", "helmChartInflationGenerator: [{chartName: a, " +
		"chartRepoUrl: %q}]",
	"helmGlobals: {chartHome: %q}\nhelmCharts: [{name: a}]",
}

// kustomizationWith puts an address into a field.
func kustomizationWith(field, address string) string {
	field = strings.ReplaceAll(field, "'key='%q", "\"key=%s\"")
	return fmt.Sprintf(field, address) + "\n"
}

// TestNothingIsFetched builds every field with every address, and a folder with files of exactly
// these names. It does so in a process of its own, with a git that leaves a mark. Nothing may
// connect, and no program may run.
func TestNothingIsFetched(t *testing.T) {
	if os.Getenv("KILN_TEST_HOST") != "" {
		buildAddresses(t, os.Getenv("KILN_TEST_HOST"), os.Getenv("KILN_TEST_MARK"))
		return
	}
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var connected atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connected.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	// Any program that kustomize could start leaves the same mark.
	for _, name := range []string{"git", "ssh", "helm", "helmV3", "docker", "sh"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name),
			[]byte("#!/bin/sh\necho \"$0 $*\" >>'"+mark+"'\nexit 1\n"), 0o755))
	}
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program, "-test.run=^TestNothingIsFetched$", "-test.count=1")
	cmd.Env = []string{"PATH=" + dir, "TMPDIR=" + dir, "HOME=" + dir,
		"KILN_TEST_HOST=" + listener.Addr().String(), "KILN_TEST_MARK=" + mark}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoFileExists(t, mark)
	require.Zero(t, connected.Load(), "somebody connected")
	left, err := filepath.Glob(filepath.Join(dir, "kustomize-*"))
	require.NoError(t, err)
	require.Empty(t, left, "a folder for a clone was made")
}

func buildAddresses(t *testing.T, host, mark string) {
	for _, field := range fieldsWithPaths {
		for _, address := range addresses {
			address = strings.NewReplacer("HOST", host, "MARK", mark).Replace(address)
			text := kustomizationWith(field, address)
			files := map[string][]byte{
				"addon/kustomization.yaml":      []byte("resources: [below]\n"),
				"addon/below/kustomization.yml": []byte(text),
			}
			_, err := build("addon", files)
			require.Error(t, err, text)
			require.NotRegexp(t, `[\x00-\x09\x0b-\x1f]`, err.Error())
			require.Contains(t, err.Error(), "addon/below/kustomization.yml:", text)
			// The same with a file, and a folder, whose name is the address: a file that is not
			// YAML is taken for a folder.
			for _, name := range []string{address, address + "/kustomization.yaml"} {
				files[path.Join("addon/below", name)] = []byte("a: [")
				_, err = build("addon", files)
				require.Error(t, err, text)
			}
		}
	}
	// The add-on's own folder may have such a name.
	for _, root := range []string{"github.com/x/y", "http:/x", "https:"} {
		_, err := build(root, map[string][]byte{root +
			"/kustomization.yaml": []byte("resources: [a.yaml]\n"),
			root + "/a.yaml": []byte(namespace)})
		require.NoError(t, err, root)
	}
}

const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n"

// TestBuildRefuses: each problem names file, field and value and says what to do, and all problems
// come at once.
func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"an address": {"resources: [a.yaml, 'https://example.com/x.yaml']",
			`resources[1]: "https://example.com/x.yaml" is an address, ` +
				`or looks like one to kustomize; kiln fetches nothing`},
		"a token": {
			"resources: ['https://example.com/x.yaml?token=glpat-hunter2']",
			`resources[0]: (value withheld) is an address`},
		"a password": {"resources: ['https://me:hunter2@example.com/x.yaml']",
			`resources[0]: "https://…@example.com/x.yaml" is an address`},
		"a missing file": {"patches: [{path: b.yaml}]",
			`patches[0].path: "b.yaml" is not among the add-on's files`},
		"a missing folder": {"components: [c]",
			`components[0]: "c" is no folder with a kustomization`},
		"a parent": {"resources: [../outside.yaml]",
			`resources[0]: "../outside.yaml" lies above or beside the folder`},
		"a file above": {"resources: [deep]",
			`addon/deep/kustomization.yaml:1:13: resources[0]: ` +
				`"../a.yaml" lies above or beside the folder`},
		"a way round": {"resources: [../addon/../outside.yaml]",
			`lies above or beside the folder`},
		"the system": {"configMapGenerator: [{name: a, files: [x=/etc/passwd]}]",
			`configMapGenerator[0].files[0]: "x=/etc/passwd" is absolute`},
		"an empty part": {"resources: [.//a.yaml]", `has an empty part`},
		"an empty path": {"resources: ['']", `resources[0]: "" is empty`},
		"a plugin": {"transformers: [a.yaml]",
			"transformers: kiln runs no plugins; use a field that does the same: patches"},
		"a plugin in another case": {"Transformers: [a.yaml]",
			"transformers: kiln runs no plugins"},
		"a chart": {"helmCharts: [{name: x}]",
			`helmCharts: kiln does not run helm; render the chart with "helm template"`},
		"an unknown field": {"oci: [x]", `unknown field "oci"`},
		"a schema": {"openapi: {path: x.json}",
			`openapi.path: "x.json" is not among`},
		"several": {"resources: [x.yaml]\nvalidators: [y.yaml]",
			"validators: kiln runs no plugins"},
		"a folder of nothing": {"resources: [empty]",
			"addon/empty: the folder has 0 kustomizations"},
		"terminal escapes": {`resources: ["\e[2J"]`,
			`resources[0]: "\x1b[2J" is not among`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := build("addon", map[string][]byte{
				"addon/kustomization.yaml":      []byte(row.text + "\n"),
				"addon/a.yaml":                  []byte(namespace),
				"addon/empty/a.yaml":            []byte(namespace),
				"addon/deep/kustomization.yaml": []byte("resources: [../a.yaml]\n"),
				"outside.yaml":                  []byte(namespace),
			})
			require.ErrorContains(t, err, row.want)
			require.ErrorContains(t, err, "addon/")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
	_, err := build("addon", map[string][]byte{
		"addon/kustomization.yaml": []byte("resources: [x.yaml, y.yaml]\ncrds: [z.yaml]\n")})
	require.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 3)
}

// TestBuildDeep builds a kustomization that names its own files in every allowed field.
func TestBuildDeep(t *testing.T) {
	t.Parallel()
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: " +
		"{replicas: 1, template: {spec: {containers: [{name: a, image: one}]}}}}\n"
	out, err := build("addon", map[string][]byte{
		"addon/Kustomization": []byte(`resources: [overlays/prod/]
components: [./components/tls]
namespace: apps
configurations: [settings.yaml]
openapi: {path: schema.json}
crds: [crd.json]
commonAnnotations: {from: "https://example.com/x"}
configMapGenerator:
- name: motd
  files: [data/motd, "greeting=data/a-b.txt"]
  envs: [data/env]
  env: data/env2
  literals: ["url=https://example.com"]
secretGenerator:
- {name: token, files: [data/token]}
generatorOptions: {disableNameSuffixHash: true}
replacements:
- path: replacement.yaml
- source: {kind: Namespace, name: a}
  targets: [{select: {kind: ConfigMap, name: motd}, fieldPaths: [data.ns], options: {create: true}}]
buildMetadata: [originAnnotations]
`),
		"addon/overlays/prod/kustomization.yaml": []byte(`bases: [../../base]
patches:
- {path: replicas.yaml}
- {patch: "- {op: add, path: /metadata/labels, value: {a: b}}", target: {kind: Deployment}}
patchesStrategicMerge:
- image.yaml
- "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {one: line}}}"
- |-
  apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, annotations: {many: lines}}
patchesJson6902: [{path: op.yaml, target: {group: apps, version: v1, kind: Deployment, name: web}}]
`),
		"addon/overlays/prod/replicas.yaml": []byte(
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, " +
				"spec: {replicas: 3}}\n"),
		"addon/overlays/prod/image.yaml": []byte(
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: " +
				"{spec: {containers: [{name: a, image: two}]}}}}\n"),
		"addon/overlays/prod/op.yaml": []byte(
			"- {op: add, path: /spec/paused, value: true}\n"),
		"addon/base/kustomization.yml": []byte(
			"resources: [clusterrole-system:web.yaml, deployment.yaml, namespace.yaml]\n"),
		"addon/base/deployment.yaml": []byte(deployment),
		"addon/base/namespace.yaml":  []byte(namespace),
		"addon/base/clusterrole-system:web.yaml": []byte(
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " +
				"'system:web'}}\n"),
		"addon/components/tls/kustomization.yaml": []byte(
			"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nconfigMapGenerator: " +
				"[{name: motd, behavior: merge, literals: [tls=yes]}]\n"),
		"addon/settings.yaml": []byte(
			"namePrefix: [{kind: Deployment, path: metadata/name}]\n"),
		"addon/schema.json": []byte(`{"definitions": {}}`),
		"addon/crd.json":    []byte("{}"),
		"addon/replacement.yaml": []byte(
			"source: {kind: Namespace, name: a}\ntargets: [{select: {kind: ConfigMap, name: " +
				"motd}, fieldPaths: [data.ns2], options: {create: true}}]\n"),
		"addon/data/motd":    []byte("hello\n"),
		"addon/data/a-b.txt": []byte("good morning\n"),
		"addon/data/env":     []byte("A=1\n"),
		"addon/data/env2":    []byte("B=2\n"),
		"addon/data/token":   []byte("abc\n"),
		"addon/not-used/kustomization.yaml": []byte(
			"resources: ['https://example.com/x']\n"),
		"addon/not-used/names kustomize\\cannot@take": []byte("x"),
	})
	require.NoError(t, err)
	for _, want := range []string{"replicas: 3", "image: two", "paused: true", "one: line",
		"many: lines", "greeting: |", "good morning", "A: \"1\"", "B: \"2\"", "tls: \"yes\"",
		"ns: a", "ns2: a", "a: b", "name: system:web", "token: YWJjCg=="} {
		require.Contains(t, string(out), want)
	}
}

// TestSchemaEndsWithItsFolder: kustomize keeps a schema in the process. The schema of one add-on
// must not change how later patches are merged, and a schema that cannot be read is an error.
func TestSchemaEndsWithItsFolder(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{"definitions": {}}`, "{", "[]"} {
		_, err := build("addon", map[string][]byte{
			"addon/kustomization.yaml": []byte("resources: [pod.yaml]\nopenapi: {path: " +
				"schema.json}\npatches: [{path: patch.yaml}]\n"),
			"addon/pod.yaml": []byte("{apiVersion: v1, kind: Pod, metadata: {name: " +
				"web}, spec: {containers: [{name: a}, {name: b}]}}\n"),
			"addon/patch.yaml": []byte("{apiVersion: v1, kind: Pod, metadata: {name: " +
				"web}, spec: {containers: [{name: b, image: x}]}}\n"),
			"addon/schema.json": []byte(schema),
		})
		require.Equal(t, schema != `{"definitions": {}}`, err != nil, "%v", err)
		p, err := New("x", "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: "+
			"{containers: [{name: b, image: x}]}}", nil)
		require.NoError(t, err)
		out, err := Apply([]byte("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: "+
			"{containers: [{name: a}, {name: b}]}}\n"), p)
		require.NoError(t, err)
		require.Contains(t, string(out), "name: a")
	}
}

package patches

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	passwords = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" +
		"stringData: {password: hunter2}\n"
	settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: y}\n"
	copies   = "replacements:\n" +
		"- source: {kind: Secret, name: s, fieldPath: stringData.password}\n" +
		"  targets:\n  - "
)

// secretFiles are the files of an add-on with a Secret and a kustomization.
func secretFiles(kustomization string) map[string][]byte {
	return map[string][]byte{
		"a/kustomization.yaml": []byte("resources: [s.yaml, c.yaml]\n" + kustomization + "\n"),
		"a/s.yaml":             []byte(passwords),
		"a/c.yaml":             []byte(settings),
		"a/env":                []byte("hunter2 x=1\n"),
		"a/kind.yaml":          []byte("- {op: replace, path: /kind, value: ConfigMap}\n"),
		"a/copies.yaml": []byte("source: {kind: Secret, name: s, fieldPath: stringData}\n" +
			"targets: [{select: {kind: ConfigMap}, fieldPaths: [data]}]\n"),
	}
}

// TestSecretsStay: no field of a kustomization carries a value of a Secret to where others read it,
// and no message quotes one.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"replacement into a ConfigMap": {
			copies + "select: {kind: ConfigMap}\n    fieldPaths: [data.x]",
			"a/kustomization.yaml:3:11: replacements[0].source: " + keepValues,
		},
		"replacement into a name": {
			copies + "select: {kind: Secret}\n    fieldPaths: [metadata.name]",
			"a/kustomization.yaml:3:11: replacements[0].source: " + keepValues,
		},
		"replacement into anything": {
			copies + "select: {name: c}\n    fieldPaths: [data.x]",
			"a/kustomization.yaml:3:11: replacements[0].source: " + keepValues,
		},
		"replacement from any kind": {
			"replacements: [{source: {name: s, fieldPath: stringData.password}}]",
			"a/kustomization.yaml:2:25: replacements[0].source: names no kind",
		},
		"replacement in a file": {
			"replacements: [{path: copies.yaml}]", "a/copies.yaml:1:9: source: " + keepValues,
		},
		"variable": {
			"vars:\n- {name: P, objref: {kind: Secret, name: s, apiVersion: v1}, " +
				"fieldref: {fieldpath: stringData.password}}",
			"vars[0].fieldref: " + keepValues,
		},
		"kind of a JSON patch": {
			"patches: [{target: {kind: S.*}, path: kind.yaml}]", "a/kind.yaml: " + keepKind,
		},
		"kind of a merge patch": {
			"patches:\n- target: {kind: Secret}\n  options: {allowKindChange: true}\n" +
				"  patch: '{kind: ConfigMap, metadata: {name: s}}'",
			"a/kustomization.yaml:4:12: patches[0].options: " + keepKind,
		},
		"copy into the name": {
			"patches:\n- target: {kind: Secret}\n" +
				"  patch: '[{\"op\": \"copy\", \"from\": \"/stringData/password\", " +
				"\"path\": \"/metadata/name\"}]'",
			"a/kustomization.yaml:3:3: patches[0]: " + keepValues,
		},
		"one file for both": {
			"configMapGenerator: [{name: g, envs: [./env]}]\n" +
				"secretGenerator: [{name: h, files: [k=env], " +
				"options: {disableNameSuffixHash: true}}]",
			"a/kustomization.yaml:2:22: configMapGenerator[0]: a/env has values of a Secret",
		},
		"a Secret's own file": {
			"configMapGenerator: [{name: g, files: [k=s.yaml]}]",
			"configMapGenerator[0]: a/s.yaml has values of a Secret",
		},
		"hash": {
			"secretGenerator:\n- name: g\n  literals: [p=hunter2]",
			"a/kustomization.yaml:3:3: secretGenerator[0]: the name of the Secret g ends with a " +
				"hash of its values",
		},
		"hash of one generator": {
			"secretGenerator:\n" +
				"- {name: g, literals: [p=hunter2], options: {disableNameSuffixHash: true}}\n" +
				"- {name: g-admin, literals: [p=hunter2]}",
			"a/kustomization.yaml:4:3: secretGenerator[1]: the name of the Secret g-admin ends",
		},
		"hash behind a prefix": {
			"namePrefix: g-\nsecretGenerator:\n- {name: g, literals: [p=hunter2], " +
				"options: {disableNameSuffixHash: true}}\n- {name: admin, literals: [p=hunter2]}",
			"a/kustomization.yaml:5:3: secretGenerator[1]: the name of the Secret g-admin ends",
		},
		"no key": {"secretGenerator: [{name: g, literals: [hunter2]}]",
			"a/kustomization.yaml:2:40: secretGenerator[0].literals[0]: has no key"},
		"no field": {
			"replacements: [{source: {kind: Secret, name: s, fieldPath: stringData.nothing}, " +
				"targets: [{select: {kind: Secret}, fieldPaths: [data.x]}]}]",
			"build a: Secret s (no namespace) has no field stringData.nothing, which a " +
				"replacement copies; correct its fieldPath",
		},
		"no field in a namespace": {
			"namespace: b\nreplacements: [{source: {kind: Secret, name: s, namespace: b, " +
				"fieldPath: data.a}, targets: [{select: {kind: Secret}, fieldPaths: [data.x]}]}]",
			"build a: Secret s (namespace b) has no field data.a, which",
		},
		"no value": {
			"replacements: [{source: {kind: Secret, name: s, fieldPath: stringData.password.x}, " +
				"targets: [{select: {kind: Secret}, fieldPaths: [data.x]}]}]",
			withheld,
		},
		"no index": {
			"replacements: [{source: {kind: Secret, name: s, fieldPath: stringData.password, " +
				"options: {delimiter: x, index: 4}}, " +
				"targets: [{select: {kind: Secret}, fieldPaths: [data.x]}]}]",
			withheld,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := build("a", secretFiles(row.text))
			require.ErrorContains(t, err, row.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestSecretsMove: kustomize's usual work with Secrets is allowed.
func TestSecretsMove(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"name": "replacements: [{source: {kind: Secret, name: s}, " +
			"targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}]",
		"Secret to Secret": copies + "select: {kind: Secret}\n" +
			"    fieldPaths: [stringData.again]\n    options: {create: true}",
		"other kind": "replacements: [{source: {kind: ConfigMap, name: c, fieldPath: data.x}, " +
			"targets: [{select: {kind: Secret}, fieldPaths: [stringData.password]}]}]",
		"variable of a name": "vars: [{name: P, objref: {kind: Secret, name: s, apiVersion: v1}}]",
		"value": "patches: [{target: {kind: Secret}, " +
			"patch: '[{\"op\": \"move\", \"from\": \"/stringData/password\", " +
			"\"path\": \"/stringData/p\"}]'}]",
		"kind of a ConfigMap": "patches: [{target: {kind: ConfigMap}, options: " +
			"{allowKindChange: true}, patch: '{kind: Other, metadata: {name: c}}'}]",
		"test of the kind": "patches: [{target: {kind: Secret}, " +
			"patch: '[{\"op\": \"test\", \"path\": \"/kind\", \"value\": \"Secret\"}]'}]",
		"generator": "generatorOptions: {disableNameSuffixHash: true}\n" +
			"secretGenerator: [{name: g, literals: [p=hunter2]}]",
		"generator of its own": "secretGenerator: [{name: g, literals: [p=hunter2], " +
			"options: {disableNameSuffixHash: true}}]",
		"ConfigMap with a hash": "configMapGenerator: [{name: g, literals: [a=b]}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := build("a", secretFiles(text))
			require.NoError(t, err)
		})
	}
}

// TestPatchKeepsSecret: a patch of cluster.yaml carries no value of a Secret out either.
func TestPatchKeepsSecret(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- {op: replace, path: /kind, value: ConfigMap}":                           keepKind,
		"- {op: copy, from: /stringData/password, path: /metadata/name}":           keepValues,
		"- {op: move, from: /stringData, path: /metadata/annotations}":             keepValues,
		"- {op: copy, from: /stringData/password, path: /stringData/other}":        "",
		"- {op: replace, path: /metadata/name, value: other}":                      "",
		"- {op: add, path: /metadata/labels, value: {a: b}}":                       "",
		"- {op: test, path: /kind, value: Secret}":                                 "",
		"- {op: test, path: /stringData/password, value: x}":                       "test",
		"- {op: copy, from: /stringData/password/x, path: /stringData/password/y}": "no \"x\"",
	} {
		p, err := New("p", text, &Target{Kind: "Secret"})
		require.NoError(t, err)
		_, err = Apply([]byte(passwords), p)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// TestMessagesOfSecrets: a message withholds the values of a Secret, whatever they are in base64,
// and not the words of operations.
func TestMessagesOfSecrets(t *testing.T) {
	t.Parallel()
	const fails = "- {op: test, path: /stringData/password, value: hunter3}\n"
	for name, row := range map[string]struct{ user, operations, want string }{
		"operations":    {"x", fails, "testing value /stringData/password failed"},
		"four letters":  {"root", fails, "testing value /stringData/password failed"},
		"a short value": {"IGQg", fails, "testing value /stringData/password failed"},
		"in the message": {
			"root", "- {op: remove, path: /stringData/root}\n", withheld,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := secretFiles("patches: [{target: {kind: Secret}, path: patch.yaml}]")
			files["a/s.yaml"] = []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" +
				"stringData: {password: hunter2, user: " + row.user + "}\n")
			files["a/patch.yaml"] = []byte(row.operations)
			_, err := build("a", files)
			require.ErrorContains(t, err, row.want)
		})
	}
}

// TestPatchesKeepSecret: among several patches, too, none carries a value of a Secret out, even if
// it selects the Secret by what the one before it wrote.
func TestPatchesKeepSecret(t *testing.T) {
	t.Parallel()
	label, err := New("label", "metadata: {labels: {a: b}}", &Target{Kind: "Secret"})
	require.NoError(t, err)
	move, err := New("move",
		"- {op: copy, from: /stringData/password, path: /metadata/name}",
		&Target{LabelSelector: "a=b"})
	require.NoError(t, err)
	s, err := Read([]byte(passwords))
	require.NoError(t, err)
	_, err = s.Apply(label)
	require.NoError(t, err)
	_, err = s.Apply(move)
	require.ErrorContains(t, err, keepValues)
	require.NotContains(t, err.Error(), "hunter2")
	_, err = Apply([]byte(passwords), label, move)
	require.ErrorContains(t, err, "a list of operations must be alone")
}

// TestMentions: YAML has many ways to write a word, and kustomize reads all of them. In an add-on
// whose only Secret is written so, nothing is copied from any kind.
func TestMentions(t *testing.T) {
	t.Parallel()
	const rest = "\napiVersion: v1\nmetadata: {name: s}\nstringData: {password: hunter2}\n"
	for _, kind := range []string{
		"kind: Secret", `kind: "\x53ecret"`, `"\u006bind": "Secre\U00000074"`, "kind: !!str Secret",
		"kind: &a Secret", "a: &b Secret\nkind: *b", "kind: |-\n  Secret", "kind: # so\n  Secret",
		"? kind\n: Secret", "kind: >-\n  Secret",
	} {
		require.Equal(t, Mention{Kind: true}, Mentions([]byte(kind+rest)), kind)
		files := secretFiles("replacements: [{source: {name: s, fieldPath: stringData.password}, " +
			"targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}]")
		files["a/s.yaml"] = []byte(kind + rest)
		out, err := build("a", files)
		require.ErrorContains(t, err, "names no kind, and the add-on has Secrets", kind)
		require.NotContains(t, string(out), "hunter2")
	}
	for _, key := range []string{
		"secretGenerator", `"secret\x47enerator"`, "SECRETGENERATOR", "? secretGenerator\n",
	} {
		require.Equal(t, Mention{Generator: true}, Mentions([]byte(key+": []\n")), key)
	}
	for _, text := range []string{
		"", "\x00\xff", "kind: ConfigMap\ndata: {a: the Secret of it}\n", "kind: SecretStore\n",
		"kind: ConfigMap\n---\nkind: [Secret]\n",
	} {
		require.Equal(t, Mention{}, Mentions([]byte(text)), text)
	}
	require.Equal(t, Mention{Kind: true}, Mentions([]byte("a: b\n---\nkind: 'Secret'\n")))
	require.Equal(t, Mention{Kind: true}, Mentions([]byte("a: [\n---\nkind: Secret\n")), "no YAML")
}

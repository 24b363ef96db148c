package render_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
)

// bed is a golden case into which a secret is planted: its cluster.yaml as values, and the files
// beside it.
type bed struct {
	document map[string]any
	files    fstest.MapFS
}

func newBed(t *testing.T, name string) bed {
	t.Helper()
	dir := filepath.Join(clusters, name)
	b := bed{files: fstest.MapFS{}}
	text := read(t, filepath.Join(dir, "cluster.yaml"))
	require.NoError(t, yaml.Unmarshal([]byte(text), &b.document))
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if !strings.HasPrefix(rel, "want") && !strings.HasPrefix(rel, "bundle") {
			b.files[rel] = &fstest.MapFile{Data: []byte(read(t, path))}
		}
		return nil
	}))
	return b
}

// at returns the map at a path of the document, and makes it if it is missing.
func (b *bed) at(keys ...string) map[string]any {
	in := b.document["spec"].(map[string]any)
	for _, key := range keys {
		next, ok := in[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[key] = next
		}
		in = next
	}
	return in
}

func (b *bed) add(in map[string]any, list string, entry map[string]any) {
	had, _ := in[list].([]any)
	in[list] = append(had, entry)
}

func (b *bed) file(content string) string {
	b.files["planted"] = &fstest.MapFile{Data: []byte(content)}
	return "planted"
}

func manifest(kind, content string) string {
	text, _ := json.Marshal(values{
		"apiVersion": "v1", "kind": kind,
		"metadata": values{"name": "planted", "namespace": "kube-system"},
		"data":     values{"planted": content},
	})
	return string(text)
}

// values are fields of cluster.yaml or of another file in YAML.
type values = map[string]any

// ways are the ways in which people bring bytes to machines. Some systems do not have all of them.
var ways = map[string]func(b *bed, content string){
	"a file": func(b *bed, c string) {
		b.add(b.at("machines"), "files", values{"path": "/etc/planted", "contentFrom": b.file(c)})
	},
	"a file for root": func(b *bed, c string) {
		b.add(b.at("machines"), "files",
			values{"path": "/etc/planted", "mode": "0600", "contentFrom": b.file(c)})
	},
	"a file of one worker": func(b *bed, c string) {
		b.add(b.at("workers", "machines"), "files",
			values{"path": "/etc/planted", "contentFrom": b.file(c)})
	},
	"a marked file": func(b *bed, c string) {
		b.add(b.at("machines"), "files", values{
			"path": "/etc/planted", "mode": "0640", "secret": true, "contentFrom": b.file(c),
		})
	},
	"a file's content": func(b *bed, c string) {
		b.add(b.at("machines"), "files", values{"path": "/etc/planted", "content": c})
	},
	"a unit": func(b *bed, c string) {
		b.add(b.at("machines"), "units",
			values{"name": "a.service", "contentFrom": b.file(unit(c))})
	},
	"a drop-in": func(b *bed, c string) {
		b.add(b.at("machines"), "units", values{
			"name": "a.service", "dropIns": []any{values{"name": "a.conf", "content": unit(c)}},
		})
	},
	"a script": func(b *bed, c string) {
		b.add(b.at("machines"), "preBoot", values{"name": "a", "contentFrom": b.file(c)})
	},
	"a marked script": func(b *bed, c string) {
		b.add(b.at("machines"), "preBoot",
			values{"name": "a", "secret": true, "contentFrom": b.file(c)})
	},
	"a script's text": func(b *bed, c string) {
		b.add(b.at("machines"), "postBoot", values{"name": "a", "content": c})
	},
	"a patch": func(b *bed, c string) {
		const operation = "op: add, path: /metadata/annotations/planted, value: "
		b.add(b.at(), "patches", values{
			"patch":  "[{" + operation + jsonString(c) + "}]",
			"target": values{"kind": "Pod", "name": "kube-apiserver"},
		})
	},
	"a patch from a file": func(b *bed, c string) {
		const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kube-apiserver", ` +
			`"namespace": "kube-system", "annotations": {"planted": `
		b.add(b.at(), "patches", values{"patchFrom": b.file(pod + jsonString(c) + "}}}")})
	},
	"an add-on": func(b *bed, c string) {
		b.add(b.at(), "addons", values{"path": b.file(manifest("ConfigMap", c))})
	},
	"an add-on's Secret": func(b *bed, c string) {
		data := base64.StdEncoding.EncodeToString([]byte(c))
		b.add(b.at(), "addons", values{"path": b.file(manifest("Secret", data))})
	},
	"a configMapGenerator": func(b *bed, c string) { generate(b, "configMapGenerator", c) },
	"a secretGenerator":    func(b *bed, c string) { generate(b, "secretGenerator", c) },
	"a Butane file": func(b *bed, c string) {
		butane(b, "contents", values{"inline": c})
	},
	"a Butane data URL": func(b *bed, c string) {
		data := base64.StdEncoding.EncodeToString([]byte(c))
		butane(b, "contents", values{"source": "data:;base64," + data})
	},
	"a Butane append": func(b *bed, c string) {
		butane(b, "append", []any{values{"inline": c}})
	},
	"a Butane header": func(b *bed, c string) {
		butane(b, "contents", values{
			"source":       "https://example.com/a",
			"verification": values{"hash": "sha256-" + strings.Repeat("0", 64)},
			"http_headers": []any{values{"name": "X-A", "value": c}},
		})
	},
	"cloudConfig": func(b *bed, c string) {
		b.at("machines", "cloudConfig")["users"] = []any{"default", values{"name": "a", "gecos": c}}
	},
	"networkConfig": func(b *bed, c string) {
		maps.Copy(b.at("machines", "networkConfig"),
			values{"version": 2, "ethernets": values{"eth0": values{"set-name": c}}})
	},
	"registries": func(b *bed, c string) {
		b.add(b.at("machines"), "registries",
			values{"host": "docker.io", "mirrors": []any{"https://mirror.example.com/" + c}})
	},
	"a kubelet flag": func(b *bed, c string) {
		b.add(b.at("machines"), "kubeletExtraArgs",
			map[string]any{"name": "runtime-cgroups", "value": c})
	},
}

// unit is a unit with a comment.
func unit(comment string) string {
	return "[Unit]\nDescription=a\n# " + strings.ReplaceAll(comment, "\n", "\n# ") + "\n"
}

func jsonString(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

func generate(b *bed, generator, content string) {
	b.files["planted/content"] = &fstest.MapFile{Data: []byte(content)}
	b.files["planted/kustomization.yaml"] = &fstest.MapFile{
		Data: []byte("generatorOptions: {disableNameSuffixHash: true}\n" +
			generator + ": [{name: planted, namespace: kube-system, files: [content]}]\n"),
	}
	b.add(b.at(), "addons", map[string]any{"path": "planted"})
}

func butane(b *bed, field string, value any) {
	file := values{"path": "/etc/planted", field: value}
	text, _ := yaml.Marshal(values{
		"variant": "flatcar", "version": "1.1.0", "storage": values{"files": []any{file}},
	})
	b.at("machines")["butane"] = string(text)
}

// cluster returns the bed's cluster.
func (b *bed) cluster(bundle *pki.Bundle) (*render.Cluster, error) {
	text, err := yaml.Marshal(b.document)
	if err != nil {
		return nil, err
	}
	c, err := config.Parse("cluster.yaml", text, b.files)
	if err != nil {
		return nil, err
	}
	return render.New(c, bundle)
}

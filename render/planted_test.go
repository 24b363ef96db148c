package render_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln/pki"
	"kiln/render"
	"kiln/render/change"
	"kiln/render/cloudinit"
	"kiln/render/compress"
	"kiln/render/config"
	"kiln/render/ignition"
	"kiln/render/report"
	"kiln/render/review"
	"kiln/render/suggest"
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
		b.add(b.at("machines"), "kubeletExtraArgs", map[string]any{"name": "v", "value": c})
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
		Data: []byte(generator + ": [{name: planted, namespace: kube-system, files: [content]}]\n"),
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

// encodings are the encodings in which a secret is planted.
var encodings = []struct {
	name string
	of   func(string) string
}{
	{"raw", func(s string) string { return s }},
	{"base64", inBase64},
	{"base64 for URLs", func(s string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(s))
	}},
	{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
	{"gzip", func(s string) string { return string(compress.Gzip([]byte(s))) }},
	{"gzip in base64", func(s string) string { return inBase64(string(compress.Gzip([]byte(s)))) }},
	{"base64 in hex", func(s string) string { return hex.EncodeToString([]byte(inBase64(s))) }},
}

func inBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// texts are the ways that go through YAML as they are.
var texts = []string{
	"a file's content", "a unit", "a drop-in", "a script's text", "a patch", "a patch from a file",
	"an add-on", "a Butane file", "a Butane append", "a Butane header", "cloudConfig",
	"networkConfig", "registries", "a kubelet flag",
}

// systems are the ways that only one of the two cases has.
var systems = []string{
	"cloudConfig", "networkConfig", "a Butane file", "a Butane data URL", "a Butane append",
	"a Butane header", "registries", "a kubelet flag",
}

// built are the ways that show only after rendering.
var built = []string{
	"a patch from a file", "an add-on", "an add-on's Secret", "a configMapGenerator",
	"a secretGenerator", "a marked file", "a marked script",
}

// mayStand are the ways in which a secret of one machine may be in the documents of others, since
// people mark it as a secret.
var mayStand = []string{
	"a marked file", "a marked script", "an add-on's Secret", "a secretGenerator",
}

// TestPlanted plants secrets of a cluster in every way in which people bring bytes to machines, in
// every encoding. If the render is refused, the message holds nothing of the secret. If not, no
// output that people see holds anything of it, and no file that others may read.
func TestPlanted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		lacks  []string // ways that the case's systems do not have
		tokens []string
	}{
		{"extras", []string{
			"cloudConfig", "networkConfig", "a file of one worker", "registries", "a kubelet flag",
		}, nil},
		{"pools", []string{
			"a Butane file", "a Butane data URL", "a Butane append", "a Butane header",
		}, []string{"small"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := load(t, row.name)
			planted := plantable(t, r, row.tokens)
			names := slices.Sorted(maps.Keys(planted))
			old, err := r.State(nil)
			require.NoError(t, err)
			accepted := 0
			for w, way := range slices.Sorted(maps.Keys(ways)) {
				if slices.Contains(row.lacks, way) {
					continue
				}
				for i, encoding := range encodings {
					if len(row.lacks) > 4 != ((i+w)%2 == 0) && !slices.Contains(systems, way) {
						continue // the other case has it
					}
					if slices.Contains(built, way) && i%3 != w%3 {
						continue // it takes a whole render
					}
					name := names[(2*i+3*w)%len(names)]
					content := encoding.of(planted[name])
					what := fmt.Sprintf("%s as %s in %s", way, encoding.name, name)
					if !utf8.ValidString(content) && slices.Contains(texts, way) {
						continue // YAML has no such text
					}
					bed := newBed(t, row.name)
					ways[way](&bed, content)
					r, err := bed.cluster(r.Bundle)
					var seen map[string][]byte
					if err == nil {
						seen, err = visible(r, old)
					}
					if err != nil {
						seen = map[string][]byte{"the message": []byte(err.Error())}
					} else {
						accepted++
						require.Contains(t, mayStand, way, what+" was accepted")
						require.Contains(t, name, "leaf key", what+" was accepted")
					}
					for place, text := range seen {
						for _, piece := range pieces(content) {
							require.NotContains(t, string(text), piece, "%s: %s", what, place)
						}
					}
				}
			}
			require.NotZero(t, accepted, "nothing was looked at")
		})
	}
}

// plantable returns the secrets of a cluster as people have them: the bundle and its parts, the
// operator's kubeconfig, keys and tokens of machines.
func plantable(t *testing.T, r *render.Cluster, tokens []string) map[string]string {
	t.Helper()
	b := r.Bundle
	bundle, err := b.Marshal()
	require.NoError(t, err)
	admin, err := r.Admin()
	require.NoError(t, err)
	out := map[string]string{
		"the bundle":                  string(bundle),
		"admin.conf":                  string(admin),
		"the CA's key":                string(b.CAKey.PEM()),
		"the key of service accounts": string(b.ServiceAccountKey.BarePEM()),
		"a scalar":                    string(b.EtcdCAKey.Private()),
		"the seed":                    string(b.LeafSeed),
		"the encryption key":          string(b.EncryptionKey),
		"a leaf key":                  string(b.LeafKey("kubelet-client/worker-1").PEM()),
		"another leaf key":            string(b.LeafKey("apiserver/cp-1").BarePEM()),
	}
	for _, name := range tokens {
		out["a token"] = b.Token(name).Bearer()
		out["a token's secret"] = b.Token(name).Secret
	}
	return out
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

// visible returns what people see of a cluster: the twin, the report, diff and plan against an
// older state, the output of unpack and explain, and files on machines that others may read. Its
// error is that of the check.
func visible(r *render.Cluster, old *change.Cluster) (map[string][]byte, error) {
	state, err := r.State(nil)
	if err != nil {
		return nil, err
	}
	out, err := r.Twin(nil)
	if err != nil {
		return nil, err
	}
	diff := change.Compare(old, state)
	plan, err := change.New(diff, change.Options{MaxUnavailable: "1"})
	if err != nil {
		return nil, err
	}
	out["the report"], err = report.Page(report.Input{Cluster: state, Diff: diff, Steps: plan})
	if err != nil {
		return nil, err
	}
	if out["diff and plan"], err = json.Marshal([]any{diff, plan}); err != nil {
		return nil, err
	}
	for i := range r.Plan.Machines {
		n, err := r.Node(i)
		if err != nil {
			return nil, err
		}
		var doc []byte
		if len(n.Extra) > 0 {
			doc, err = ignition.Pack(n, 0)
		} else {
			doc, err = cloudinit.Pack(n, 0, false)
		}
		if err != nil {
			return nil, err
		}
		u, err := review.ParseDocument(doc)
		if err != nil {
			return nil, err
		}
		var paths []string
		for _, f := range n.Files {
			paths = append(paths, f.Path)
			if f.Mode&0o004 != 0 {
				out[n.Name+f.Path] = f.Content
			}
			if !strings.Contains(f.Path, "planted") {
				continue
			}
			for _, asked := range []string{f.Path + ":data.planted", f.Path + ":data.content"} {
				e, err := r.Explain(n.Name, asked)
				var unknown *suggest.Unknown
				switch {
				case err == nil:
					out["explain "+asked] = []byte(e.String())
				case errors.As(err, &unknown):
					out["explain "+asked] = []byte(unknown.Error())
				default:
					return nil, err
				}
			}
		}
		contents, _, err := u.Contents(paths)
		if err != nil {
			return nil, err
		}
		machine, err := json.Marshal(u.Machine())
		if err != nil {
			return nil, err
		}
		out["unpack "+n.Name] = bytes.Join([][]byte{u.List(), u.Tree(), contents, machine}, nil)
	}
	return out, nil
}

// pieces returns parts of a secret that are in nothing else: parts of the middle, without armour.
func pieces(content string) (out []string) {
	const size = 16
	for i := len(content) / 3; i+size <= len(content) && len(out) < 8; i += 7 {
		if piece := content[i : i+size]; !strings.ContainsAny(piece, "\n -:") {
			out = append(out, piece)
		}
	}
	return out
}

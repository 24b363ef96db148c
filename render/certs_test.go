package render_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/certs"
)

var (
	block = regexp.MustCompile(`-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----`)
	run64 = regexp.MustCompile(`[A-Za-z0-9+/]{64,}={0,2}`)
)

// scan finds certificates as kiln certs does not: PEM blocks by encoding/pem in the text, in the
// strings of its YAML or JSON, and in what its base64 decodes to. It returns their SHA-256.
func scan(text []byte, depth int, found map[string]bool) {
	for _, b := range block.FindAll(text, -1) {
		var lines []string
		for line := range strings.Lines(string(b)) {
			lines = append(lines, strings.TrimSpace(line))
		}
		decoded, _ := pem.Decode([]byte(strings.Join(lines, "\n") + "\n"))
		if decoded == nil {
			continue
		}
		if _, err := x509.ParseCertificate(decoded.Bytes); err == nil {
			sum := sha256.Sum256(decoded.Bytes)
			found[hex.EncodeToString(sum[:])] = true
		}
	}
	if depth == 0 {
		return
	}
	for _, run := range run64.FindAll(text, -1) {
		if data, err := base64.StdEncoding.DecodeString(string(run)); err == nil {
			scan(data, depth-1, found)
		}
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var value any
		if yaml.Unmarshal(document, &value) == nil {
			scanStrings(value, depth, found)
		}
	}
}

func scanStrings(value any, depth int, found map[string]bool) {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "\n") {
			scan([]byte(v), depth-1, found)
		}
	case []any:
		for _, item := range v {
			scanStrings(item, depth, found)
		}
	case map[string]any:
		for _, item := range v {
			scanStrings(item, depth, found)
		}
	}
}

// missed returns the certificates of files that are not in a list, as "path SHA-256", and how many
// certificates there are.
func missed(files map[string][]byte, lists ...[]certs.Entry) (out []string, certificates int) {
	for name, content := range files {
		found := map[string]bool{}
		scan(content, 3, found)
		certificates += len(found)
		for sum := range found {
			for _, list := range lists {
				if !slices.ContainsFunc(list, func(e certs.Entry) bool {
					return e.Path == name && e.SHA256 == sum
				}) {
					out = append(out, name+" "+sum)
				}
			}
		}
	}
	return out, certificates
}

// TestCertsMissNone unpacks the documents of every golden case. An independent scan of all files
// finds no certificate that kiln certs does not list for that file: from the document, from the
// configuration, and, as far as a twin shows them, from the twin. One format is enough:
// TestUnpackConceals holds that both unpack to the same.
func TestCertsMissNone(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			configured, err := r.Certs(nil)
			require.NoError(t, err)
			state, err := render.FilesState(sharedTwin(t, name))
			require.NoError(t, err)
			shown := map[string]int{}
			for _, e := range render.TwinCerts(state) {
				require.Empty(t, e.Fault, e.Path)
				shown[twinKey(&e)]++
			}
			total := 0
			for _, n := range unlikeNodes(t, name) {
				for format, doc := range packed(t, n) {
					if format != slices.Min(slices.Collect(maps.Keys(packed(t, n)))) {
						continue
					}
					at := filepath.Join(t.TempDir(), "doc")
					require.NoError(t, os.WriteFile(at, doc, 0o600))
					one, missing, err := render.DocumentCerts(at, "", nil)
					require.NoError(t, err)
					require.Nil(t, missing)
					u, err := render.Unpack(at, "", nil)
					require.NoError(t, err)
					u.ShowSecrets()
					files := map[string][]byte{}
					for path, content := range written(t, u) {
						files[path] = content
					}
					own := slices.DeleteFunc(slices.Clone(configured), func(e certs.Entry) bool {
						return e.Machine != n.Name
					})
					lost, found := missed(files, own, one)
					require.Empty(t, lost, "%s as %s", n.Name, format)
					total += found
				}
				for i := range configured {
					e := &configured[i]
					f := n.File(e.Path)
					hidden := f == nil || f.Secret != "" && len(f.Shown) == 0
					if e.Machine == n.Name && e.Kind == certs.Certificate && !hidden {
						require.Positive(t, shown[twinKey(e)], "%s %s", e.Machine, e.Path)
					}
				}
			}
			require.Positive(t, total)
		})
	}
}

// TestCertsOfFolder: the documents on disk, whole and divided, give the same list as the
// configuration, the operator's kubeconfig and the CAs for bodies included.
func TestCertsOfFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"ha", "pools", "external-etcd", "delivery-pointer", "delivery-split", "delivery-lean",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			dir := t.TempDir()
			_, err := r.Write(dir, render.Options{})
			require.NoError(t, err)
			cluster, folder, err := render.DocumentsCerts(dir)
			require.NoError(t, err)
			require.Equal(t, r.Plan.Name, cluster)
			configured, err := r.Certs(nil)
			require.NoError(t, err)
			require.Equal(t, identities(configured), identities(folder))
			for i := range r.Plan.Machines {
				m := &r.Plan.Machines[i]
				at := filepath.Join(dir, plan.Folder(m.Name, m.Pool))
				list, missing, err := render.DocumentCerts(at, "", nil)
				require.NoError(t, err)
				require.Nil(t, missing)
				require.Len(t, list, len(slices.DeleteFunc(slices.Clone(folder),
					func(e certs.Entry) bool { return e.Machine != m.Name || e.Pool != m.Pool })))
			}
		})
	}
}

// twinKey is what a twin knows of an entry.
func twinKey(e *certs.Entry) string {
	return fmt.Sprintln(e.Machine, e.Pool, e.Path, e.Kind, e.Subject, e.Issuer, e.SANs, e.Begins,
		e.Ends, e.Renewal)
}

// identities returns the list without the numbers in the names of objects.
func identities(list []certs.Entry) []string {
	out := []string{}
	for i := range list {
		out = append(out, fmt.Sprintln(twinKey(&list[i]), list[i].SHA256, list[i].In))
	}
	slices.Sort(out)
	return out
}

// TestCertsPlanted: a certificate in odd places of a document is listed, and missed notices each
// that is not.
func TestCertsPlanted(t *testing.T) {
	t.Parallel()
	r := load(t, "ha")
	text := r.Public.FrontProxyCA.PEM()
	der := r.Public.FrontProxyCA.Certificate.Raw
	in64 := base64.StdEncoding.EncodeToString(text)
	asJSON, err := json.Marshal(map[string]string{"ca": string(text)})
	require.NoError(t, err)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err = z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	var wide []byte
	for _, c := range utf16.Encode([]rune("\ufeff" + string(text))) {
		wide = append(wide, byte(c), byte(c>>8))
	}
	indented := "ca: |\n    " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n    ")
	contents := map[string]string{
		"pem": string(text), "crlf": strings.ReplaceAll(string(text), "\n", "\r\n"),
		"after-text": "subject=x\n" + string(text) + "# end\n",
		"json":       string(asJSON), "indented": indented,
		"base64": "ca.crt: " + in64 + "\n",
		"twice":  base64.StdEncoding.EncodeToString([]byte(in64)),
		"der":    string(der), "der-base64": base64.StdEncoding.EncodeToString(der),
		"gzip": zipped.String(), "gzip-base64": base64.StdEncoding.EncodeToString(zipped.Bytes()),
		"data-url": `{"source":"data:,` + url.PathEscape(string(text)) + `"}`,
		"utf-16":   string(wide),
		"kubeconfig": "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n" +
			"    certificate-authority-data: " + in64 + "\n  name: x\nusers: []\n",
		"configmap": "apiVersion: v1\nkind: ConfigMap\ndata:\n  conf: |\n    ca: |\n      " +
			strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n      ") + "\n",
		"shell":  "printf '%s\\n' '" + strings.ReplaceAll(string(text), "\n", `\n`) + "'",
		"second": string(r.Public.CA.PEM()) + string(text),
	}
	n := clone(nodes(t, "ha")[0])
	files := map[string][]byte{}
	for name, content := range contents {
		f := node.File{Path: "/opt/" + name, Mode: 0o644, Content: []byte(content)}
		n.Files = append(n.Files, f)
		files[f.Path] = f.Content
	}
	n.Sort()
	for format, doc := range packed(t, n) {
		at := filepath.Join(t.TempDir(), "doc")
		require.NoError(t, os.WriteFile(at, doc, 0o600))
		list, _, err := render.DocumentCerts(at, "", nil)
		require.NoError(t, err, format)
		sum := sha256.Sum256(der)
		for name := range files {
			require.True(t, slices.ContainsFunc(list, func(e certs.Entry) bool {
				return e.Path == name && e.SHA256 == hex.EncodeToString(sum[:])
			}), "%s in %s", name, format)
		}
		lost, _ := missed(files, list)
		require.Empty(t, lost)
		for _, name := range []string{"pem", "json", "indented", "base64", "kubeconfig", "second"} {
			less := slices.DeleteFunc(slices.Clone(list), func(e certs.Entry) bool {
				return e.Path == path.Join("/opt", name)
			})
			lost, _ := missed(files, less)
			require.NotEmpty(t, lost, "the scan does not notice that %s is not listed", name)
		}
	}
}

// TestCertsPrintNoSecret: no form of the list shares twelve bytes with a secret of the cluster.
func TestCertsPrintNoSecret(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ha", "pools", "external-etcd", "delivery-split", "addons"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := load(t, name).Certs(nil)
			require.NoError(t, err)
			asJSON, err := json.Marshal(list)
			require.NoError(t, err)
			far := time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
			text := map[string][]byte{
				"table": []byte(certs.Table(far, list)), "all": []byte(certs.Whole(far, list)),
				"json":      asJSON,
				"sentences": []byte(strings.Join(certs.Near(far, far, "", list), "\n")),
			}
			require.Empty(t, leaks(text, confidential(t, name)))
		})
	}
}

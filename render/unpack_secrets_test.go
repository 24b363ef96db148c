package render_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/review"
)

// confidential returns the windows that must not be in the output of unpack: those that must not be
// in the twin, without those of certificates and public keys.
func confidential(t testing.TB, name string) map[[window]byte]string {
	t.Helper()
	windows, public := forbidden(t, name), secrets{}
	for of, secret := range secretsOf(t, name) {
		if strings.HasSuffix(of, " CERTIFICATE") || strings.HasSuffix(of, " PUBLIC KEY") {
			public[of] = secret
		}
	}
	public["how a public key is written"] = load(t, name).Bundle.ServiceAccountKey.PublicPEM()
	for w := range public.windows() {
		delete(windows, w)
	}
	return windows
}

// TestUnpackConceals: unpack finds every secret file in the bare document of every machine, in both
// formats. No output shares twelve bytes with a secret. Unpack also conceals the list of their
// hashes, and files that people protect without calling them secret. It conceals nothing else.
func TestUnpackConceals(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			windows := confidential(t, name)
			require.Greater(t, len(windows), 1000, "windows of secrets")
			for _, n := range unlikeNodes(t, name) {
				var u *render.Unpacked
				for format, doc := range packed(t, n) {
					same, err := review.ParseDocument(doc)
					require.NoError(t, err, format)
					require.True(t, u == nil || reflect.DeepEqual(u, same),
						"%s as %s", n.Name, format)
					u = same
				}
				concealed := map[string]bool{}
				for _, f := range u.Machine().Files {
					concealed[f.Path] = f.Secret
				}
				var paths []string
				for _, f := range n.Files {
					people := f.Why == "" || f.Why == "from cluster.yaml"
					want := f.Secret != "" || f.Path == plan.KilnDir+"/files" ||
						people && f.Mode&0o004 == 0
					require.Equal(t, want, concealed[f.Path], "%s of %s", f.Path, n.Name)
					paths = append(paths, f.Path)
				}
				require.Empty(t, leaks(everything(t, u, paths), windows), n.Name)

				u.ShowSecrets()
				for path, text := range written(t, u) {
					if path != "/INDEX" {
						require.Equal(t, string(n.File(path).Content), string(text), path)
					}
				}
			}
		})
	}
}

// everything returns every output that shows a machine.
func everything(t testing.TB, u *render.Unpacked, paths []string) map[string][]byte {
	t.Helper()
	contents, _, err := u.Contents(paths)
	require.NoError(t, err)
	files, err := u.Files(paths)
	require.NoError(t, err)
	forPrograms, err := json.Marshal([]any{u.Machine(), files})
	require.NoError(t, err)
	out := map[string][]byte{
		"list": u.List(), "tree": u.Tree(), "contents": contents, "json": forPrograms,
	}
	maps.Copy(out, written(t, u))
	return out
}

// written returns the files that unpack writes for a machine, by paths.
func written(t testing.TB, u *render.Unpacked) map[string][]byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	_, err := render.WriteUnpacked(u, dir)
	require.NoError(t, err)
	out := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[strings.TrimPrefix(path, dir)], err = os.ReadFile(path)
		}
		return err
	}))
	return out
}

// TestUnpackErrorsHoldNoSecret: wherever a document is damaged, the error quotes nothing that could
// be a secret.
func TestUnpackErrorsHoldNoSecret(t *testing.T) {
	t.Parallel()
	windows := confidential(t, "pools")
	failed := 0
	for format, doc := range packed(t, nodes(t, "pools")[0]) {
		for at := 0; at < len(doc); at += 1 + len(doc)/8 {
			for damage, text := range map[string][]byte{
				"cut off":      doc[:at],
				"a byte more":  slices.Insert(slices.Clone(doc), at, '['),
				"a line less":  append(slices.Clone(doc[:at]), after(doc[at:], '\n')...),
				"a quote more": slices.Insert(slices.Clone(doc), at, '"'),
				"a tab more":   slices.Insert(slices.Clone(doc), at, '\n', '\t'),
			} {
				if _, err := review.ParseDocument(text); err != nil {
					failed++
					require.Empty(t, leaks(map[string][]byte{"": []byte(err.Error())}, windows),
						"%s at %d: %s", format, at, damage)
				}
			}
		}
	}
	require.Greater(t, failed, 40)
}

func after(text []byte, mark byte) []byte {
	return text[bytes.IndexByte(text, mark)+1:]
}

// TestConcealed: unpack knows secrets in a document that anybody may have written.
func TestConcealed(t *testing.T) {
	t.Parallel()
	b := load(t, "rsa-ca").Bundle
	key, cert := string(b.CAKey.PEM()), string(b.CA.PEM())
	inBase64 := func(before int) string {
		text := strings.Repeat("-", before) + key
		return "data: " + base64.StdEncoding.EncodeToString([]byte(text)) + "\n"
	}
	for _, row := range []struct {
		name, path string
		mode       uint32
		content    string
		want       bool
	}{
		{"everybody may read it", "/etc/motd", 0o644, "hello", false},
		{"its owner may read it", "/etc/motd", 0o600, "hello", true},
		{"its group may read it", "/etc/motd", 0o640, "hello", true},
		{"a key", "/etc/motd", 0o644, key, true},
		{"a key within something", "/etc/motd", 0o644,
			"key: |\n  " + strings.ReplaceAll(key, "\n", "\n  "), true},
		{"a key in base64", "/etc/motd", 0o644, inBase64(0), true},
		{"a key in base64, one byte on", "/etc/motd", 0o644, inBase64(1), true},
		{"a key in base64, two bytes on", "/etc/motd", 0o644, inBase64(2), true},
		{"a bootstrap token", "/etc/motd", 0o644,
			"token: " + load(t, "pools").Bundle.PoolToken("small").Bearer() + "\n", true},
		{"a token of a forge", "/etc/motd", 0o644, "glpat-abcdefgh12345abcdefgh", true},
		{"a kubeconfig in gzip", "/etc/motd", 0o644,
			string(compress.Gzip([]byte("clusters: []\nusers: [{user: {token: hunter2}}]\n"))),
			true},
		{"a certificate", "/etc/agent/ca.crt", 0o600, cert, false},
		{"a public key", "/etc/agent/sa.pub", 0o600, string(b.ServiceAccountKey.PublicPEM()),
			false},
		{"a certificate and more", "/etc/agent/ca.crt", 0o600, cert + "password", true},
		{"a certificate with a note", "/etc/agent/ca.crt", 0o600,
			strings.Replace(cert, "-----\n", "-----\nPassword: x\n\n", 1), true},
		{"a certificate and a key", "/etc/agent/both.pem", 0o644, cert + key, true},
		{"where the cluster's CA key lies", plan.CAKey, 0o644, "anything", true},
		{"where the encryption key lies", plan.Encryption, 0o644, "anything", true},
		{"the hashes", plan.KilnDir + "/files", 0o600, "end\n", true},
		{"kiln's own", plan.KilnDir + "/machine", 0o600, "node='a'\n", false},
		{"kiln's own with a token", plan.KubeletConf, 0o600, "token: abcdef.0123456789abcdef\n",
			true},
		{"people's static pod", plan.ManifestsDir + "/vault.yaml", 0o600, "kind: Pod\n", true},
		{"people's script", plan.KilnDir + "/pre-boot/disks", 0o600, "mount -a\n", true},
		{"an object", plan.KilnDir + "/objects/001-configmap-a.yaml", 0o600,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", false},
		{"a Secret", plan.KilnDir + "/objects/001-configmap-a.yaml", 0o600,
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", true},
		{"an object that is too large", plan.KilnDir + "/objects/001-configmap-a.yaml", 0o600,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: " +
				strings.Repeat("a", 1<<20) + "}\n", true},
		{"no object", plan.KilnDir + "/objects/001-configmap-a.yaml", 0o644, "hello", true},
	} {
		n := &node.Node{
			Files: []node.File{{Path: row.path, Mode: row.mode, Content: []byte(row.content)}},
		}
		if row.path != node.List { // kiln's own files come with their list
			n.Files = append(n.Files, node.File{Path: node.List, Content: []byte("end\n")})
		}
		doc, err := new(cloudinit.Packer).Pack(n, 0, false)
		require.NoError(t, err, row.name)
		u, err := review.ParseDocument(doc)
		require.NoError(t, err, row.name)
		for _, f := range u.Machine().Files {
			require.True(t, f.Path != row.path || f.Secret == row.want, row.name)
		}
		text, _, err := u.Contents([]string{row.path})
		require.NoError(t, err)
		require.Equal(t, row.want, string(text) == "<secret>\n", row.name)
	}
}

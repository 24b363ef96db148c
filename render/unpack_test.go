package render_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render"
	"kiln/render/cloudinit"
	"kiln/render/compress"
	"kiln/render/ignition"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/review"
)

// packed returns a shared machine's documents: in both formats, plain and compressed, by a name for
// messages.
func packed(t testing.TB, n *node.Node) map[string][]byte {
	t.Helper()
	return sharedDocuments.of(t, n, func() (map[string][]byte, error) { return pack(n) })
}

func pack(n *node.Node) (out map[string][]byte, err error) {
	out = map[string][]byte{}
	if len(n.CloudConfig) == 0 { // what only cloud-init can express
		if out["Ignition"], err = ignition.Pack(n, 0); err != nil {
			return nil, err
		}
		if out["Ignition, compressed"], err = ignition.Pack(n, len(out["Ignition"])-1); err != nil {
			return nil, err
		}
	}
	if len(n.Extra) > 0 {
		return out, nil // only Ignition can express it
	}
	if out["cloud-init"], err = cloudinit.Pack(n, 0, false); err != nil {
		return nil, err
	}
	tooFew := len(out["cloud-init"]) - 1
	if out["cloud-init, compressed"], err = cloudinit.Pack(n, tooFew, false); err != nil {
		return nil, err
	}
	out["cloud-init, compressed as text"], err = cloudinit.Pack(n, tooFew, true)
	return out, err
}

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

// TestUnpackLeaksAreFound: the scan finds the content of each secret file.
func TestUnpackLeaksAreFound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"external-etcd", "extras", "pools", "rsa-ca"} {
		windows := confidential(t, name)
		for _, n := range nodes(t, name) {
			for _, f := range n.Files {
				if f.Secret == "" && f.Path != plan.KilnDir+"/files" ||
					strings.HasPrefix(f.Secret, "object ") {
					continue
				}
				require.NotEmpty(t, leaks(map[string][]byte{"x": f.Content}, windows),
					"%s of %s", f.Path, n.Name)
			}
		}
	}
}

// forms returns a document in each form in which a platform or a tool gives it back.
func forms(doc []byte) map[string][]byte {
	text := base64.StdEncoding.EncodeToString(doc)
	zipped := base64.StdEncoding.EncodeToString(compress.Gzip(doc))
	var lines string
	for chunk := range slices.Chunk([]byte(zipped), 76) {
		lines += string(chunk) + "\r\n"
	}
	aws := "{\n    \"InstanceId\": \"i-0\",\n    \"UserData\": {\n" +
		"        \"Value\": \"" + zipped + "\"\n    }\n}\n"
	return map[string][]byte{
		"as it is":                doc,
		"gzip":                    compress.Gzip(doc),
		"base64":                  []byte(text),
		"base64 of gzip, broken":  []byte(lines),
		"gzip of base64":          compress.Gzip([]byte(text)),
		"a string of JSON":        []byte(`"` + zipped + "\"\n"),
		"aws, with all it prints": []byte(aws),
	}
}

// TestUnpackForms: the machine is the same in every form of its document.
func TestUnpackForms(t *testing.T) {
	t.Parallel()
	for format, doc := range packed(t, nodes(t, "single")[0]) {
		want, err := review.ParseDocument(doc)
		require.NoError(t, err)
		require.NotEmpty(t, want.Machine().Files)
		for form, text := range forms(doc) {
			got, err := review.ParseDocument(text)
			require.NoError(t, err, "%s, %s", format, form)
			require.Equal(t, want, got, "%s, %s", format, form)
		}
	}
}

// TestUnpackRefuses: an input that is no document is an error, and needs a limited amount of
// memory. The test runs alone, because it measures what is allocated.
func TestUnpackRefuses(t *testing.T) {
	bomb := compress.Gzip(make([]byte, compress.MaxDocument+1))
	layers := []byte("#cloud-config\n")
	for range 6 {
		layers = compress.Gzip(layers)
	}
	zip := func(text string) string { return string(compress.Gzip([]byte(text))) }
	for _, row := range []struct{ name, doc, want string }{
		{"nothing", "", "neither Ignition (JSON) nor cloud-init"},
		{"space", " \n", "neither Ignition (JSON) nor cloud-init"},
		{"a script", "#!/bin/sh\n", "neither Ignition (JSON) nor cloud-init"},
		{"a word", "hello", "base64 that is damaged or cut off"},
		{"MIME", "Content-Type: multipart/mixed\nMIME-Version: 1.0\n", "a MIME message"},
		{"gzip that is cut off", zip("#cloud-config\n")[:20], "decompress: unexpected EOF"},
		{"JSON that is cut off", `{"ignition":`, "unexpected end of JSON input"},
		{"a string that is cut off", `"I2Nsb3Vk`, "damaged or cut off"},
		{"aws without user data", `{"UserData": {}}`, "holds no document"},
		{"too large", strings.Repeat(" ", compress.MaxDocument+1), "larger than 64 MiB"},
		{"a bomb", string(bomb), "larger than 67108864 bytes"},
		{"a bomb in base64", base64.StdEncoding.EncodeToString(bomb), "larger than 67108864 bytes"},
		{"many layers", string(layers), "packed more than 4 times"},
		{"many values of JSON",
			zip(`{"ignition":{"version":"3.4.0"},"x":[` + strings.Repeat("0,", 30<<20) + `0]}`),
			"more than 65536 values"},
		{"many values of YAML",
			zip("#cloud-config\nruncmd: [" + strings.Repeat("a,", 30<<20) + "a]\n"),
			"more than 1048576 lines and values"},
		{"as many values of YAML as there may be",
			zip("#cloud-config\nruncmd: [" + strings.Repeat("[],", 1<<18) + "]\n"),
			"an empty command"},
		{"as many values of JSON as there may be",
			`{"ignition":{"version":"3.4.0"},"storage":{"files":[` +
				strings.Repeat("{},", 1<<15-8) + `{}]}}`,
			"path"},
		{"deep YAML", "#cloud-config\nruncmd: " + strings.Repeat("[", 1<<19), "exceeded max depth"},
		{"deep JSON", strings.Repeat(`{"ignition":`, 1<<14), "exceeded max depth"},
		{"a sequence for a terminal",
			"#cloud-config\nwrite_files:\n- {path: \"/a\\e[2J\", owner: x}\n",
			"file /a\\u001b[2J: owner"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := review.ParseDocument([]byte(row.doc))
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, row.want)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3<<29),
				"bytes allocated, of which most are free again")
		})
	}
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
			"token: " + load(t, "pools").Bundle.Token("small").Bearer() + "\n", true},
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
		doc, err := cloudinit.Pack(n, 0, false)
		require.NoError(t, err, row.name)
		u, err := review.ParseDocument(doc)
		require.NoError(t, err, row.name)
		require.Equal(t, row.want, u.Machine().Files[0].Secret, row.name)
		text, _, err := u.Contents([]string{row.path})
		require.NoError(t, err)
		require.Equal(t, row.want, string(text) == "<secret>\n", row.name)
	}
}

// TestUnpackSettings: settings that only Ignition can express, and the files beside user-data, hold
// secrets too.
func TestUnpackSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.ign": `{"ignition":{"version":"3.4.0"},
			"passwd":{"users":[{"name":"a","passwordHash":"hunter2"}]},
			"storage":{
				"files":[
					{"path":"/remote","contents":{"source":"https://a:hunter2@example.com/x",
						"httpHeaders":[{"name":"X","value":"hunter2"}]}},
					{"path":"/etc/motd","append":[{"source":"data:,hunter2"}]}],
				"luks":[{"name":"data","device":"/dev/sdb",
					"keyFile":{"source":"https://example.com/hunter2"}}]}}`,
		"network-config": `version: 2
wifis:
  wlan0:
    access-points:
      home: {password: hunter2}
tunnels:
  wg0: {mode: wireguard, port: 51820, keys: {private: hunter2}}
`,
		"meta-data": "instance-id: kiln-a\nadmin_pass: hunter2\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	u, err := render.Unpack(dir, "", nil)
	require.NoError(t, err)
	forPrograms, err := json.Marshal(u.Machine())
	require.NoError(t, err)
	list := string(u.List())
	for _, text := range []string{list, string(u.Tree()), string(forPrograms)} {
		require.NotContains(t, text, "hunter2")
		for _, shown := range []string{"/dev/sdb", "/etc/motd", "wlan0", "51820", "kiln-a"} {
			require.Contains(t, text, shown)
		}
	}
	require.Contains(t, list, `"passwordHash": "<secret>"`)
	u.ShowSecrets()
	require.Equal(t, 8, strings.Count(string(u.List()), "hunter2"))
}

// TestUnpackTree: the entries of a folder stand below it, and names do not move the cursor.
func TestUnpackTree(t *testing.T) {
	t.Parallel()
	n := &node.Node{
		Users: []node.User{{Name: "etcd", ID: 2379, Home: "/var/lib/etcd"}},
		Dirs:  []node.Dir{{Path: "/etc/a", Mode: 0o700, User: "etcd", Group: "etcd"}},
		Files: []node.File{
			{Path: "/etc/a-b", Mode: 0o644}, {Path: "/etc/a/b/c", Mode: 0o600},
			{Path: "/etc/a/d\nfile 0644 \x1b[2J", Mode: 0o644}, {Path: "/top", Mode: 0o644},
		},
		Links: []node.Link{{Path: "/etc/a/b/l", Target: "c"}},
		Units: []node.Unit{{Name: "x.service", Enabled: true}},
	}
	doc, err := cloudinit.Pack(n, 0, false)
	require.NoError(t, err)
	u, err := review.ParseDocument(doc)
	require.NoError(t, err)
	require.Equal(t, `user etcd 2379 /var/lib/etcd
etc/
  a/ 0700 etcd:etcd
    b/
      c 0600 root:root <secret>
      l -> c
    d\u000afile 0644 \u001b[2J 0644 root:root
  a-b 0644 root:root
top 0644 root:root
unit x.service enabled
`, string(u.Tree()))
}

// TestUnpackWriteRefuses: no path in a document leads out of the folder, and an error leaves no
// file behind.
func TestUnpackWriteRefuses(t *testing.T) {
	t.Parallel()
	for name, paths := range map[string][]string{
		"out of the folder": {"/../escaped"},
		"relative":          {"escaped"},
		"the folder":        {"/"},
		"the list":          {"/INDEX"},
		"twice":             {"/a", "/a"},
		"below a file":      {"/a", "/a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := "#cloud-config\nwrite_files:\n"
			for _, p := range paths {
				doc += fmt.Sprintf("- {path: %q, permissions: \"0644\", "+
					"owner: \"root:root\", content: x}\n", p)
			}
			u, err := review.ParseDocument([]byte(doc))
			require.NoError(t, err)
			dir := t.TempDir()
			_, err = render.WriteUnpacked(u, filepath.Join(dir, "out"))
			require.Error(t, err)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// FuzzParseDocument: any input ends in an error or in a machine that can be shown, and no output
// for its files holds a private key.
func FuzzParseDocument(f *testing.F) {
	n := nodes(f, "single")[1]
	for _, doc := range packed(f, n) {
		for _, text := range forms(doc) {
			f.Add(text)
		}
	}
	body, err := cloudinit.Body(n)
	require.NoError(f, err)
	f.Add(body)
	f.Add([]byte(`{"ignition":{"version":"3.4.0"},` +
		`"storage":{"files":[{"path":"/a","append":[{"source":"data:,x"}]}]}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		u, err := review.ParseDocument(doc)
		if err != nil {
			return
		}
		var paths []string
		for _, file := range u.Machine().Files {
			paths = append(paths, file.Path)
		}
		contents, _, err := u.Contents(paths)
		require.NoError(t, err)
		forPrograms, err := json.Marshal(u.Machine())
		require.NoError(t, err)
		require.NotEmpty(t, forPrograms)
		require.Equal(t, len(u.List()) > 0, len(u.Tree()) > 0)
		require.NotContains(t, string(contents), "-----BEGIN EC PRIVATE KEY-----")
	})
}

// TestUnpackReads: a folder without a document, and an input without an end, are errors.
func TestUnpackReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := render.Unpack(dir, "", nil)
	require.ErrorContains(t, err, "holds neither config.ign nor user-data")
	_, err = render.Unpack("-", "", endless{})
	require.ErrorContains(t, err, "standard input: larger than 64 MiB")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "user-data"), 0o700))
	_, err = render.Unpack(dir, "", nil)
	require.ErrorContains(t, err, "not a regular file")
}

// endless is an input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

var _ io.Reader = endless{}

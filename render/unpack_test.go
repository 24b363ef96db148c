package render_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/render/pack/ignition"
	"kiln.dev/kiln/render/twin/review"
)

// packed returns a shared machine's documents: in both formats, plain and compressed, by a name for
// messages.
func packed(t testing.TB, n *node.Node) map[string][]byte {
	t.Helper()
	return sharedDocuments.Of(t, n, func() (map[string][]byte, error) { return pack(n) })
}

func pack(n *node.Node) (out map[string][]byte, err error) {
	out = map[string][]byte{}
	if len(n.CloudConfig) == 0 { // what only cloud-init can express
		if out["Ignition"], err = new(ignition.Packer).Pack(n, 0); err != nil {
			return nil, err
		}
		tooFew := len(out["Ignition"]) - 1
		out["Ignition, compressed"], err = new(ignition.Packer).Pack(n, tooFew)
		if err != nil {
			return nil, err
		}
	}
	if len(n.Extra) > 0 {
		return out, nil // only Ignition can express it
	}
	if out["cloud-init"], err = new(cloudinit.Packer).Pack(n, 0, false); err != nil {
		return nil, err
	}
	tooFew := len(out["cloud-init"]) - 1
	out["cloud-init, compressed"], err = new(cloudinit.Packer).Pack(n, tooFew, false)
	if err != nil {
		return nil, err
	}
	out["cloud-init, compressed as text"], err = new(cloudinit.Packer).Pack(n, tooFew, true)
	return out, err
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
			zip("#cloud-config\nbootcmd: [" + strings.Repeat("a,", 30<<20) + "a]\n"),
			"more than 1048576 lines and values"},
		{"as many values of YAML as there may be",
			zip("#cloud-config\nbootcmd: [" + strings.Repeat("[],", 1<<18) + "]\n"),
			"bootcmd: command 1 is none"},
		{"as many values of JSON as there may be",
			`{"ignition":{"version":"3.4.0"},"storage":{"files":[` +
				strings.Repeat("{},", 1<<15-8) + `{}]}}`,
			"path"},
		{"deep YAML", "#cloud-config\nbootcmd: " + strings.Repeat("[", 1<<19),
			"exceeded max depth"},
		{"deep JSON", strings.Repeat(`{"ignition":`, 1<<14), "exceeded max depth"},
		{"deep settings",
			"#cloud-config\nusers: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
			"nested too deeply"},
		{"as many settings, less deep",
			"#cloud-config\nusers: " + strings.Repeat("[", 99) + strings.Repeat("a,", 1<<19) +
				strings.Repeat("]", 99),
			"nested too deeply"},
		{"a long file many times",
			"#cloud-config\nwrite_files:\n" +
				`- {path: /a, owner: "a:a", permissions: "0644", content: &a "` +
				strings.Repeat("x", 1<<20) + "\"}\n" + strings.Repeat(
				`- {path: /b, owner: "a:a", permissions: "0644", content: *a}`+"\n", 1700),
			"has YAML aliases"},
		{"a sequence for a terminal",
			"#cloud-config\nwrite_files:\n- {path: \"/a\\e[2J\", owner: x}\n",
			"file /a\\u001b[2J: its owner"},
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

// TestUnpackCut: a cloud-config of which the end is missing is an error, wherever it was cut off,
// and so is one with a body. Most cuts leave a YAML that can be read.
func TestUnpackCut(t *testing.T) {
	t.Parallel()
	for _, n := range nodes(t, "single") {
		kept, fetched := n.Split(func(f *node.File) bool { return f.Secret == "" }, false)
		body, err := cloudinit.Body(fetched)
		require.NoError(t, err)
		sum := sha512.Sum512(body)
		kept.Remote = &node.Remote{URL: "https://example.com/body.sh",
			SHA512: hex.EncodeToString(sum[:])}
		whole, err := new(cloudinit.Packer).Pack(n, 0, false)
		require.NoError(t, err)
		bare, err := new(cloudinit.Packer).Pack(kept, 0, false)
		require.NoError(t, err)
		for name, row := range map[string]struct{ doc, body []byte }{
			"all in it": {whole, nil}, "with a body": {bare, body},
		} {
			read := func(doc []byte) error {
				u, err := review.ParseDocument(doc)
				if err == nil && row.body != nil {
					err = u.Fetch(row.body)
				}
				return err
			}
			require.NoError(t, read(row.doc), name)
			lines := bytes.SplitAfter(row.doc, []byte("\n"))
			at := 0
			for i, line := range lines[:len(lines)-2] {
				// The middle of a line, and its end.
				for _, cut := range []int{at + len(line)/2, at + len(line)} {
					if i < 25 || i%23 == 0 || i > len(lines)-40 {
						require.Error(t, read(row.doc[:cut]), "%s of %s, cut off after %d bytes",
							name, n.Name, cut)
					}
				}
				at += len(line)
			}
		}
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
	doc, err := new(cloudinit.Packer).Pack(n, 0, false)
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

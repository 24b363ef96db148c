package config_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

func TestTextAndFolder(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{
		"patches/a.yaml":                 {Data: []byte("a: b\n")},
		"addons/cni/kustomization.yaml":  {Data: []byte("resources: [x/y.yaml]\n")},
		"addons/cni/x/y.yaml":            {Data: []byte("y\n")},
		"addons/dns.yaml":                {Data: []byte("dns\n")},
		"addons/other/not-asked-for.txt": {Data: []byte("n\n")},
	}
	c := parse(t, header+onOS+oneNode+`  patches: [{patchFrom: ./patches/a.yaml}]
  addons: [{path: addons/cni/}, {path: addons/dns.yaml}]
`, dir)
	require.Equal(t, "a: b\n", string(c.Text("patches/a.yaml")))
	require.Equal(t, "a: b\n", string(c.Text("./patches/a.yaml")))
	require.Equal(t, "dns\n", string(c.Text("addons/dns.yaml")))
	require.Nil(t, c.Text("addons/other/not-asked-for.txt"))
	require.Equal(t, map[string][]byte{
		"addons/cni/kustomization.yaml": []byte("resources: [x/y.yaml]\n"),
		"addons/cni/x/y.yaml":           []byte("y\n"),
	}, c.Folder("addons/cni"))
	require.Nil(t, c.Folder("addons/other"))
	require.Nil(t, (&config.Cluster{}).Text("x"))
	require.Nil(t, (&config.Cluster{}).Folder("x"))
}

// TestLoadRefuses names files on a real disk that must not be read: links out of the folder, large
// files, FIFOs.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600))
	dir := t.TempDir()
	write := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	write("ok.yaml", []byte("a: b\n"))
	write("large", bytes.Repeat([]byte("x"), 1<<20+1))
	write("larger", bytes.Repeat([]byte("x"), 16<<20+1))
	write("huge/kustomization.yml", nil)
	for i := range 17 {
		write(fmt.Sprintf("huge/%d", i), make([]byte, 1<<20))
	}
	write("linked/Kustomization", nil)
	link := func(to, name string) { require.NoError(t, os.Symlink(to, filepath.Join(dir, name))) }
	link(filepath.Join(outside, "secret"), "linked/out")
	link(filepath.Join(outside, "secret"), "out")
	link("ok.yaml", "inside")
	link("gone", "dangling")
	require.NoError(t, makeFIFO(filepath.Join(dir, "fifo")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()

	c := parse(t, header+onOS+"  patches: [{patchFrom: inside}]\n"+oneNode, root.FS())
	require.Equal(t, "a: b\n", string(c.Text("inside")))

	rows := []struct{ name, field, want string }{
		{"a link out of the folder", "patches: [{patchFrom: out}]", `"out" cannot be read: `},
		{"a dangling link", "patches: [{patchFrom: dangling}]", "there is no such file"},
		{"a FIFO", "patches: [{patchFrom: fifo}]", "is not a regular file"},
		{"a large file", "patches: [{patchFrom: large}]", "has 1048577 bytes; at most 1 MiB"},
		{"a large add-on", "addons: [{path: larger}]", "has 16777217 bytes; at most 16 MiB"},
		{"a large folder", "addons: [{path: huge}]", "more than 16 MiB"},
		{"a folder with a link out", "addons: [{path: linked}]", "cannot be read: linked/out"},
		{"a backslash", "addons: [{path: 'a\\b'}]", "separate folders with /"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			text := header + onOS + "  " + row.field + "\n" + oneNode
			require.Contains(t, problemsOf(t, text, root.FS()), row.want)
		})
	}
	require.Contains(t, problemsOf(t, header+onOS+oneNode+"  addons: [{path: a}]\n", nil),
		"has no folder")
}

// TestLayerSize: the files of a layer are bounded together, before anything is made of them. A file
// counts wherever it is named.
func TestLayerSize(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{
		"large": {Data: bytes.Repeat([]byte("x"), 1<<20)},
		"unit":  {Data: []byte("[Unit]\nDescription=" + strings.Repeat("x", 1000) + "\n")},
	}
	named := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "    - {path: /etc/f%d, contentFrom: large}\n", i)
		}
		return b.String()
	}
	text := func(files int, more string) string {
		return header + oneNode + "  machines:\n    os: flatcar\n    files:\n" + named(files) + more
	}
	parse(t, text(10, ""), dir)
	const want = "the files that are named up to here have more than 10 MiB (10485760) together"
	require.Contains(t, problemsOf(t, text(12, ""), dir), "machines.files[10].contentFrom: "+want)
	require.Contains(t, problemsOf(t, text(10,
		"    units: [{name: a.service, contentFrom: unit}]\n"), dir),
		"machines.units[0].contentFrom: "+want)
	// Each layer has its own.
	parse(t, text(6, "  workers:\n    machines:\n      files:\n"+
		strings.ReplaceAll(named(6), "    - ", "      - ")), dir)
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/loopback"
	"kiln.dev/kiln/test/need"
)

// registryName is the registry of the page.
const registryName = "registry.example.com"

// TestAirGap types what the console blocks of docs/air-gap.md show, with a registry and a server of
// programs on this computer, and requires that the lines that --push prints are those of the page.
func TestAirGap(t *testing.T) {
	t.Parallel()
	need.Program(t, "ssh-keygen")
	outside, site := loopback.New(), loopback.New()
	t.Cleanup(outside.Close)
	t.Cleanup(site.Close)
	outside.Make, outside.Answer = true, givePrograms
	dir := t.TempDir()
	script, err := txtar.ParseFile("../../testdata/script/archive.txtar")
	require.NoError(t, err)
	for _, f := range script.Files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600))
	}
	shell := func(line string) string {
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
		return string(out)
	}
	shell(`ssh-keygen -q -t ed25519 -N "" -f key
		echo "you@example.com $(cat key.pub)" > allowed_signers`)
	page := read(t, "../../docs/air-gap.md")
	servers := " --registry registry.k8s.io=" + outside.URL + " --registry docker.io=" +
		outside.URL + " --mirror " + outside.URL
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			push := strings.Contains(line, " --push ")
			if verb, ok := strings.CutPrefix(line, "kiln "); ok {
				line = program(t) + " " + strings.ReplaceAll(verb, registryName, site.Host)
				if !push { // a push asks nobody else
					line += servers
				}
			}
			printed := shell(line)
			for row := range strings.Lines(printed) {
				if push && strings.Contains(row, "{host: ") {
					row = strings.ReplaceAll(row, site.URL, "https://"+registryName)
					require.Contains(t, page, row)
				}
			}
		}
	}
	require.Len(t, site.Tags, 8)
	words := strings.Fields(blockWith(t, page, "kiln serve "))
	verb, rest, err := root().Find(words[1:])
	require.NoError(t, err)
	require.NoError(t, verb.ParseFlags(rest))
}

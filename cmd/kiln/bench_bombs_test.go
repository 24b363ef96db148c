//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkBombs measures what files of up to 1 MiB cost that stand for much more work than they
// have bytes, from the start of the program to its refusal, and what the largest of a kind cost
// that are accepted: processor time, because it is nearly the same on a busy machine, and memory at
// its peak. It fails where a promise is not held.
func BenchmarkBombs(b *testing.B) {
	kiln := build(b)
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata:\n"
	repeat := func(n int, format string) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, format, i)
		}
		return out.String()
	}
	const addon, patch = "addons: [{path: f.yaml}]",
		"patches: [{patchFrom: f.yaml, target: {kind: Pod}}]"
	hosts := "spec:\n  hostAliases:\n" + repeat(20_000, "  - {ip: 10.0.0.%d}\n")
	aliases := "  a: &a " + strings.Repeat("x", 10_000) + "\n" + repeat(60_000, "  b%d: *a\n")
	nested := "  a: " + strings.Repeat("{a: ", 150_000) + strings.Repeat("}", 150_000)
	small := "patches:\n" + repeat(100, "  - patch: \"metadata: {annotations: {a%d: b}}\"\n"+
		"    target: {kind: KIND}\n")
	configMaps := repeat(990, "---\napiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: c%d, namespace: default}\n")
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: default}\nspec:\n" +
		"  containers:\n  - name: a\n    image: registry.k8s.io/pause:3.10\n    env:\n"
	for name, row := range map[string]struct{ field, file string }{
		"few hostAliases": {patch, hosts[:strings.Index(hosts, "{ip: 10.0.0.450}")-4]},
		"patches of ConfigMaps": {addon + "\n  " + strings.ReplaceAll(small, "KIND", "ConfigMap"),
			configMaps},
		"patches without a match": {addon + "\n  " + strings.ReplaceAll(small, "KIND", "Nothing"),
			object + repeat(1000, "  k%d: "+strings.Repeat("x", 1000)+"\n")},
		"accepted: patches of pods": {strings.ReplaceAll(small, "KIND", "Pod"), ""},
		"accepted: variables":       {addon, pod + repeat(7000, "    - {name: V%d, value: a}\n")},
		"accepted: ConfigMaps":      {addon, configMaps},
		"aliases in an add-on":      {addon, object + aliases},
		"nested add-on":             {addon, object + nested},
		"dense add-on":              {addon, object + "  a: [" + repeat(99_999, "%d,") + "1]"},
		"keys of an add-on":         {addon, object + repeat(60_000, "  k%d: a\n")},
		"aliases in a patch":        {patch, "metadata:\n" + aliases},
		"nested patch":              {patch, "metadata:\n" + nested},
		"hostAliases":               {patch, hosts},
		"copies": {patch,
			repeat(40, "- {op: copy, from: /spec, path: /spec/c%d}\n")},
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			require.Less(b, len(row.file), 1<<20)
			configuration := bytes.Replace(large(2), []byte("  nodes:\n"),
				[]byte("  "+row.field+"\n  nodes:\n"), 1)
			for file, text := range map[string][]byte{
				"cluster.yaml": configuration, "f.yaml": []byte(row.file),
			} {
				require.NoError(b, os.WriteFile(filepath.Join(dir, file), text, 0o600))
			}
			var used time.Duration
			var peak int64
			for b.Loop() {
				cmd := exec.Command(kiln, "validate", filepath.Join(dir, "cluster.yaml"))
				text, err := cmd.CombinedOutput()
				require.Equal(b, strings.HasPrefix(name, "accepted"), err == nil, "%s", text)
				used = max(used, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
				peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10)
			}
			b.ReportMetric(used.Seconds(), "s/processor")
			b.ReportMetric(float64(peak), "MiB/peak")
			b.ReportMetric(0, "ns/op")
			if used > 2*time.Second || peak > 200 {
				b.Errorf("%s and %d MiB; promised are 2 s and 200 MiB", used, peak)
			}
		})
	}
}

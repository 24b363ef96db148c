//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkTwin measures how long the whole program takes to write the review twin of a thousand
// machines into a new folder, and to check it, from the public half alone. It fails where a promise
// is not held.
func BenchmarkTwin(b *testing.B) {
	kiln := build(b)
	dir := b.TempDir()
	configuration := filepath.Join(dir, "cluster.yaml")
	require.NoError(b, os.WriteFile(configuration, large(997), 0o600))
	run := func(args ...string) time.Duration {
		start := time.Now()
		text, err := exec.Command(kiln, append(args, "--config", configuration)...).CombinedOutput()
		require.NoError(b, err, "%s", text)
		return time.Since(start)
	}
	run("render", "--out", filepath.Join(dir, "nodes"))
	text, err := exec.Command(kiln, "secrets", "public",
		"--secrets", filepath.Join(dir, "bench.secrets.yaml"),
		"--out", filepath.Join(dir, "bench.public.yaml")).CombinedOutput()
	require.NoError(b, err, "%s", text)
	require.NoError(b, os.Remove(filepath.Join(dir, "bench.secrets.yaml")))
	var written, checked time.Duration
	for i := 0; b.Loop(); i++ {
		review := filepath.Join(dir, fmt.Sprint("review", i))
		if took := run("render", "--review", review); written == 0 || took < written {
			written = took
		}
		if took := run("render", "--review", review, "--check"); checked == 0 || took < checked {
			checked = took
		}
	}
	const promise = 5 * time.Second
	b.ReportMetric(written.Seconds(), "s/written")
	b.ReportMetric(checked.Seconds(), "s/checked")
	b.ReportMetric(promise.Seconds(), "s/promised")
	b.ReportMetric(0, "ns/op")
	if max(written, checked) > promise {
		b.Errorf("written in %s, checked in %s; promised are %s for each",
			written, checked, promise)
	}
}

// BenchmarkDiff measures how long the whole program takes to compare two twins of a thousand
// machines. Everything that can change did: each machine's certificates, and what all share. It
// fails where a promise is not held.
func BenchmarkDiff(b *testing.B) {
	kiln := build(b)
	dir := b.TempDir()
	configuration := filepath.Join(dir, "cluster.yaml")
	run := func(args ...string) {
		text, err := exec.Command(kiln, args...).CombinedOutput()
		require.NoError(b, err, "%s", text)
	}
	require.NoError(b, os.WriteFile(configuration, large(997), 0o600))
	run("render", "--config", configuration, "--out", filepath.Join(dir, "nodes"),
		"--review", filepath.Join(dir, "old"))
	changed := bytes.Replace(large(998), []byte("machines: {os: flatcar}"),
		[]byte("machines: {os: flatcar, kubelet: {maxPods: 64}, labels: {zone: a}}"), 1)
	require.NoError(b, os.WriteFile(configuration, changed, 0o600))
	run("render", "--config", configuration, "--review", filepath.Join(dir, "new"))
	for _, verb := range []string{"diff", "plan"} {
		b.Run(verb, func(b *testing.B) {
			var best time.Duration
			for b.Loop() {
				start := time.Now()
				cmd := exec.Command(kiln, verb,
					filepath.Join(dir, "old"), filepath.Join(dir, "new"))
				text, err := cmd.Output()
				took := time.Since(start)
				var exit *exec.ExitError
				if verb == "diff" && errors.As(err, &exit) && exit.ExitCode() == exitDifferent {
					err = nil
				}
				require.NoError(b, err)
				require.Contains(b, string(text), "1000 machines")
				if best == 0 || took < best {
					best = took
				}
			}
			const promise = 3 * time.Second
			b.ReportMetric(best.Seconds(), "s/best")
			b.ReportMetric(promise.Seconds(), "s/promised")
			b.ReportMetric(0, "ns/op")
			if best > promise {
				b.Errorf("%s; promised are %s", best, promise)
			}
		})
	}
}

// BenchmarkColdProcess measures what the design promises on two cores: how long the whole program
// takes for clusters of several sizes, from its start to the last synced file, and how much memory
// at its peak. It fails where a promise is not held.
func BenchmarkColdProcess(b *testing.B) {
	kiln := build(b)
	for _, row := range []struct {
		workers int
		promise time.Duration
		memory  int64 // MiB
	}{
		{10, 300 * time.Millisecond, 1024},
		{100, time.Second, 1024},
		{9997, 30 * time.Second, 1024},
	} {
		b.Run(fmt.Sprintf("3+%d", row.workers), func(b *testing.B) {
			dir := b.TempDir()
			configuration := filepath.Join(dir, "cluster.yaml")
			require.NoError(b, os.WriteFile(configuration, large(row.workers), 0o600))
			render := func(out string) (time.Duration, int64) {
				cmd := exec.Command(kiln, "render", "--config", configuration,
					"--out", filepath.Join(dir, out))
				start := time.Now()
				text, err := cmd.CombinedOutput()
				took := time.Since(start)
				require.NoError(b, err, "%s", text)
				return took, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
			}
			if row.workers < 1000 {
				render("first") // it makes the bundle
			}
			var best time.Duration
			var peak int64
			for i := 0; b.Loop(); i++ {
				took, memory := render(fmt.Sprint(i))
				if best == 0 || took < best {
					best = took
				}
				peak = max(peak, memory)
			}
			b.ReportMetric(best.Seconds(), "s/best")
			b.ReportMetric(row.promise.Seconds(), "s/promised")
			b.ReportMetric(float64(peak), "MiB/peak")
			b.ReportMetric(0, "ns/op")
			if best > row.promise || peak > row.memory {
				b.Errorf("%s and %d MiB; promised are %s and %d MiB",
					best, peak, row.promise, row.memory)
			}
		})
	}
}

// large is a cluster of three control planes and so many workers.
func large(workers int) []byte {
	var b bytes.Buffer
	b.WriteString(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: bench}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.bench.example.com
  network: {podSubnets: [10.128.0.0/10]}
  machines: {os: flatcar}
  nodes:
`)
	for i := range 3 {
		fmt.Fprintf(&b, "  - {name: cp-%d, role: control-plane, addresses: [10.0.0.%d]}\n",
			i+1, i+1)
	}
	for i := range workers {
		n := i + 256
		fmt.Fprintf(&b, "  - {name: worker-%05d, role: worker, addresses: [10.0.%d.%d]}\n",
			i+1, n/256, n%256)
	}
	return b.Bytes()
}

// build builds the program as people get it.
func build(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "kiln")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(b, err, "%s", out)
	return path
}

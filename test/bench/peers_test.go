//go:build unix

// Package bench compares kiln with its peers and with the floor: work that no program can leave
// out.
package bench

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	butane "github.com/coreos/ignition/v2/butane/config"
	"github.com/coreos/ignition/v2/butane/config/common"
	"github.com/stretchr/testify/require"
)

// cluster returns a configuration of three control planes and so many workers.
func cluster(workers int) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: bench}\nspec:\n" +
		"  kubernetesVersion: v1.36.3\n  endpoint: api.bench.example.com\n" +
		"  network: {podSubnets: [10.128.0.0/10]}\n  machines: {os: flatcar}\n  nodes:\n")
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

// rounds is how often each is run. The best run counts: what else a computer does makes runs longer
// and never shorter.
const rounds = 5

func best(b *testing.B, times int, run func(round int)) time.Duration {
	b.Helper()
	least := time.Hour
	for i := range times {
		start := time.Now()
		run(i)
		least = min(least, time.Since(start))
	}
	return least
}

func command(b *testing.B, dir, name string, args ...string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", out)
}

// BenchmarkPeers prints what kiln takes beside others, in one run: a render of 3 + 10 and 3 + 100
// machines beside kubeadm's phases for three control planes, a machine of many beside Butane on a
// document of the same size, and 10,000 machines beside the floor.
func BenchmarkPeers(b *testing.B) {
	dir := b.TempDir()
	kiln, kubeadm := filepath.Join(dir, "kiln"), filepath.Join(dir, "kubeadm")
	command(b, "../..", "go", "build", "-o", kiln, "./cmd/kiln")
	command(b, "../judges", "go", "build", "-o", kubeadm, "k8s.io/kubernetes/cmd/kubeadm")
	work := dir
	for n := 0; b.Loop(); n++ {
		dir = filepath.Join(work, fmt.Sprint("round", n))
		require.NoError(b, os.Mkdir(dir, 0o700))
		peers := best(b, rounds, func(round int) {
			kubeadmPhases(b, kubeadm, filepath.Join(dir, fmt.Sprint("kubeadm", round)))
		})
		b.ReportMetric(peers.Seconds(), "s/kubeadm-three")
		for _, workers := range []int{10, 100} {
			took := render(b, kiln, dir, workers, rounds)
			b.ReportMetric(took.Seconds(), fmt.Sprintf("s/3+%d", workers))
			b.ReportMetric(took.Seconds()/peers.Seconds(), fmt.Sprintf("3+%d/kubeadm", workers))
		}
		const many = 10_000
		took := render(b, kiln, dir, many-3, 1)
		b.ReportMetric(took.Seconds(), "s/10000")
		doc, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(many-3), "0", "worker-00001",
			"config.ign"))
		require.NoError(b, err)
		least := floor(b, filepath.Join(dir, "floor"), many, len(doc))
		b.ReportMetric(least.Seconds(), "s/floor")
		b.ReportMetric(took.Seconds()/least.Seconds(), "10000/floor")
		each := translate(b, len(doc))
		b.ReportMetric(each.Seconds()*1000, "ms/butane")
		b.ReportMetric(took.Seconds()*1000/many, "ms/machine")
	}
	b.ReportMetric(0, "ns/op")
}

// render renders a cluster into new folders and returns the time of the best run. Before several
// runs it makes the bundle; a single run makes it itself.
func render(b *testing.B, kiln, dir string, workers, times int) time.Duration {
	b.Helper()
	dir = filepath.Join(dir, fmt.Sprint(workers))
	require.NoError(b, os.Mkdir(dir, 0o700))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "cluster.yaml"), cluster(workers), 0o600))
	if times > 1 {
		command(b, dir, kiln, "render", "--out", "first")
	}
	return best(b, times, func(round int) {
		command(b, dir, kiln, "render", "--out", fmt.Sprint(round))
	})
}

// kubeadmPhases makes the certificates and the kubeconfigs of three control planes, as kubeadm init
// and two kubeadm join --control-plane do, with keys of the same kind as kiln's.
func kubeadmPhases(b *testing.B, kubeadm, dir string) {
	b.Helper()
	for i := range 3 {
		own := filepath.Join(dir, fmt.Sprint(i))
		pki := filepath.Join(own, "pki")
		require.NoError(b, os.MkdirAll(filepath.Join(pki, "etcd"), 0o700))
		for _, shared := range strings.Fields("ca.crt ca.key front-proxy-ca.crt " +
			"front-proxy-ca.key etcd/ca.crt etcd/ca.key sa.key sa.pub") {
			data, err := os.ReadFile(filepath.Join(dir, "0", "pki", shared))
			if i == 0 {
				break
			}
			require.NoError(b, err)
			require.NoError(b, os.WriteFile(filepath.Join(pki, shared), data, 0o600))
		}
		configuration := filepath.Join(own, "kubeadm.yaml")
		require.NoError(b, os.WriteFile(configuration, fmt.Appendf(nil,
			"apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"+
				"localAPIEndpoint: {advertiseAddress: 10.0.0.%d}\n"+
				"nodeRegistration: {name: cp-%d}\n---\n"+
				"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"+
				"kubernetesVersion: v1.36.3\ncertificatesDir: %s\n"+
				"encryptionAlgorithm: ECDSA-P256\n"+
				"controlPlaneEndpoint: api.bench.example.com:6443\n", i+1, i+1, pki), 0o600))
		command(b, own, kubeadm, "init", "phase", "certs", "all", "--config", configuration)
		command(b, own, kubeadm, "init", "phase", "kubeconfig", "all", "--config", configuration,
			"--kubeconfig-dir", own)
	}
}

// translate returns what Butane takes for a config whose document has size bytes.
func translate(b *testing.B, size int) time.Duration {
	b.Helper()
	var config strings.Builder
	config.WriteString("variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n")
	const files = 60 // as many as a worker has
	for i := range files {
		fmt.Fprintf(&config, "  - path: /etc/file-%02d\n    contents:\n      inline: |\n", i)
		for range size / files / 100 {
			config.WriteString("        " + strings.Repeat("a line of ", 8) + "\n")
		}
	}
	return best(b, rounds, func(int) {
		out, r, err := butane.TranslateBytes([]byte(config.String()), common.TranslateBytesOptions{
			TranslateOptions: common.TranslateOptions{NoResourceAutoCompression: true},
		})
		require.NoError(b, err, r.String())
		require.InDelta(b, size, len(out), float64(size)/2)
	})
}

// floor issues, hashes and writes as much as a render of so many machines with documents of size
// bytes, and does nothing else: two keys and certificates for each, the sum of its document, and a
// file that is on disk in the end.
func floor(b *testing.B, dir string, machines, size int) time.Duration {
	b.Helper()
	require.NoError(b, os.Mkdir(dir, 0o700))
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b, err)
	parent := &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, SubjectKeyId: []byte{1}}
	start := time.Now()
	next := make(chan int)
	var group sync.WaitGroup
	fail := func(err error) {
		if err != nil {
			panic(err) // a goroutine cannot end a benchmark
		}
	}
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			doc := make([]byte, size)
			for i := range next {
				at := 0
				for range 2 {
					key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
					fail(err)
					der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
						SerialNumber: big.NewInt(int64(i) + 1), DNSNames: []string{"worker"},
					}, parent, key.Public(), authority)
					fail(err)
					at += copy(doc[at:], pem.EncodeToMemory(&pem.Block{Bytes: der}))
				}
				sum := sha256.Sum256(doc)
				copy(doc[at:], sum[:])
				name := filepath.Join(dir, fmt.Sprint(i))
				fail(os.WriteFile(name, doc, 0o600))
			}
		})
	}
	for i := range machines {
		next <- i
	}
	close(next)
	group.Wait()
	syscall.Sync()
	return time.Since(start)
}

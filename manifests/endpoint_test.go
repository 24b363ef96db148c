package manifests_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/test/need"
)

// balancer returns the configuration of the balancers of a cluster of two control planes.
func balancer(t *testing.T, spec, first, second string) string {
	t.Helper()
	text := "apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: test}\nspec:\n" +
		"  kubernetesVersion: v1.36.3\n  machines: {os: debian}\n  endpoint: api.test\n" +
		"  controlPlane: {etcd: {allowEvenMembers: true}}\n" + spec +
		"  nodes:\n" +
		"  - {name: cp-1, role: control-plane, addresses: [" + first + "]}\n" +
		"  - {name: cp-2.test, role: control-plane, addresses: [" + second + "]}\n"
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err)
	p := plan.New(c)
	return string(manifests.Balancer(p))
}

const (
	ipv4 = "  workers: {localBalancer: {}}\n"
	ipv6 = "  workers: {localBalancer: {port: 7443}}\n" +
		"  network: {podSubnets: ['fd00:10:244::/48'], serviceSubnets: ['fd00:10:96::/112']}\n"
)

// TestBalancer reads the configuration as haproxy does, section by section.
func TestBalancer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		conf                string
		bind, health        string
		firstServer, second string
	}{
		"IPv4": {balancer(t, ipv4, "10.0.0.11", "10.0.0.12"), "127.0.0.1:6443", "127.0.0.1:6444",
			"cp-1 10.0.0.11:6443", "cp-2.test 10.0.0.12:6443"},
		"IPv6": {balancer(t, ipv6, "'2001:db8::11'", "'2001:db8::12'"), "[::1]:7443", "[::1]:6444",
			"cp-1 [2001:db8::11]:6443", "cp-2.test [2001:db8::12]:6443"},
	} {
		sections := map[string][]string{}
		var section string
		for line := range strings.Lines(row.conf) {
			line = strings.TrimRight(line, "\n")
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "#") || line == "":
			case strings.HasPrefix(line, "  "):
				sections[section] = append(sections[section], strings.TrimSpace(line))
			default:
				section = line
			}
		}
		require.Len(t, sections, 5, name)
		require.Equal(t, []string{"bind " + row.bind, "default_backend control-planes"},
			sections["frontend api"], name)
		require.Contains(t, sections["frontend health"], "bind "+row.health, name)
		servers := sections["backend control-planes"]
		require.Equal(t, []string{"server " + row.firstServer, "server " + row.second},
			servers[len(servers)-2:], name)
		require.Contains(t, row.conf, "verify required ca-file "+plan.CACert+" ", name)
		require.NotContains(t, row.conf, "{{", name)
	}
}

// TestBalancerIsHAProxys: haproxy reads the configuration without a warning.
func TestBalancerIsHAProxys(t *testing.T) {
	t.Parallel()
	program, dir := need.Program(t, "haproxy"), t.TempDir()
	ca := newAuthority(t)
	caFile := filepath.Join(dir, "ca.crt")
	require.NoError(t, os.WriteFile(caFile, ca.pem, 0o600))
	for name, conf := range map[string]string{
		"IPv4": balancer(t, ipv4, "10.0.0.11", "10.0.0.12"),
		"IPv6": balancer(t, ipv6, "'2001:db8::11'", "'2001:db8::12'"),
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(conf, plan.CACert, caFile)),
			0o600))
		out, err := exec.Command(program, "-c", "-V", "-f", file).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		require.NotContains(t, string(out), "WARNING", name)
	}
}

// TestBalancerBalances runs haproxy before two API servers of the cluster, and one of another
// cluster whose address it was given by mistake. A server that is not ready or not of the cluster
// gets no connection, and loses those that it has.
func TestBalancerBalances(t *testing.T) {
	t.Parallel()
	program, dir := need.Program(t, "haproxy"), t.TempDir()
	own, foreign := newAuthority(t), newAuthority(t)
	caFile, conf := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "haproxy.cfg")
	require.NoError(t, os.WriteFile(caFile, own.pem, 0o600))
	first, second, stranger := newServer(t, own, "first"), newServer(t, own, "second"),
		newServer(t, foreign, "stranger")
	port, health := freePort(t), freePort(t)
	text := strings.NewReplacer(
		plan.CACert, caFile, "inter 3s", "inter 100ms",
		"127.0.0.1:6443", port, "127.0.0.1:6444", health,
		"10.0.0.11:6443", first.address,
		"10.0.0.12:6443", second.address+"\n  server stranger "+stranger.address,
	).Replace(balancer(t, ipv4, "10.0.0.11", "10.0.0.12"))
	require.NoError(t, os.WriteFile(conf, []byte(text), 0o600))

	cmd := exec.Command(program, "-db", "-f", conf)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(own.pem)
	dial := func() (*tls.Conn, string) { // the connection, and the name of the server that answers
		c, err := tls.Dial("tcp", port, &tls.Config{RootCAs: pool})
		if err != nil {
			return nil, err.Error()
		}
		return c, c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	reached := func() map[string]bool {
		out := map[string]bool{}
		for range 30 {
			c, who := dial()
			out[who] = true
			if c != nil {
				c.Close()
			}
		}
		return out
	}
	answers := func(path string, want int) func() bool {
		return func() bool {
			r, err := http.Get("http://" + health + path)
			if err != nil {
				return false
			}
			r.Body.Close()
			return r.StatusCode == want
		}
	}
	const wait, tick = 20 * time.Second, 100 * time.Millisecond
	both := map[string]bool{"first": true, "second": true}
	require.Eventually(t, func() bool { return maps.Equal(both, reached()) }, wait, tick,
		"both, and no stranger")

	var to *tls.Conn
	require.Eventually(t, func() bool {
		c, who := dial()
		to = c
		return who == "first"
	}, wait, tick)
	first.ready.Store(false)
	require.NoError(t, to.SetReadDeadline(time.Now().Add(wait)))
	_, err := to.Read(make([]byte, 1))
	require.Error(t, err)
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded),
		"the connection to one that is no longer ready ends: %v", err)
	require.Eventually(t, func() bool {
		return maps.Equal(map[string]bool{"second": true}, reached())
	}, wait, tick)
	require.True(t, answers("/readyz", 200)())

	second.ready.Store(false)
	require.Eventually(t, answers("/readyz", 503), wait, tick, "nobody is ready")
	require.True(t, answers("/livez", 200)(), "and the balancer is well")
	first.ready.Store(true)
	require.Eventually(t, func() bool {
		return maps.Equal(map[string]bool{"first": true}, reached())
	}, wait, tick)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// server stands in for an API server: it answers on /readyz whether it is ready.
type server struct {
	address string
	ready   atomic.Bool
}

func newServer(t *testing.T, ca *authority, name string) *server {
	t.Helper()
	s := &server{}
	s.ready.Store(true)
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || !s.ready.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	h.TLS = &tls.Config{Certificates: []tls.Certificate{ca.issue(t, name)}}
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	t.Cleanup(h.Close)
	s.address = h.Listener.Addr().String()
	return s
}

// authority is a CA for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"},
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a server's certificate for 127.0.0.1.
func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

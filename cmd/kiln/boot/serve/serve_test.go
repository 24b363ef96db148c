package serve_test

import (
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/pack/document"
)

// TestOnce: a machine gets its document once, and the log has both requests.
func TestOnce(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
	r.requireRefused(t, "/cp-1/config.ign")
	r.requireLogged(t, map[string]any{
		"event": "request", "node": "cp-1", "document": "cp-1/config.ign", "decision": "served",
		"status": 200.0, "bytes": 9.0,
	})
	r.requireLogged(t, map[string]any{"node": "cp-1", "decision": "refused", "status": 404.0})
	require.Contains(t, r.log.String(), "fetched before, at ")
	require.NotContains(t, r.log.String(), "one\":1", "the log has no document")
	require.Equal(t, []string{"cp-2", "small", "worker-1"}, r.Left())
}

// TestOptions: a request about the server itself is refused and logged like any other.
func TestOptions(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	conn := r.dial(t, "127.0.0.1")
	_, err := fmt.Fprint(conn, "OPTIONS * HTTP/1.1\r\nHost: boot\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 404 Not Found\r\n"), "%s", answer)
	r.requireLogged(t, map[string]any{
		"method": "OPTIONS", "path": "*", "decision": "refused", "status": 404.0,
	})
}

// TestShortLines: a line of the log is short, whatever a client sends.
func TestShortLines(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	long := strings.Repeat("X", 12_000)
	for _, part := range [][2]string{{long, "/"}, {http.MethodGet, "/" + long}} {
		ask(t, part[0], r.url+part[1], "")
	}
	require.NoError(t, r.stop())
	for line := range strings.Lines(r.log.String()) {
		require.Less(t, len(line), 1000)
	}
}

// TestStrangers: the MAC address and the UUID in a request have to be those of the machine, in any
// spelling.
func TestStrangers(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	r.requireRefused(t,
		"/cp-1/config.ign?mac=52:54:00:12:34:57", // of cp-2
		"/cp-1/config.ign?mac=02:00:00:00:00:01", "/cp-1/config.ign?mac=none",
		"/cp-1/config.ign?uuid=0",
		"/cp-1/config.ign?mac=52:54:00:12:34:56&mac=02:00:00:00:00:01",
		"/worker-1/user-data?mac=52:54:00:12:34:57", "/mac/02:00:00:00:00:01/config.ign",
		"/mac//config.ign", "/uuid/8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5/user-data")
	r.requireLogged(t, map[string]any{
		"node": "cp-1", "decision": "refused", "reason": "its mac is that of another machine",
	})
	r.requireLogged(t, map[string]any{
		"node": "cp-1", "decision": "refused", "reason": "its uuid is not that of the machine",
	})
	r.requireGiven(t,
		"/cp-1/config.ign?mac=52-54-00-12-34-56&uuid=8F0C1D2E-3B4A-4C5D-9E6F-708192A3B4C5",
		`{"one":1}`)
	r.requireGiven(t, "/mac/52-54-00-12-34-57/config.ign", `{"two":2}`)
	r.requireRefused(t, "/cp-2/config.ign")
	// no identity of worker-1 is known
	r.requireGiven(t, "/worker-1/user-data?mac=02:00:00:00:00:01", "#cloud-config\n")
}

// TestNothingElse: the server gives no file but those of machines.
func TestNothingElse(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	r.requireRefused(t, "/", "/admin.conf", "/inventory.json", "/served.json", "/cp-1", "/cp-1/",
		"/cp-1/user-data", "/cp-1/vendor-data", "//cp-1/config.ign",
		"/cp-1/../admin.conf", "/cp-1/%2e%2e/admin.conf", "/initrd/other.cpio.gz", "/ipxe/",
		"/ipxe/other.ipxe", "/worker-2/user-data")
	for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodDelete} {
		answer, _ := ask(t, method, r.url+"/cp-1/config.ign", "")
		require.Equal(t, http.StatusNotFound, answer.StatusCode, method)
	}
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
}

// TestSeed: cloud-init reads the files beside a document in its own order, some of them more than
// once, and finds each of them.
func TestSeed(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	for range 2 {
		r.requireGiven(t, "/worker-1/network-config", "version: 2\n")
		r.requireGiven(t, "/worker-1/meta-data", "instance-id: w\n")
	}
	r.requireGiven(t, "/worker-1/user-data", "#cloud-config\n")
	r.requireGiven(t, "/worker-1/vendor-data", "")
	r.requireGiven(t, "/worker-1/meta-data", "instance-id: w\n")
	r.requireRefused(t, "/worker-1/user-data", "/worker-1/network-config")
	for range 2 {
		r.requireGiven(t, "/boot.ipxe", "#!ipxe\n")
		r.requireGiven(t, "/ipxe/mac-52-54-00-12-34-56.ipxe", "#!ipxe\nboot\n")
	}
}

// TestImages: kernels and initrds may be larger than any document. Everybody gets them, as often as
// they ask.
func TestImages(t *testing.T) {
	t.Parallel()
	dir := example(t)
	write(t, dir, map[string]string{
		"images/flatcar/kernel": "a kernel", "images/kernel": "another",
	})
	const size = 200 << 20
	require.NoError(t, os.Truncate(filepath.Join(dir, "images/flatcar/kernel"), size))
	r := start(t, dir, nil)
	for range 2 {
		resp, err := http.Get(r.url + "/images/flatcar/kernel")
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.EqualValues(t, size, n)
	}
	r.requireRefused(t, "/images/kernel", "/images/flatcar", "/images/flatcar/")
}

// TestImageParts: installers look for an image before they fetch it, and go on where a connection
// broke. Only images and programs are answered so.
func TestImageParts(t *testing.T) {
	t.Parallel()
	dir := example(t)
	write(t, dir, map[string]string{"images/flatcar/kernel": "MZ\x00 a kernel"})
	r := start(t, dir, nil)
	answer, _ := ask(t, http.MethodHead, r.url+"/images/flatcar/kernel", "")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.EqualValues(t, 12, answer.ContentLength)
	require.Equal(t, "application/octet-stream", answer.Header.Get("Content-Type"))
	answer, body := ask(t, http.MethodGet, r.url+"/images/flatcar/kernel", "bytes=6-")
	require.Equal(t, http.StatusPartialContent, answer.StatusCode)
	require.Equal(t, "kernel", body)
	answer, _ = ask(t, http.MethodHead, r.url+"/boot.ipxe", "")
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
	r.requireLogged(t, map[string]any{"method": "HEAD", "decision": "served", "status": 200.0})
}

// TestBody: a body is served once, at the path of its URL and at the shorter path behind a proxy.
func TestBody(t *testing.T) {
	t.Parallel()
	body := []byte("#!/bin/sh\n")
	sum := sha512.Sum512(body)
	hash := hex.EncodeToString(sum[:])
	entries := []render.Entry{
		{
			Node: "cp-1", Document: "cp-1/user-data",
			Body: &document.Body{
				Document: "cp-1/body.sh", SHA512: hash,
				URL: "https://boot.example.com/kiln/cp-1/" + hash,
			},
		},
	}
	dir := renderedFolder(t, entries, map[string]string{
		"cp-1/user-data": "#cloud-config\n", "cp-1/body.sh": string(body),
	})
	for _, path := range []string{"/kiln/cp-1/" + hash, "/cp-1/" + hash, "/cp-1/body.sh"} {
		r := start(t, dir, func(o *serve.Options) { o.State = filepath.Join(t.TempDir(), "state") })
		r.requireGiven(t, "/cp-1/user-data", "#cloud-config\n")
		require.Equal(t, []string{"cp-1"}, r.Left())
		r.requireGiven(t, path, string(body))
		r.requireRefused(t, "/kiln/cp-1/"+hash, "/cp-1/"+hash, "/cp-1/body.sh", "/"+hash)
		require.Empty(t, r.Left())
	}
	write(t, dir, map[string]string{"cp-1/body.sh": "another"})
	_, err := serve.New([]string{dir}, serve.Options{State: filepath.Join(t.TempDir(), "state")})
	require.ErrorContains(t, err, "cp-1/body.sh: it is not what inventory.json lists")
}

// TestPoolInitrd: each machine of a pool gets the initrd of the pool once, at its own path alone.
func TestPoolInitrd(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	for _, uuid := range []string{"1", "2"} {
		at := "/initrd/pools/small.cpio.gz?uuid=00000000-0000-4000-8000-00000000000" + uuid
		r.requireGiven(t, at, initrd("#cloud-config\n{}\n"))
		r.requireRefused(t, at)
	}
	r.requireRefused(t, "/initrd/small.cpio.gz")
}

// TestPool: the machines of a pool share a document, and each gets it once.
func TestPool(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	const doc = "#cloud-config\n{}\n"
	r.requireGiven(t, "/pools/small/network-config", "")
	r.requireGiven(t, "/pools/small/user-data?mac=02:00:00:00:00:01", doc)
	r.requireGiven(t, "/pools/small/user-data?mac=02:00:00:00:00:02", doc)
	r.requireRefused(t, "/pools/small/user-data?mac=02-00-00-00-00-02",
		"/pools/small/user-data?mac=52:54:00:12:34:56")
	r.requireGiven(t, "/pools/small/network-config", "")
	r.requireGiven(t, "/pools/small/user-data", doc)
	r.requireRefused(t, "/pools/small/user-data")
}

// TestWindow: after the window nothing is given, and the server ends by itself.
func TestWindow(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), func(o *serve.Options) { o.Window = 300 * time.Millisecond })
	r.requireLogged(t, map[string]any{"event": "stop", "reason": "the window has ended"})
	require.NoError(t, r.stop())
	_, err := http.Get(r.url + "/cp-1/config.ign")
	require.Error(t, err)
}

// TestTLS: the cluster's CA issues the certificate, for the given names.
func TestTLS(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b, err := pki.New(pki.Options{
		Name: "prod", Now: now, Algorithm: private.P256, CALifetime: 24 * time.Hour,
		FormationWindow: time.Hour,
	})
	require.NoError(t, err)
	names := []string{"boot.example.com", "127.0.0.1"}
	settings, err := serve.TLS(b, names, now.Add(time.Hour))
	require.NoError(t, err)
	state := filepath.Join(t.TempDir(), "state")
	s, err := serve.New([]string{example(t)},
		serve.Options{State: state, Peers: peers(t, "any"), Window: time.Hour})
	require.NoError(t, err)
	require.NoError(t, s.Begin(io.Discard))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(t.Context(), tls.NewListener(l, settings)) }()
	roots := x509.NewCertPool()
	roots.AddCert(b.CA.Certificate)
	get := func(trusted *tls.Config) (int, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted}}
		answer, err := client.Get("https://" + l.Addr().String() + "/cp-1/config.ign")
		if err != nil {
			return 0, err
		}
		defer func() { _ = answer.Body.Close() }()
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, err
	}
	_, err = get(&tls.Config{RootCAs: x509.NewCertPool()})
	require.Error(t, err)
	_, err = get(&tls.Config{RootCAs: roots, ServerName: "api.example.com"})
	require.Error(t, err)
	status, err := get(&tls.Config{RootCAs: roots, ServerName: "boot.example.com"})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Eventually(t, func() bool {
		status, err = get(&tls.Config{RootCAs: roots})
		return err == nil && status == http.StatusNotFound
	}, 5*time.Second, 10*time.Millisecond)
}

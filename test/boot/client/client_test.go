package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// TestAway: what a server that is switched off does not answer counts apart.
func TestAway(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ listed bool }{
		"listed": {true}, "not listed": {false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, makePair(t, 1))
			off := c.serve(t)
			c.serve(t)
			off.Close()
			if row.listed {
				c.write(t, "away", "https://192.0.2.1:6443\n"+off.URL+"\n")
			}
			c.runFor(t, time.Second)
			l := c.ledger
			if l.Written < 3 || l.Wrong+l.Lost > 0 {
				t.Errorf("%+v: want some that was written, and nothing lost", l.report)
			}
			if row.listed != (l.Away > 0) || row.listed == (l.Failed > 0) {
				t.Errorf("%d failures, %d of a server that is away", l.Failed, l.Away)
			}
		})
	}
}

// TestNewCredential: the client goes on with a new CA and certificate, and fails without them.
func TestNewCredential(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ given bool }{
		"given": {true}, "not given": {false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, next := makePair(t, 1), makePair(t, 2)
			c := newCluster(t, old)
			s := c.serve(t)
			time.AfterFunc(time.Second, func() {
				if row.given {
					c.give(t, next)
				}
				c.show(s, next)
			})
			c.runFor(t, 2*time.Second)
			if c.ledger.Written < 3 || row.given == (c.ledger.Failed > 1) {
				t.Errorf("%d written, %d failed", c.ledger.Written, c.ledger.Failed)
			}
		})
	}
}

// pair is a certificate that is its own CA.
type pair struct{ cert, key []byte }

func makePair(t *testing.T, serial int64) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"kubernetes"}, IsCA: true,
		NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}
}

// fake is a cluster whose API servers keep ConfigMaps in memory.
type fake struct {
	cluster
	folder string

	mu      sync.Mutex
	numbers map[string]string
	shown   tls.Certificate
}

func newCluster(t *testing.T, p pair) *fake {
	t.Helper()
	f := &fake{folder: t.TempDir(), numbers: map[string]string{}}
	at := func(name string) string { return filepath.Join(f.folder, name) }
	f.cluster = cluster{ca: at("ca"), cert: at("cert"), key: at("key"), away: at("away"),
		ledger: newLedger(), atEnd: time.Second}
	f.write(t, "away", "")
	f.give(t, p)
	f.show(nil, p)
	return f
}

func (f *fake) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, name), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

// give writes the operator's files, the CA's last and at once.
func (f *fake) give(t *testing.T, p pair) {
	t.Helper()
	f.write(t, "cert", string(p.cert))
	f.write(t, "key", string(p.key))
	f.write(t, "ca.part", string(p.cert))
	if err := os.Rename(f.ca+".part", f.ca); err != nil {
		t.Error(err)
	}
}

// show makes the servers identify themselves with p from the next connection on.
func (f *fake) show(s *httptest.Server, p pair) {
	shown, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	f.shown = shown
	f.mu.Unlock()
	if s != nil {
		s.CloseClientConnections()
	}
}

func (f *fake) serve(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = nil
	s.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		shown := f.shown
		return &shown, nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	f.urls = append(f.urls, s.URL)
	return s
}

var number = regexp.MustCompile(`"number":"(\d+)"`)

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPatch {
		body, _ := io.ReadAll(r.Body)
		f.numbers[r.URL.Path] = number.FindStringSubmatch(string(body))[1]
	}
	value, ok := f.numbers[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	fmt.Fprintf(w, `{"data":{"number":%q}}`, value)
}

func (f *fake) runFor(t *testing.T, span time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	if err := f.run(ctx); err != nil && f.ledger.Failed == 0 {
		t.Error(err)
	}
}

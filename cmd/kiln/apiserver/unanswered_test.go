package apiserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/apiserver"
)

// authority is a CA for servers of the tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a := &authority{key: key}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().AddDate(-2, 0, 0), NotAfter: time.Now().AddDate(2, 0, 0),
		SubjectKeyId: key.X.Bytes(), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	return a
}

// serve returns the URL of a server with a certificate for names, from one day to another.
func (a *authority) serve(
	t *testing.T, from, until time.Time, address string, answer http.HandlerFunc,
) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: from, NotAfter: until,
		IPAddresses: []net.IP{net.ParseIP(address)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(answer)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{
		Certificate: [][]byte{der}, PrivateKey: key,
	}}}
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// listen returns the address of a listener that does this with each connection.
func listen(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() }) // and not by the garbage collector
			do(conn)
		}
	}()
	return "https://" + l.Addr().String()
}

// TestUnanswered: each way in which an API server gives no answer has words of its own, which name
// the kubeconfig, the server, and what to look at.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	now := time.Now()
	past, future := now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0)
	code := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	plain := httptest.NewServer(code(200))
	t.Cleanup(plain.Close)
	closed := listen(t, func(net.Conn) {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refusing := l.Addr().String()
	require.NoError(t, l.Close())
	half := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"NodeList",`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // else the end of the answer may come before that of the client
	}
	const day = "2006-01-02"
	for name, row := range map[string]struct{ server, proxy, want string }{
		"silent": {server: listen(t, func(net.Conn) {}), want: "no answer from URL within " +
			"0.3 s; is the endpoint up, and is this the right kubeconfig?"},
		"silent in the middle": {server: ca.serve(t, past, future, "127.0.0.1", half),
			want: "no answer from URL within 0.3 s; is the endpoint up, and is this the right " +
				"kubeconfig?"},
		"refused": {server: "https://" + refusing, want: "URL refuses the connection; does an " +
			"API server run there, and is this the right kubeconfig?"},
		"no such name": {server: "https://api..example.com:6443", want: "no such name: " +
			"api..example.com; is the endpoint right, and does this computer's DNS know it?"},
		"another CA": {server: other.serve(t, past, future, "127.0.0.1", code(200)),
			want: "the certificate of URL is of another CA; is this the kubeconfig of another " +
				"cluster, or from before a rotation? kiln kubeconfig makes one"},
		"expired": {server: ca.serve(t, past, now.Add(-time.Hour), "127.0.0.1", code(200)),
			want: "the certificate of URL has ended on " + now.Add(-time.Hour).UTC().Format(day) +
				"; give the control planes newer documents (kiln certs), or correct the clock " +
				"of this computer"},
		"not yet valid": {server: ca.serve(t, now.Add(time.Hour), future, "127.0.0.1", code(200)),
			want: "the certificate of URL is not valid before " +
				now.Add(time.Hour).UTC().Format(day) + "; correct the clock of this computer"},
		"another name": {server: ca.serve(t, past, future, "10.0.0.1", code(200)),
			want: "the certificate of URL is for other names; is the endpoint one that " +
				"cluster.yaml names? (x509: certificate is valid for 10.0.0.1, not 127.0.0.1)"},
		"no TLS": {server: strings.Replace(plain.URL, "http:", "https:", 1),
			want: "URL speaks no TLS; is it the port of the API server?"},
		"ends the connection": {server: listen(t, func(c net.Conn) { _ = c.Close() }),
			want: "URL ended the connection before its answer was whole; is an API server up " +
				"behind it, and is this the right kubeconfig?"},
		"a proxy": {server: closed, proxy: "http://" + refusing, want: "the proxy on the way to " +
			"URL does not answer; HTTPS_PROXY or proxy-url in the kubeconfig names it " +
			"(dial tcp " + refusing + ": connect: connection refused)"},
		"401": {server: ca.serve(t, past, future, "127.0.0.1", code(401)),
			want: "GET /api/v1/nodes: HTTP 401; the credential has ended, or is that of another " +
				"cluster: kiln kubeconfig makes one"},
		"403": {server: ca.serve(t, past, future, "127.0.0.1", code(403)),
			want: "GET /api/v1/nodes: HTTP 403; its user needs to read Nodes and the namespace " +
				"kube-system"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setting := "certificate-authority-data: " + base64.StdEncoding.EncodeToString(
				pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}))
			if row.proxy != "" {
				setting += ", proxy-url: " + row.proxy
			}
			path := kubeconfig(t, row.server, setting, "token: "+secret)
			c, err := apiserver.New(path, io.Discard)
			require.NoError(t, err)
			c.SetTimeout(300 * time.Millisecond)
			want := path + ": " + strings.ReplaceAll(row.want, "URL", row.server)
			_, err = c.Nodes(t.Context())
			require.EqualError(t, err, want)
			if row.want[:4] != "GET " {
				_, err = c.Get(t.Context(), "/version")
				require.EqualError(t, err, want)
			}
		})
	}
	path := kubeconfig(t, closed, "", "token: "+secret)
	c, err := apiserver.New(path, io.Discard)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = c.Nodes(ctx)
	require.EqualError(t, err, path+": no more time for "+closed+": context deadline exceeded")
}

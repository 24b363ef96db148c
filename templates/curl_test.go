package templates_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// credential returns a certificate of the CA and its key in PEM; without a CA it returns a CA.
func credential(t *testing.T, ca *tls.Certificate, name string) (tls.Certificate, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	spec := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: ca == nil,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP("::1")},
	}
	signer, signerKey := spec, any(key)
	if ca != nil {
		signer, signerKey = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, spec, signer, key.Public(), signerKey)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	cert := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	pair, err := tls.X509KeyPair([]byte(cert), []byte(private))
	must(t, err)
	return pair, cert, private
}

// TestBootSpeaksHTTP: the real curl asks servers that, like the real ones, require certificates of
// their CA.
func TestBootSpeaksHTTP(t *testing.T) {
	curl := need.Program(t, "curl")
	hasIPv6 := need.Has(t, "IPv6")
	underAShell(t, func(t *testing.T, shell []string) {
		ca, caCert, _ := credential(t, nil, "ca")
		server, _, _ := credential(t, &ca, "server")
		_, cert, key := credential(t, &ca, "client")
		_, foreign, _ := credential(t, nil, "another ca")
		pool := x509.NewCertPool()
		pool.AddCert(ca.Leaf)

		var lock sync.Mutex
		var requests []string
		refused := map[string]int{}
		serve := func(listener net.Listener) *httptest.Server {
			s := httptest.NewUnstartedServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					lock.Lock()
					defer lock.Unlock()
					body, _ := io.ReadAll(r.Body)
					requests = append(requests, fmt.Sprintf("%s %s %s %s", r.Method, r.URL,
						r.Header.Get("Content-Type"), body))
					switch {
					case r.URL.Path == "/members":
						w.Header().Set("X-Etcd-Cluster-ID", "1f")
						fmt.Fprint(w,
							`[{"id":1,"peerURLs":["p"],"name":"cp-2","clientURLs":["c"]},`+
								`{"id":2,"peerURLs":["o"],"name":"cp-1"}]`)
					case r.URL.Path == "/v3/cluster/member/list":
						fmt.Fprint(w, `{"header":{"cluster_id":"1"},"members":[{"ID":"1",`+
							`"name":"cp-2","peerURLs":["p"],"clientURLs":["c"]},{"ID":"2",`+
							`"name":"cp-1","peerURLs":["o"]}]}`)
					case r.Method == http.MethodPatch && refused[r.URL.Path] == 0:
						refused[r.URL.Path]++
						w.WriteHeader(http.StatusConflict)
						fmt.Fprint(w, `{"kind":"Status","message":"the object has been `+
							`\"modified\"",`+
							`"reason":"Conflict","code":409}`)
					case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path,
						"/configmaps/kiln"):
						w.WriteHeader(http.StatusNotFound)
					case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/nodes/cp-1"):
						fmt.Fprint(w, `{"status":{"nodeInfo":`+
							`{"machineID":"6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1"}}}`)
					}
				}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.TLS = &tls.Config{Certificates: []tls.Certificate{server},
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
			s.Listener.Close()
			s.Listener = listener
			s.StartTLS()
			t.Cleanup(s.Close)
			return s
		}
		four, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		urls := []string{serve(four).URL}
		if hasIPv6 {
			six, err := net.Listen("tcp", "[::1]:0")
			must(t, err)
			urls = append(urls, serve(six).URL)
		}

		for _, url := range urls {
			m := newMachine(t, shell, "control-plane")
			must(t, os.Remove(m.bin+"/curl"))
			write(t, m.bin+"/curl", "#!/bin/sh\ncase $* in *:2381/readyz) printf 200 ;; "+
				"*) exec "+curl+" \"$@\" ;; esac\n", 0o755)
			m.at("/etc/kubernetes/pki/ca.crt", caCert)
			m.at("/etc/kubernetes/pki/install.crt", cert)
			m.at("/etc/kubernetes/pki/install.key", key)
			m.at("/var/lib/kubelet/pki/kubelet-client-2026.pem", cert+key)
			m.at("/etc/etcd/pki/ca.crt", caCert)
			m.at("/etc/etcd/pki/server.crt", cert)
			m.at("/etc/etcd/pki/server.key", key)
			m.data["steps"] = "files etcd objects node"
			m.at("/proc/swaps", "")
			m.data["api"], m.data["etcd_peers"] = url,
				"cp-2="+url+","+url+" cp-3=https://127.0.0.1:1,https://127.0.0.1:1"
			m.data["etcd_url"] = "o"
			m.document()
			lock.Lock()
			requests, refused = nil, map[string]int{}
			lock.Unlock()
			out := m.wantDone()
			const object, apply = "/apis/apps/v1/namespaces/kube-system/deployments/coredns",
				"?fieldManager=kiln&force=true application/apply-patch+yaml "
			want := []string{
				"GET /members  ",
				`POST /v3/cluster/member/list application/x-www-form-urlencoded ` +
					`{"linearizable":true}`,
				"GET /readyz  ",
				"GET " + kubeSystem + "/configmaps/kiln  ", // as the kubelet
				"GET " + kubeSystem + "/configmaps/kiln  ",
				"PATCH " + kubeSystem + "/secrets/token" + apply + "data: " + secret,
				"PATCH " + object + apply + "kind: Deployment",
				"GET " + kubeSystem + "/configmaps/kiln  ",
				"GET " + kubeSystem + "/configmaps/kiln  ",
				"PATCH " + kubeSystem + "/secrets/token" + apply + "data: " + secret,
				"PATCH " + object + apply + "kind: Deployment",
				"PATCH " + kubeSystem + "/configmaps/kiln" + apply + "kind: ConfigMap",
			}
			lock.Lock()
			got := strings.Join(requests, "\n")
			lock.Unlock()
			require.True(t, strings.HasPrefix(got, strings.Join(want, "\n")), "%s\nwant %s", got,
				strings.Join(want, "\n"))
			for _, text := range []string{"etcd: no answer: curl: (7) ",
				"waiting for " + kubeSystem + "/configmaps/kiln: " + kubeSystem +
					"/secrets/token: HTTP 409; " + object +
					": HTTP 409: the object has been 'modified'; \n"} {
				require.Contains(t, out, text)
			}

			// The endpoint belongs to another cluster.
			m = newMachine(t, shell, "worker")
			must(t, os.Remove(m.bin+"/curl"))
			must(t, os.Symlink(curl, m.bin+"/curl"))
			m.at("/etc/kubernetes/pki/ca.crt", foreign)
			m.at("/var/lib/kubelet/pki/kubelet-client-2026.pem", cert+key)
			m.data["steps"], m.data["api"], m.data["step_timeout"] = "files node", url, "1"
			m.document()
			m.wantOverdue("FAULT api-wrong-cluster " + url + "/api/v1/nodes/cp-1: curl: (60) ")
		}
	})
}

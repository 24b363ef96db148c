package containerd

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	user, password = "robot", "secret"
	// login is the registry's file of logins, for htpasswd.
	login = user + ":$2a$04$7b8mY7B6bFnI3hi66bjCPOH/qZcBL5kTU46hBpCoxnD1tJZqpEUyW"

	manifestType = "application/vnd.oci.image.manifest.v1+json"
)

// clusterText is a cluster with a registry that wants a certificate and a login.
const clusterText = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: private}
spec:
  kubernetesVersion: v1.36.3
  endpoint: 10.0.0.11:6443
  machines:
    os: debian
    platform: nocloud
    registries:
    - host: private.test
      mirrors: ["https://%s"]
      mirrorsOnly: true
      caFrom: ca.crt
      certFrom: client.crt
      keyFrom: client.key
      username: robot
      passwordFrom: password
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
`

// TestRegistry: under every containerd, a machine pulls from the registry of the distribution
// project, which wants TLS with a CA of its own, a certificate and a login; and what the hook asks
// of ctr for images out of an archive does what it is for.
func TestRegistry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startRegistry(t, dir)
	digest := r.push(t, "app")
	s, auth := renderedSetup(t, dir, r.address)
	for _, p := range programs {
		t.Run(p.minor, func(t *testing.T) {
			t.Parallel()
			d, err := start(t, p, s)
			check(t, err)
			client := cri.NewImageServiceClient(d.conn)
			pull := func(auth *cri.AuthConfig) (string, error) {
				answer, err := client.PullImage(soon(t), &cri.PullImageRequest{
					Image: &cri.ImageSpec{Image: "private.test/app@" + digest}, Auth: auth,
				})
				return answer.GetImageRef(), err
			}
			if _, err := pull(nil); err == nil || !strings.Contains(err.Error(), "authorization") {
				t.Errorf("a pull without a login says %v", err)
			}
			if _, err := pull(auth); err != nil {
				t.Errorf("a pull says %v\n%s", err, d.log)
			}

			ctr := func(in []byte, arguments ...string) string {
				cmd := inRoot(d.root, 0, "ctr", append([]string{
					"-a", s.endpoint, "-n", "k8s.io", "images",
				}, arguments...)...)
				cmd.Stdin = bytes.NewReader(in)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("ctr %s: %v\n%s", arguments, err, out)
				}
				return string(out)
			}
			const name = "loaded.test/app:1"
			ctr(r.archive(t, name), "import", "-")
			if out := ctr(nil, "ls", "name=="+name); !strings.Contains(out, " "+digest+" ") {
				t.Errorf("ctr lists no %s with %s:\n%s", name, digest, out)
			}
			ctr(nil, "label", name, "io.cri-containerd.pinned=pinned")
			if !d.pins(t, name) {
				t.Errorf("the kubelet does not see that %s is pinned", name)
			}
		})
	}
}

// pins reports whether the CRI says that an image is pinned, as it does after a moment.
func (d *daemon) pins(t *testing.T, name string) bool {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		answer, err := cri.NewImageServiceClient(d.conn).ImageStatus(soon(t),
			&cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: name}})
		check(t, err)
		if answer.GetImage().GetPinned() {
			return true
		}
	}
	return false
}

// renderedSetup returns what kiln gives a machine for a registry, and the login that the kubelet
// gets from the machine's credential provider.
func renderedSetup(t *testing.T, dir, address string) (*setup, *cri.AuthConfig) {
	t.Helper()
	write(t, dir+"/cluster.yaml", fmt.Sprintf(clusterText, address))
	write(t, dir+"/password", password+"\n")
	command(t, "../..", "go", "run", "./cmd/kiln", "render", "--config", dir+"/cluster.yaml",
		"--out", dir+"/nodes")
	trees := exec.Command("go", "run", "./test/trees", "-documents", dir+"/nodes")
	trees.Dir, trees.Stderr = "../..", os.Stderr
	out, err := trees.Output()
	check(t, err)
	var list []machine
	check(t, json.Unmarshal(out, &list))
	s := setupOf(t, &list[0], "private")
	s.loopback = true
	var logins struct {
		Auth map[string]struct{ Username, Password string }
	}
	for _, f := range list[0].Files {
		if f.Path == "/etc/kiln/registries.json" {
			check(t, json.Unmarshal(f.Content, &logins))
		}
	}
	auth, ok := logins.Auth["private.test"]
	if !ok {
		t.Fatalf("the credential provider has no login for private.test, only for %v",
			maps.Keys(logins.Auth))
	}
	return s, &cri.AuthConfig{Username: auth.Username, Password: auth.Password}
}

// registry is a registry that runs, and what a client of it needs.
type registry struct {
	address string
	client  *http.Client
	blobs   map[string][]byte // by digest
	top     string            // the manifest's digest
}

// startRegistry starts the registry of the distribution project, and makes the keys of its clients.
func startRegistry(t *testing.T, dir string) *registry {
	t.Helper()
	ca, caKey := issue(t, dir+"/ca", nil, nil)
	issue(t, dir+"/tls", ca, caKey)
	issue(t, dir+"/client", ca, caKey)
	write(t, dir+"/htpasswd", login+"\n")
	write(t, dir+"/registry.yaml", strings.ReplaceAll(`version: 0.1
storage: {filesystem: {rootdirectory: DIR/registry}}
auth: {htpasswd: {realm: registry, path: DIR/htpasswd}}
http:
  addr: 127.0.0.1:0
  tls: {certificate: DIR/tls.crt, key: DIR/tls.key, clientcas: [DIR/ca.crt]}
`, "DIR", dir))
	path, err := tool("../registry", "go.mod", "registry")
	check(t, err)
	cmd := exec.CommandContext(t.Context(), path, "serve", dir+"/registry.yaml")
	log := &buffer{}
	cmd.Stderr = log
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	var address string
	for end := time.Now().Add(patience); address == ""; time.Sleep(10 * time.Millisecond) {
		_, rest, _ := strings.Cut(log.String(), "listening on ")
		address, _, _ = strings.Cut(rest, ",")
		if time.Now().After(end) {
			t.Fatalf("the registry does not start: %s", log)
		}
	}
	pair, err := tls.LoadX509KeyPair(dir+"/client.crt", dir+"/client.key")
	check(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	return &registry{
		address: address, blobs: map[string][]byte{},
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		}}},
	}
}

// issue writes PATH.crt and PATH.key, signed by a CA, or by itself if that is nil.
func issue(t *testing.T, path string, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (
	*x509.Certificate, *ecdsa.PrivateKey,
) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: filepath.Base(path)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour * 24),
		BasicConstraintsValid: true, IsCA: ca == nil,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
		},
	}
	if ca == nil {
		ca, caKey = template, key
		template.KeyUsage |= x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	check(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	write(t, path+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, path+".key",
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	cert, err := x509.ParseCertificate(der)
	check(t, err)
	return cert, key
}

// push gives the registry an image of one layer with one file, and returns its digest.
func (r *registry) push(t *testing.T, name string) (digest string) {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	check(t, w.WriteHeader(&tar.Header{Name: "file", Mode: 0o644, Size: 5}))
	_, err := w.Write([]byte("hello"))
	check(t, err)
	check(t, w.Close())
	parts := map[string]string{}
	for kind, text := range map[string][]byte{
		"layer": layer.Bytes(),
		"config": fmt.Appendf(nil, `{"architecture": "amd64", "os": "linux", "rootfs": {`+
			`"type": "layers", "diff_ids": [%q]}}`, digestOf(layer.Bytes())),
	} {
		parts[kind] = r.add(text)
		answer := r.send(t, "POST", "/v2/"+name+"/blobs/uploads/", nil)
		to, err := url.Parse(answer.Header.Get("Location"))
		check(t, err)
		query := to.Query()
		query.Set("digest", parts[kind])
		r.send(t, "PUT", to.Path+"?"+query.Encode(), text)
	}
	manifest := fmt.Appendf(nil, `{"schemaVersion": 2, "mediaType": %q, "config": {"mediaType": `+
		`"application/vnd.oci.image.config.v1+json", "digest": %q, "size": %d}, "layers": [`+
		`{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": %q, "size": %d}]}`,
		manifestType, parts["config"], len(r.blobs[parts["config"]]),
		parts["layer"], len(r.blobs[parts["layer"]]))
	r.top = r.add(manifest)
	r.send(t, "PUT", "/v2/"+name+"/manifests/1", manifest)
	return r.top
}

func digestOf(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

func (r *registry) add(text []byte) (digest string) {
	digest = digestOf(text)
	r.blobs[digest] = text
	return digest
}

// send sends a request with the login, and requires that it succeeds.
func (r *registry) send(t *testing.T, method, path string, body []byte) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+r.address+path,
		bytes.NewReader(body))
	check(t, err)
	request.SetBasicAuth(user, password)
	request.Header.Set("Content-Type", "application/octet-stream")
	if strings.Contains(path, "/manifests/") {
		request.Header.Set("Content-Type", manifestType)
	}
	answer, err := r.client.Do(request)
	check(t, err)
	text, err := io.ReadAll(answer.Body)
	check(t, err)
	check(t, answer.Body.Close())
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s\n%s", method, path, answer.Status, text)
	}
	return answer
}

// archive returns the image as the hook gives it to ctr: as tar, with a name.
func (r *registry) archive(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name, text string) {
		check(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := io.WriteString(w, text)
		check(t, err)
	}
	add("oci-layout", `{"imageLayoutVersion": "1.0.0"}`)
	add("index.json", fmt.Sprintf(`{"schemaVersion": 2, "manifests": [{"mediaType": %q, `+
		`"digest": %q, "size": %d, "annotations": {"io.containerd.image.name": %q}}]}`,
		manifestType, r.top, len(r.blobs[r.top]), name))
	for digest, text := range r.blobs {
		add("blobs/"+strings.Replace(digest, ":", "/", 1), string(text))
	}
	check(t, w.Close())
	return out.Bytes()
}

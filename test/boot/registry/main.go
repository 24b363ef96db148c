// Command registry hands out the images of an OCI image layout, over TLS, to clients that show a
// certificate and have a token. It gives the token for a user and a password.
//
//	registry LAYOUT ADDRESS FOLDER USER
//
// FOLDER has tls.crt and tls.key, ca.crt of the clients, and the password. The last image of the
// layout that is called like the last part of a name is that image, whatever stands before.
package main

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: registry LAYOUT ADDRESS FOLDER USER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

type registry struct {
	layout, user, password, token string
	manifests                     map[string]descriptor // by the last part of a name
}

type descriptor struct {
	MediaType, Digest string
	Annotations       map[string]string
}

func run(layout, address, folder, user string) error {
	r := registry{
		layout: layout, user: user, token: rand.Text(), manifests: map[string]descriptor{},
	}
	var index struct{ Manifests []descriptor }
	text, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil {
		return err
	}
	for _, d := range index.Manifests {
		name := d.Annotations["org.opencontainers.image.ref.name"]
		name = name[strings.LastIndex(name, "/")+1:]
		name, _, _ = strings.Cut(name, ":")
		r.manifests[name] = d
	}
	password, err := os.ReadFile(filepath.Join(folder, "password"))
	if err != nil {
		return err
	}
	r.password = strings.TrimSpace(string(password))
	ca, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	server := http.Server{
		Addr: address, Handler: &r, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{
			ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
			MinVersion: tls.VersionTLS12,
		},
	}
	return server.ListenAndServeTLS(filepath.Join(folder, "tls.crt"),
		filepath.Join(folder, "tls.key"))
}

func (r *registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	user, password, _ := q.BasicAuth()
	parts := strings.Split(strings.TrimPrefix(q.URL.Path, "/v2/"), "/")
	status := http.StatusOK
	switch {
	case q.URL.Path == "/token" && q.Method == http.MethodPost: // as many do that know no OAuth
		status = http.StatusMethodNotAllowed
		w.WriteHeader(status)
	case q.URL.Path == "/token" && user == r.user && password == r.password:
		fmt.Fprintf(w, `{"token":%q}`, r.token)
	case q.URL.Path == "/token":
		status = http.StatusUnauthorized
		w.WriteHeader(status)
	case q.Header.Get("Authorization") != "Bearer "+r.token:
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+q.Host+`/token",service="test"`)
		status = http.StatusUnauthorized
		w.WriteHeader(status)
	case len(parts) >= 3:
		r.give(w, q, parts[len(parts)-3:])
	}
	log.Println(q.Method, q.URL, status)
}

// give hands out a manifest or another blob.
func (r *registry) give(w http.ResponseWriter, q *http.Request, parts []string) {
	digest, kind := parts[2], "application/octet-stream"
	if parts[1] == "manifests" {
		d := r.manifests[parts[0]]
		if !strings.HasPrefix(digest, "sha256:") {
			digest = d.Digest
		}
		kind = d.MediaType
		w.Header().Set("Docker-Content-Digest", digest)
	}
	w.Header().Set("Content-Type", kind)
	http.ServeFile(w, q, filepath.Join(r.layout, "blobs", "sha256",
		filepath.Base(strings.TrimPrefix(digest, "sha256:"))))
}

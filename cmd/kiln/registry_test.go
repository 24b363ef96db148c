package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"kiln.dev/kiln/test/loopback"
)

// registry starts a registry with every image, for amd64 and arm64, and puts its URL into
// $REGISTRY. The words of the file moved are images, such as etcd:3.6.11-0, whose tags stand for
// something else; those of the file gone are not there.
func registry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: registry")
	}
	words := func(file string) []string {
		data, _ := os.ReadFile(ts.MkAbs(file))
		return strings.Fields(string(data))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		image := strings.Replace(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/", ":", 1)
		if slices.Contains(words("gone"), image) {
			http.NotFound(w, r)
			return
		}
		platform := `{"platform": {"os": "linux", "architecture": %q}}`
		_, _ = fmt.Fprintf(w, `{"schemaVersion": 2, "image": %q, "moved": %t, "manifests": [`+
			platform+`, `+platform+`]}`, image, slices.Contains(words("moved"), image),
			"amd64", "arm64")
	}))
	ts.Defer(server.Close)
	ts.Setenv("REGISTRY", server.URL)
}

// imageRegistry starts a registry that has every image whose tag is asked for, for amd64 and arm64,
// and every program, whose content is its path on a line. Its URL is in $IMAGES, its host in
// $IMAGES_HOST.
func imageRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: images")
	}
	r := loopback.New()
	ts.Defer(r.Close)
	r.Make = true
	r.Answer = givePrograms
	ts.Setenv("IMAGES", r.URL)
	ts.Setenv("IMAGES_HOST", r.Host)
}

// givePrograms gives each program, whose content is its path on a line.
func givePrograms(w http.ResponseWriter, q *http.Request) bool {
	program := !strings.HasPrefix(q.URL.Path, "/v2/")
	if program {
		_, _ = w.Write([]byte(q.URL.Path + "\n"))
	}
	return program
}

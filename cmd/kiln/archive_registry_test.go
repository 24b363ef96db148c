package main

import (
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"kiln.dev/kiln/test/loopback"
)

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

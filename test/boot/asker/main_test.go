package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAsked: machines that are away are not asked, and whatever is no answer is lost.
func TestAsked(t *testing.T) {
	t.Parallel()
	serve := func(handle http.HandlerFunc) string {
		s := httptest.NewServer(handle)
		t.Cleanup(s.Close)
		return s.URL
	}
	good := serve(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "pod-1") })
	bad := serve(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusServiceUnavailable)
	})
	silent := serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	off := httptest.NewServer(nil)
	off.Close()
	for name, row := range map[string]struct {
		urls, away []string
		lost       bool
	}{
		"good":               {urls: []string{good}},
		"bad":                {urls: []string{good, bad}, lost: true},
		"silent":             {urls: []string{silent}, lost: true},
		"off":                {urls: []string{off.URL, good}, lost: true},
		"off, and not asked": {urls: []string{off.URL, good}, away: []string{off.URL}},
		"all away":           {urls: []string{good}, away: []string{good}, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			away := filepath.Join(t.TempDir(), "away")
			if err := os.WriteFile(away, []byte(strings.Join(row.away, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			a := newAsker(away, row.urls, 200*time.Millisecond)
			a.run(ctx, 20*time.Millisecond)
			r := a.report
			if r.Asked < 5 || r.Asked != r.Lost+r.By["pod-1"] || row.lost != (r.Lost > 0) {
				t.Errorf("%+v", r)
			}
		})
	}
}

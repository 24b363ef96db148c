package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var content = []byte(strings.Repeat("0123456789", 10))

// mirrorOf returns a mirror of one file, kubelet, with these lines of trouble, and what it prints.
func mirrorOf(t *testing.T, troubles ...string) (*mirror, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "files", "kubelet"), content)
	write(t, filepath.Join(dir, "trouble"), []byte(strings.Join(troubles, "\n")))
	m := newMirror(filepath.Join(dir, "files"), filepath.Join(dir, "trouble"))
	log := &bytes.Buffer{}
	m.log = log
	return m, log
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask asks a server for the file from a byte on. It returns the code, and what arrived before the
// connection ended or broke.
func ask(t *testing.T, m *mirror, from string) (code int, body []byte, broken bool) {
	t.Helper()
	server := httptest.NewServer(m)
	defer server.Close()
	request, err := http.NewRequest(http.MethodGet, server.URL+"/kubelet", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if from != "" {
		request.Header.Set("Range", "bytes="+from+"-")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err != nil
}

func TestNoTrouble(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "cut containerd 3", "sick runc 90"} {
		m, log := mirrorOf(t, line)
		code, body, broken := ask(t, m, "")
		if code != http.StatusOK || !bytes.Equal(body, content) || broken {
			t.Errorf("%q: %d, %d bytes, broken %v", line, code, len(body), broken)
		}
		if !regexp.MustCompile(`^\d+\.\d 127\.0\.0\.1 /kubelet ""\n$`).Match(log.Bytes()) {
			t.Errorf("%q: printed %q", line, log)
		}
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	m, log := mirrorOf(t)
	code, body, _ := ask(t, m, "95")
	if code != http.StatusPartialContent || !bytes.Equal(body, content[95:]) {
		t.Errorf("%d, %q", code, body)
	}
	if !strings.HasSuffix(log.String(), " /kubelet \"bytes=95-\"\n") {
		t.Errorf("printed %q", log)
	}
}

// A client of a registry asks whether it is one, and knows a manifest by its type.
func TestRegistry(t *testing.T) {
	t.Parallel()
	m, _ := mirrorOf(t)
	name := filepath.Join("v2", "coredns", "coredns", "manifests", "v1.14.2")
	write(t, filepath.Join(m.dir, name), []byte("{}"))
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v2/", http.NoBody))
	if answer.Code != http.StatusOK {
		t.Error(answer.Code)
	}
	answer = httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest(http.MethodHead, "/"+name, http.NoBody))
	want := "application/vnd.oci.image.manifest.v1+json"
	if got := answer.Header().Get("Content-Type"); answer.Code != http.StatusOK || got != want {
		t.Errorf("%d, %q", answer.Code, got)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	m, log := mirrorOf(t, "missing kubelet")
	if code, _, _ := ask(t, m, ""); code != http.StatusNotFound {
		t.Error(code)
	}
	met(t, log, "missing")
}

func TestChanged(t *testing.T) {
	t.Parallel()
	m, log := mirrorOf(t, "changed kubelet")
	code, body, _ := ask(t, m, "")
	if code != http.StatusOK || bytes.Equal(body, content) || !bytes.Equal(body[1:], content[1:]) {
		t.Errorf("%d, %q", code, body)
	}
	met(t, log, "changed")
}

func TestSick(t *testing.T) {
	t.Parallel()
	m, log := mirrorOf(t, "sick kubelet 1")
	if code, _, _ := ask(t, m, ""); code != http.StatusServiceUnavailable {
		t.Error(code)
	}
	met(t, log, "sick")
	time.Sleep(1100 * time.Millisecond)
	if code, _, _ := ask(t, m, ""); code != http.StatusOK {
		t.Error("it is sick for longer")
	}
	if n := strings.Count(log.String(), " sick\n"); n != 1 {
		t.Errorf("printed %q", log)
	}
}

// A connection breaks in the middle of what is left, twice for each client.
func TestCut(t *testing.T) {
	t.Parallel()
	m, log := mirrorOf(t, "cut kubelet 2")
	for _, step := range []struct {
		from   string
		want   []byte
		broken bool
	}{{"", content[:50], true}, {"50", content[50:75], true}, {"75", content[75:], false}} {
		_, body, broken := ask(t, m, step.from)
		if !bytes.Equal(body, step.want) || broken != step.broken {
			t.Errorf("from %q: %q, broken %v", step.from, body, broken)
		}
	}
	if n := strings.Count(log.String(), " cut\n"); n != 2 {
		t.Errorf("printed %q", log)
	}
	request := httptest.NewRequest(http.MethodGet, "/kubelet", http.NoBody)
	request.RemoteAddr = "10.10.0.21:1234"
	if got := m.troubleOf(request); got.kind != "cut" {
		t.Error("the connections of another client do not break")
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	m, log := mirrorOf(t, "slow kubelet 200")
	begun := time.Now()
	_, body, broken := ask(t, m, "")
	if !bytes.Equal(body, content) || broken {
		t.Errorf("%q, broken %v", body, broken)
	}
	if took := time.Since(begun); took < 400*time.Millisecond {
		t.Errorf("100 bytes arrived after %s", took)
	}
	met(t, log, "slow")
}

// met wants one line in the log, of a request that met this kind of trouble.
func met(t *testing.T, log *bytes.Buffer, kind string) {
	t.Helper()
	if !strings.HasSuffix(log.String(), " "+kind+"\n") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("printed %q, want one line with %s", log, kind)
	}
}

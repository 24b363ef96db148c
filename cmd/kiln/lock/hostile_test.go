package lock

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/render/images"
)

// TestStoredNotEchoed: a file of logins that cannot be read is named, and nothing of it is shown.
func TestStoredNotEchoed(t *testing.T) {
	r, host, l := registryServer(t)
	r.login = "wanted"
	for name, text := range map[string]string{
		"no user": fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host,
			base64.StdEncoding.EncodeToString([]byte("s3cr3t-token"))),
		"no base64": fmt.Sprintf(`{"auths": {%q: {"auth": "s3cr3t!!"}}}`, host),
		"no string": fmt.Sprintf(`{"auths": {%q: {"auth": 1, "password": "s3cr3t"}}}`, host),
		"no JSON":   `{"auths": s3cr3t}`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "auth.json")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			t.Setenv("REGISTRY_AUTH_FILE", file)
			_, _, err := l.Images(context.Background(),
				[]images.Image{image(host+"/a:1", true, "amd64")}, nil)
			require.ErrorContains(t, err, file)
			require.NotContains(t, err.Error(), "s3cr3t")
		})
	}
}

// TestSilentToken: a server of tokens that begins an answer and never ends it is waited for no
// longer than a registry.
func TestSilentToken(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/token" {
			w.Header().Set("WWW-Authenticate",
				`Bearer realm="`+server.URL+`/token",service="x",scope="repository:a:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("{"))
		w.(http.Flusher).Flush()
		<-end
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(end) })
	host := server.URL[len("http://"):]
	l := New(Options{Registries: map[string]string{host: server.URL}})
	l.registries.pause, l.registries.stall = time.Millisecond, 50*time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _, err := l.Images(ctx, []images.Image{image(host+"/a:1", true, "amd64")}, nil)
	require.NoError(t, ctx.Err())
	require.ErrorContains(t, err, "image "+host+"/a:1: ")
	require.ErrorContains(t, err, "the server gave no answer within 200ms")
}

// TestForgedLines: what a registry says stays in the line that names it.
func TestForgedLines(t *testing.T) {
	t.Parallel()
	r, host, l := registryServer(t)
	r.files["x/manifests/1"] = `{"schemaVersion": 2, "manifests": [
		{"platform": {"os": "linux", "architecture": "a\nkiln: all is well"}}]}`
	r.says["a/manifests/1"] = func(w http.ResponseWriter) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+r.url+`/v2/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
	r.says["token"] = func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"errors": [{"code": "X", "message": "no\nkiln: all is well"}]}`))
	}
	_, _, err := l.Images(context.Background(), []images.Image{
		image(host+"/x:1", true, "amd64"), image(host+"/a:1", true, "amd64"),
	}, nil)
	require.ErrorContains(t, err, "it has none for Linux")
	require.ErrorContains(t, err, "no kiln: all is well")
	require.NotContains(t, err.Error(), "\nkiln")
}

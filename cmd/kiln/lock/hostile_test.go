package lock

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/machine/images"
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
	l.registries.pause, l.registries.answer = time.Millisecond, 200*time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _, err := l.Images(ctx, []images.Image{image(host+"/a:1", true, "amd64")}, nil)
	require.NoError(t, ctx.Err())
	require.ErrorContains(t, err, "image "+host+"/a:1: ")
	require.ErrorContains(t, err, "no whole answer came within 200ms")
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

// TestOneDeadline: all requests for one image, and for one list of hashes, have one deadline in
// all. The error names the image, the URL, the host that was slow, and the time.
func TestOneDeadline(t *testing.T) {
	t.Parallel()
	const part = 60 * time.Millisecond
	drip := func(w http.ResponseWriter, q *http.Request) {
		for q.Context().Err() == nil {
			_, _ = w.Write([]byte("    "))
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}
	silent := func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }
	port := func(host string) string { return host[strings.LastIndex(host, ":"):] }
	challenge := func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+q.Host+`/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
	for _, row := range []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"silent", silent},
		{"leads to a silent server", func(w http.ResponseWriter, q *http.Request) {
			if strings.HasPrefix(q.Host, "localhost") {
				silent(w, q)
			} else {
				http.Redirect(w, q, "http://localhost"+port(q.Host), http.StatusFound)
			}
		}},
		{"slow failures", func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(2 * part)
			w.WriteHeader(http.StatusServiceUnavailable)
		}},
		{"drips", drip},
		{"cut off slowly", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			time.Sleep(2 * part)
		}},
		{"leads to itself slowly", func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(part)
			http.Redirect(w, q, q.URL.Path, http.StatusTemporaryRedirect)
		}},
		{"the token drips", func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/token" {
				drip(w, q)
			} else {
				challenge(w, q)
			}
		}},
		{"the token leads to itself slowly", func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/token" {
				time.Sleep(part)
				http.Redirect(w, q, q.URL.String(), http.StatusTemporaryRedirect)
			} else {
				challenge(w, q)
			}
		}},
		{"the configuration is silent", func(w http.ResponseWriter, q *http.Request) {
			if strings.Contains(q.URL.Path, "/blobs/") {
				<-q.Context().Done()
			} else {
				time.Sleep(part)
				_, _ = w.Write([]byte(single(arm)))
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(row.answer)
			t.Cleanup(server.CloseClientConnections)
			host := server.URL[len("http://"):]
			l := New(Options{Registries: map[string]string{
				host: server.URL, "x": "http://localhost" + port(host),
			}})
			l.registries.pause, l.registries.answer = time.Millisecond, 200*time.Millisecond
			start := time.Now()
			_, _, err := l.Images(context.Background(),
				[]images.Image{image(host+"/a:1", true, "amd64")}, nil)
			require.Less(t, time.Since(start), time.Second)
			require.ErrorContains(t, err, "image "+host+"/a:1: "+server.URL+"/v2/a/")
			if strings.HasPrefix(row.name, "leads to a ") {
				require.ErrorContains(t, err, ": leads to localhost"+port(host)+": no whole answer")
			}
			require.ErrorContains(t, err, ": no whole answer came within 200ms, "+
				"redirections, logins and attempts counted")
		})
	}
}

// TestFileDeadline: a file has one deadline in all, and its servers have another one until it
// begins to come, in all attempts.
func TestFileDeadline(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"silent", func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() },
			"no whole answer came within 200ms"},
		{"slow failures", func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(120 * time.Millisecond)
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "no whole answer came within 200ms"},
		{"drips", func(w http.ResponseWriter, q *http.Request) {
			for q.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 100))
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		}, "the file did not come within 400ms"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(row.answer)
			t.Cleanup(server.CloseClientConnections)
			c := newClient([]string{server.URL})
			c.pause, c.answer = time.Millisecond, 200*time.Millisecond
			c.whole = 2 * c.answer
			start := time.Now()
			_, _, err := c.hash(context.Background(), server.URL+"/kubelet", noFile)
			require.Less(t, time.Since(start), time.Second)
			require.ErrorContains(t, err, server.URL+"/kubelet: "+row.want+
				", redirections, logins and attempts counted")
		})
	}
}

// TestChallenge: a registry that says no place to log in at, or one that no password may be sent
// to, is asked once.
func TestChallenge(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, challenge, want string }{
		{"no realm", `Bearer service="x",scope="repository:a:pull"`, "says no realm"},
		{"an empty realm", `Bearer realm="",service="x"`, "says no realm"},
		{"no parameters", `Bearer`, "says no realm"},
		{"a path", `Bearer realm="/token"`, `unsupported scheme ""`},
		{"no URL", `Bearer realm="http://[::1"`, "failed to parse bearer realm"},
		{"no TLS", `Bearer realm="http://auth.example.com/token"`,
			`"http://auth.example.com/token" uses http but registry was contacted over https`},
		{"of the cloud", `Bearer realm="https://169.254.169.254/token"`, "blocked prefix"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewTLSServer(http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) {
					asked++
					w.Header().Set("WWW-Authenticate", row.challenge)
					w.WriteHeader(http.StatusUnauthorized)
				}))
			t.Cleanup(server.Close)
			l := New(Options{Registries: map[string]string{"registry.test": server.URL}})
			l.client.http.Transport = server.Client().Transport
			l.registries.pause = time.Millisecond
			_, _, err := l.Images(context.Background(),
				[]images.Image{image("registry.test/a:1", true, "amd64")}, nil)
			require.ErrorContains(t, err, "image registry.test/a:1: ")
			require.ErrorContains(t, err, server.URL[len("https://"):])
			require.ErrorContains(t, err, row.want)
			require.ErrorContains(t, err, "must name an https:// URL to log in at; tell who runs "+
				"the registry, or name a mirror with --registry")
			require.Equal(t, 1, asked)
		})
	}
}

// TestRetries: what may be otherwise a second later is asked again, and nothing else.
func TestRetries(t *testing.T) {
	t.Parallel()
	hijack := func(reply string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte(reply))
				_ = conn.Close()
			}
		}
	}
	token := func(reply func(w http.ResponseWriter)) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/token" {
				reply(w)
				return
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+q.Host+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
	text := func(s string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { _, _ = w.Write([]byte(s)) }
	}
	for _, row := range []struct {
		name   string
		answer http.HandlerFunc
		asked  int
	}{
		{"closes", hijack(""), tries},
		{"503", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, tries},
		{"the token server fails", token(func(w http.ResponseWriter) { w.WriteHeader(502) }),
			2 * tries},
		{"no HTTP", hijack("SSH-2.0-OpenSSH_9.9\r\n"), 1},
		{"403", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, 1},
		{"leads to nothing", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "://")
			w.WriteHeader(http.StatusFound)
		}, 1},
		{"the token is no JSON", token(text("<html>")), 2},
		{"there is no token", token(text("{}")), 2},
		{"the token server refuses", token(func(w http.ResponseWriter) { w.WriteHeader(403) }), 2},
		{"leads to itself", func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, q.URL.Path, http.StatusFound)
		}, maxRedirects},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, q *http.Request) {
					asked.Add(1)
					row.answer(w, q)
				}))
			t.Cleanup(server.Close)
			host := server.URL[len("http://"):]
			l := New(Options{Registries: map[string]string{host: server.URL}})
			l.registries.pause = time.Millisecond
			_, _, err := l.Images(context.Background(),
				[]images.Image{image(host+"/a:1", true, "amd64")}, nil)
			require.ErrorContains(t, err, "image "+host+"/a:1: ")
			require.EqualValues(t, row.asked, asked.Load(), err)
		})
	}
}

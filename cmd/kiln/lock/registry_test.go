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
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/images"
)

// registry is a registry of images. It may be hostile.
type registry struct {
	mu    sync.Mutex
	files map[string]string                    // by path below /v2/
	says  map[string]func(http.ResponseWriter) // what a path answers instead
	login string                               // the credential that it wants, in base64
	token string                               // that it wants instead, from its realm
	asked []string
	seen  []string // the Authorization of each request
	url   string
}

func (r *registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := strings.TrimPrefix(q.URL.Path, "/v2/")
	authorization := q.Header.Get("Authorization")
	r.asked, r.seen = append(r.asked, path), append(r.seen, authorization)
	answer, ok := r.says[path]
	switch {
	case ok:
		answer(w)
		return
	case r.login != "" && authorization != "Basic "+r.login:
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	case r.token != "" && path == "/token":
		_, _ = fmt.Fprintf(w, `{"token": %q}`, r.token+q.FormValue("scope"))
		return
	case r.token != "" && !strings.HasPrefix(authorization, "Bearer "+r.token+"repository:"):
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(
			`Bearer realm="%s/token",service="test",scope="repository:a:pull"`, r.url))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	text, ok := r.files[path]
	if !ok {
		http.NotFound(w, q)
		return
	}
	if !strings.Contains(q.Header.Get("Accept"), "application/vnd.oci.image.index.v1+json") &&
		!strings.HasPrefix(path, "/token") {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Docker-Content-Digest", "sha256:"+sum(text))
	_, _ = w.Write([]byte(text))
}

// The contents of the registry: a list for two architectures, and an image for one.
const (
	list = `{"schemaVersion": 2, "manifests": [
		{"platform": {"os": "linux", "architecture": "amd64"}},
		{"platform": {"os": "linux", "architecture": "arm64"}},
		{"platform": {"os": "windows", "architecture": "s390x"}},
		{"platform": {"os": "unknown", "architecture": "unknown"}}]}`
	arm = `{"os": "linux", "architecture": "arm64"}`
)

func single(blob string) string {
	return fmt.Sprintf(`{"schemaVersion": 2, "config": {"digest": "sha256:%s"}}`, sum(blob))
}

// registryServer returns a registry on this computer, its host, and a Locker.
func registryServer(t *testing.T) (*registry, string, *Locker) {
	t.Helper()
	r := &registry{says: map[string]func(http.ResponseWriter){}, files: map[string]string{
		"a/manifests/1": list, "b/c/manifests/latest": single(arm),
		"b/c/blobs/sha256:" + sum(arm): arm,
	}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	host := strings.TrimPrefix(server.URL, "http://")
	l := New(Options{Registries: map[string]string{host: server.URL}})
	l.registries.pause = time.Millisecond
	return r, host, l
}

func image(reference string, every bool, arches ...string) images.Image {
	return images.Image{User: "x", Reference: reference, Every: every, Arches: arches}
}

// TestImages: the lock has the digest of each image once, sorted, and what is locked or has a
// digest is not asked for.
func TestImages(t *testing.T) {
	t.Parallel()
	r, host, l := registryServer(t)
	pinned := host + "/d:1@sha256:" + strings.Repeat("1", 64)
	wanted := []images.Image{
		image(host+"/b/c", true, "arm64"),
		image(host+"/a:1", true, "amd64"), image(host+"/a:1", true, "arm64"),
		image(pinned, true, "amd64"),
	}
	got, notes, err := l.Images(context.Background(), wanted, nil)
	require.NoError(t, err)
	require.Empty(t, notes)
	want := []target.Image{
		{Name: host + "/a:1", Digest: "sha256:" + sum(list)},
		{Name: host + "/b/c", Digest: "sha256:" + sum(single(arm))},
	}
	require.Equal(t, want, got)

	r.asked = nil
	again, _, err := l.Images(context.Background(), wanted[1:], got)
	require.NoError(t, err)
	require.Equal(t, want[:1], again)
	require.Empty(t, r.asked)
}

// TestArchitectures: an image that a machine cannot run is refused where it must, and is named
// where an add-on may keep its pods from that machine.
func TestArchitectures(t *testing.T) {
	t.Parallel()
	r, host, l := registryServer(t)
	r.files["windows/manifests/1"] = `{"schemaVersion": 2, "manifests": []}`
	r.files["chart/manifests/1"] = single("{}")
	r.files["chart/blobs/sha256:"+sum("{}")] = "{}"
	_, notes, err := l.Images(context.Background(), []images.Image{
		image(host+"/b/c", false, "amd64", "arm64"), image(host+"/chart:1", true, "amd64"),
	}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"image " + host + "/b/c: has no build for amd64; keep its pods " +
		"from machines of that architecture (kubernetes.io/arch)"}, notes)
	_, _, err = l.Images(context.Background(), []images.Image{
		image(host+"/b/c", true, "amd64", "arm64"), image(host+"/windows:1", false, "amd64"),
	}, nil)
	require.EqualError(t, err, "image "+host+"/b/c: has no build for amd64, and machines of that "+
		"architecture run it; it has arm64\n"+
		"image "+host+"/windows:1: has no build for any machine of the cluster; it has none for "+
		"Linux")
}

// TestCheckImages: each way in which the images of a lock can differ is named, all in one run.
func TestCheckImages(t *testing.T) {
	t.Parallel()
	r, host, l := registryServer(t)
	wanted := []images.Image{
		image(host+"/a:1", true, "amd64"), image(host+"/b/c", true, "arm64"),
		image(host+"/gone:1", true, "amd64"), image(host+"/new:1", true, "amd64"),
		image(host+"/down:1", true, "amd64"),
	}
	r.says["down/manifests/1"] = func(w http.ResponseWriter) { w.WriteHeader(500) }
	old := "sha256:" + strings.Repeat("1", 64)
	locked := []target.Image{
		{Name: host + "/needless:1", Digest: old},
		{Name: host + "/a:1", Digest: old},
		{Name: host + "/b/c", Digest: "sha256:" + sum(single(arm))},
		{Name: host + "/gone:1", Digest: old}, {Name: host + "/down:1", Digest: old},
	}
	differences, err := l.CheckImages(context.Background(), wanted, locked)
	require.EqualError(t, err, "image "+host+"/down:1: "+r.url+"/v2/down/manifests/1: the server "+
		"says 500 Internal Server Error")
	require.Equal(t, []string{
		"image " + host + "/needless:1: no machine runs it; kiln lock removes it",
		"image " + host + "/a:1: the registry has sha256:" + sum(list) + " now, and the lock " +
			old + ": find out who moved the tag; without its entry, kiln lock asks anew",
		"image " + host + "/gone:1: " + r.url + "/v2/gone/manifests/1: the server says 404 Not " +
			"Found",
		"image " + host + "/new:1: missing; kiln lock adds it",
	}, differences)
}

// TestHostileRegistry: what a registry may not say, and what then is said.
func TestHostileRegistry(t *testing.T) {
	t.Parallel()
	text := func(s string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { _, _ = w.Write([]byte(s)) }
	}
	status := func(code int, header, value string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set(header, value)
			w.WriteHeader(code)
		}
	}
	for _, row := range []struct {
		name   string
		answer func(http.ResponseWriter)
		asked  int // how often
		want   string
	}{
		{"another digest", func(w http.ResponseWriter) {
			w.Header().Set("Docker-Content-Digest", "sha256:"+sum("another"))
			_, _ = w.Write([]byte(list))
		}, 1, "the registry says the digest sha256:" + sum("another") + " and sends what has " +
			"sha256:" + sum(list)},
		{"too long", text(strings.Repeat(" ", MaxManifest+1)), 1,
			"has more than 4194304 bytes"},
		{"more objects than memory", text(`{"schemaVersion": 2, "manifests": [{}` +
			strings.Repeat(",{}", MaxManifest/4) + `]}`), 1,
			"is a manifest of more than 50000 objects"},
		{"no JSON", text("<html>log in first</html>"), 1, "is no manifest"},
		{"an old manifest", text(`{"schemaVersion": 1}`), 1,
			"is a manifest of a schema that containerd does not read"},
		{"neither", text(`{"schemaVersion": 2}`), 1, "is neither an image nor a list of images"},
		{"another algorithm", text(`{"schemaVersion": 2, "config": {"digest": "md5:1"}}`), 1,
			"names a configuration without a SHA-256"},
		{"a path as a digest", text(`{"schemaVersion": 2, "config": {"digest": "../../x"}}`), 1,
			"names a configuration without a SHA-256"},
		{"no such tag", status(404, "X", ""), 1, "the server says 404 Not Found"},
		{"too many requests", status(429, "Retry-After", "1"), tries,
			"the server says 429 Too Many Requests; try again later, log in, or name a mirror"},
		{"no way to log in", status(401, "X", ""), 1, "it wants a login: podman login"},
		{"a login, and there is none", status(401, "WWW-Authenticate", `Basic realm="x"`), 1,
			"it wants a login: podman login"},
		{"a realm of the cloud", status(401, "WWW-Authenticate",
			`Bearer realm="http://169.254.169.254/latest",service="x"`), 1, "blocked prefix"},
		{"a realm that is a file", status(401, "WWW-Authenticate",
			`Bearer realm="file:///etc/passwd",service="x"`), 1, "unsupported scheme"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, host, l := registryServer(t)
			r.says["a/manifests/1"] = row.answer
			_, _, err := l.Images(context.Background(),
				[]images.Image{image(host+"/a:1", true, "amd64")}, nil)
			require.ErrorContains(t, err, row.want)
			require.ErrorContains(t, err, "image "+host+"/a:1: ")
			require.LessOrEqual(t, len(r.asked), row.asked)
		})
	}
}

// TestConfigurationReplaced: the configuration of an image has the digest that its manifest names.
func TestConfigurationReplaced(t *testing.T) {
	t.Parallel()
	r, host, l := registryServer(t)
	r.files["b/c/blobs/sha256:"+sum(arm)] = `{"os": "linux", "architecture": "amd64"}`
	_, _, err := l.Images(context.Background(),
		[]images.Image{image(host+"/b/c", true, "amd64")}, nil)
	require.ErrorContains(t, err, "/v2/b/c/blobs/sha256:"+sum(arm)+": has another digest")
}

// TestNotPlain: a registry that is asked over TLS leads nobody to http, neither for the manifest
// nor for the token.
func TestNotPlain(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("asked without TLS")
	}))
	t.Cleanup(plain.Close)
	for _, row := range []struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		{func(w http.ResponseWriter) {
			w.Header().Set("Location", plain.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "leads from https to http, which is refused"},
		{func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+plain.URL+`",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, "uses http but registry was contacted over https"},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { row.answer(w) }))
		t.Cleanup(server.Close)
		l := New(Options{Registries: map[string]string{"registry.test": server.URL}})
		l.client.http.Transport = server.Client().Transport
		l.registries.pause = time.Millisecond
		_, _, err := l.Images(context.Background(),
			[]images.Image{image("registry.test/a:1", true, "amd64")}, nil)
		require.ErrorContains(t, err, row.want)
	}
}

// TestLogin: credentials come from the first file that has some, go to their registry alone, and a
// token is asked for where the registry says.
func TestLogin(t *testing.T) {
	r, host, _ := registryServer(t)
	r.login = base64.StdEncoding.EncodeToString([]byte("me:secret"))
	other, otherHost, _ := registryServer(t)
	other.token = "T-"
	l := New(Options{Registries: map[string]string{host: r.url, otherHost: other.url}})
	dir := t.TempDir()
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "HOME"} {
		t.Setenv(name, filepath.Join(dir, name))
	}
	t.Setenv("REGISTRY_AUTH_FILE", "")
	t.Setenv("DOCKER_CONFIG", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(fmt.Sprintf(
		`{"credsStore": "desktop", "auths": {%q: {"auth": %q}}}`, host, r.login)), 0o600))
	got, _, err := l.Images(context.Background(), []images.Image{
		image(host+"/a:1", true, "amd64"), image(otherHost+"/a:1", true, "amd64"),
	}, nil)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Contains(t, r.seen, "Basic "+r.login)
	require.Contains(t, other.seen, "Bearer T-repository:a:pull")
	for _, seen := range other.seen {
		require.NotContains(t, seen, "Basic")
	}
}

// TestRepository: where an image is asked for.
func TestRepository(t *testing.T) {
	t.Parallel()
	l := New(Options{Registries: map[string]string{
		"mirrored.test": "https://mirror.test", "quay.io": "https://mirror.test/v2/quay",
	}})
	for name, want := range map[string]string{
		"registry.k8s.io/pause:3.10":       "https://registry.k8s.io/v2/pause",
		"nginx":                            "https://registry-1.docker.io/v2/library/nginx",
		"docker.io/team/app:1":             "https://registry-1.docker.io/v2/team/app",
		"localhost:5000/a:1":               "http://localhost:5000/v2/a",
		"127.0.0.1:5000/a":                 "http://127.0.0.1:5000/v2/a",
		"[::1]:5000/a":                     "http://[::1]:5000/v2/a",
		"localhost.example.com/a":          "https://localhost.example.com/v2/a",
		"mirrored.test/b/a":                "https://mirror.test/v2/b/a",
		"quay.io/cilium/cilium:v1":         "https://mirror.test/v2/quay/cilium/cilium",
		"registry.example.com:5000/a/b:v1": "https://registry.example.com:5000/v2/a/b",
	} {
		require.Equal(t, want, l.registries.repository(name), name)
	}
}

// TestParseRegistries: a mirror whose word decides what machines run is asked over TLS.
func TestParseRegistries(t *testing.T) {
	t.Parallel()
	instead, err := ParseRegistries([]string{
		"docker.io=https://mirror.test/v2/hub", "quay.io=http://127.0.0.1:5000",
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"docker.io": "https://mirror.test/v2/hub", "quay.io": "http://127.0.0.1:5000",
	}, instead)
	for _, text := range []string{
		"", "docker.io", "=https://m.test", "docker.io=", "docker.io=mirror.test",
		"docker.io=http://mirror.test", "docker.io=https://me:secret@mirror.test",
		"docker.io=https://mirror.test?x", "https://docker.io=https://mirror.test",
	} {
		_, err := ParseRegistries([]string{text})
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err = ParseRegistries([]string{"a.test=https://b.test", "a.test=https://c.test"})
	require.EqualError(t, err, `"a.test" has two URLs; give one`)
}

package lock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// projects is a server with what the projects publish.
type projects struct {
	mu    sync.Mutex
	files map[string]string // by path
	fails map[string]int    // how often a path answers 503 first
	asked []string
}

func (p *projects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.URL.Path)
	if p.fails[r.URL.Path] > 0 {
		p.fails[r.URL.Path]--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	text, ok := p.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(text))
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

const (
	kubelet = "/release/v1.36.9/bin/linux/arm64/kubelet"
	archive = "/containerd/containerd/releases/download/v2.3.9/" +
		"containerd-2.3.9-linux-amd64.tar.gz"
	runc = "/opencontainers/runc/releases/download/v1.9.0/runc.amd64"
)

// serve returns a server with three files, and a Locker that asks it.
func serve(t *testing.T) (*projects, *Locker) {
	t.Helper()
	p := &projects{fails: map[string]int{}, files: map[string]string{
		kubelet: "a kubelet", kubelet + ".sha256": sum("a kubelet"),
		archive:                "an archive",
		archive + ".sha256sum": sum("an archive") + "  containerd-2.3.9-linux-amd64.tar.gz\n",
		runc:                   "a runc",
		"/opencontainers/runc/releases/download/v1.9.0/runc.sha256sum": sum("another") +
			" *runc.arm64\n" + sum("a runc") + " *runc.amd64\n",
	}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	l := New(Options{Mirror: server.URL, TrustMirror: true})
	l.client.pause = time.Millisecond
	return p, l
}

var wanted = []target.Artifact{
	{Name: "kubelet", Version: "v1.36.9", Arch: "arm64"},
	{Name: "containerd", Version: "v2.3.9", Arch: "amd64"},
	{Name: "runc", Version: "v1.9.0", Arch: "amd64"},
}

// TestMake: the lock has what the projects publish, in each of their three kinds of lists, with the
// projects' own URLs.
func TestMake(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	p.fails[runc] = 1
	got, err := l.Make(context.Background(), wanted, nil)
	require.NoError(t, err)
	require.Equal(t, []target.Artifact{
		{
			Name: "kubelet", Version: "v1.36.9", Arch: "arm64", URL: "https://dl.k8s.io" + kubelet,
			SHA256: sum("a kubelet"), Size: 9,
		}, {
			Name: "containerd", Version: "v2.3.9", Arch: "amd64",
			URL: "https://github.com" + archive, SHA256: sum("an archive"), Size: 10,
		}, {
			Name: "runc", Version: "v1.9.0", Arch: "amd64", URL: "https://github.com" + runc,
			SHA256: sum("a runc"), Size: 6,
		},
	}, got)

	p.asked = nil
	again, err := l.Make(context.Background(), wanted[1:], got)
	require.NoError(t, err)
	require.Equal(t, got[1:], again)
	require.Empty(t, p.asked, "what is locked is not fetched")
}

// TestMakeRefuses: a file that is not what was published is not locked, and all that is wrong is
// said.
func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	p.files[kubelet] = "another kubelet"
	p.files[archive+".sha256sum"] = "<html>log in first</html>"
	delete(p.files, runc)
	_, err := l.Make(context.Background(), wanted, nil)
	require.Error(t, err)
	for _, want := range []string{
		"kubelet v1.36.9 for arm64: " + l.Mirror + kubelet + " has another SHA-256, and " +
			l.Mirror + kubelet + ".sha256 says " + sum("a kubelet"),
		"containerd v2.3.9 for amd64: " + l.Mirror + archive + ".sha256sum: has no SHA-256 of " +
			"containerd-2.3.9-linux-amd64.tar.gz",
		"runc v1.9.0 for amd64: " + l.Mirror + runc + ": the server says 404 Not Found",
	} {
		require.ErrorContains(t, err, want)
	}
}

// TestMakeKnowsItsTable: a file that was replaced together with its published SHA-256 is found by
// kiln's own table.
func TestMakeKnowsItsTable(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	path := strings.ReplaceAll(runc, "v1.9.0", "v1.5.1")
	p.files[path] = "replaced"
	p.files["/opencontainers/runc/releases/download/v1.5.1/runc.sha256sum"] =
		sum("replaced") + " *runc.amd64\n"
	_, err := l.Make(context.Background(),
		[]target.Artifact{{Name: "runc", Version: "v1.5.1", Arch: "amd64"}}, nil)
	require.ErrorContains(t, err, "the table of kiln says 177df879d50c913eb205e898d5c1c05a18f57405")
}

// TestCheck: each way in which a lock can differ is named.
func TestCheck(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	locked, err := l.Make(context.Background(), wanted, nil)
	require.NoError(t, err)
	differences, err := l.Check(context.Background(), wanted, locked)
	require.NoError(t, err)
	require.Empty(t, differences)

	p.files[kubelet] = "another kubelet"
	locked[1].Size = 11
	more := append(wanted[:2:2], target.Artifact{Name: "runc", Version: "v1.9.1", Arch: "amd64"})
	differences, err = l.Check(context.Background(), more, locked)
	require.NoError(t, err)
	require.Equal(t, []string{
		"runc v1.9.0 for amd64: no machine fetches it; kiln lock removes it",
		"kubelet v1.36.9 for arm64: " + l.Mirror + kubelet + " has another SHA-256, and the " +
			"lock " + sum("a kubelet") + ": find out who changed it",
		"containerd v2.3.9 for amd64: " + l.Mirror + archive +
			" has 10 bytes, and the lock 11: correct its size",
		"runc v1.9.1 for amd64: missing; kiln lock adds it",
	}, differences)
}

// TestCheckOfServers: a file that is gone is a difference, and a server that fails is not.
func TestCheckOfServers(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	locked, err := l.Make(context.Background(), wanted, nil)
	require.NoError(t, err)
	delete(p.files, runc)
	p.fails[kubelet] = tries
	differences, err := l.Check(context.Background(), wanted, locked)
	require.ErrorContains(t, err, "kubelet v1.36.9 for arm64: "+l.Mirror+kubelet+
		": the server says 503 Service Unavailable")
	require.Equal(t, []string{
		"runc v1.9.0 for amd64: " + l.Mirror + runc + ": the server says 404 Not Found",
	}, differences)
}

// TestTrust: a mirror serves files, and says nothing of what they should be.
func TestTrust(t *testing.T) {
	t.Parallel()
	l := New(Options{Mirror: "https://mirror.example.com"})
	var asked []string
	ctx, cancel := context.WithCancel(context.Background())
	l.client.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		cancel()
		return nil, context.Canceled
	})
	_, err := l.Make(ctx, wanted[:1], nil)
	require.ErrorIs(t, err, errInterrupted)
	require.Equal(t, []string{"https://dl.k8s.io" + kubelet + ".sha256"}, asked)
}

// transport is a function that answers requests.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRedirects: nobody leads from https to http, to a file, or in a circle.
func TestRedirects(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for _, row := range []struct{ to, want string }{
		{plain.URL, "leads from https to http, which is refused"},
		{"file:///etc/passwd", "leads from https to file, which is refused"},
		{"/again", "leads on more than 5 times"},
	} {
		asked := 0
		redirect := func(w http.ResponseWriter, r *http.Request) {
			asked++
			http.Redirect(w, r, row.to, http.StatusFound)
		}
		server := httptest.NewTLSServer(http.HandlerFunc(redirect))
		t.Cleanup(server.Close)
		c := newClient(nil)
		c.pause = time.Millisecond
		c.http.Transport = server.Client().Transport
		_, _, err := c.hash(context.Background(), server.URL, noFile)
		require.ErrorContains(t, err, row.want)
		require.LessOrEqual(t, asked, maxRedirects, "no second attempt")
	}
}

// TestStalled: a server that stops in the middle of a file is asked again, and then given up.
func TestStalled(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, tries+1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("a part"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	c := newClient([]string{server.URL})
	c.pause, c.stall = time.Millisecond, 50*time.Millisecond
	_, _, err := c.hash(context.Background(), server.URL, noFile)
	require.ErrorContains(t, err, server.URL+": the server sent ")
	require.ErrorContains(t, err, " bytes in 50ms, and at least 50 are wanted")
	require.Len(t, asked, tries)
}

// TestTooLong: a file that has no end is given up.
func TestTooLong(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	_, err := newClient([]string{server.URL}).published(context.Background(), server.URL, "kubelet")
	require.EqualError(t, err,
		server.URL+": has more than 1048576 bytes, the most that it may have")
}

// TestInterrupted: an interrupted run does not try again.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := l.Make(ctx, wanted, nil)
	require.ErrorIs(t, err, errInterrupted)
	_, err = l.Check(ctx, wanted, []target.Artifact{
		{Name: "kubelet", Version: "v1.36.9", Arch: "arm64", URL: l.Mirror + kubelet},
	})
	require.ErrorIs(t, err, errInterrupted)
	require.Empty(t, p.asked)
}

// TestSave: the folder has every file below the path of its URL, those that were locked before too,
// and the lock.
func TestSave(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	p.fails[runc] = 1
	old, err := l.Make(context.Background(), wanted[:1], nil)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "mirror")
	got, err := l.Save(context.Background(), dir, wanted, old)
	require.NoError(t, err)
	for path, want := range map[string]string{
		kubelet: "a kubelet", archive: "an archive", runc: "a runc",
	} {
		content, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		require.Equal(t, want, string(content))
	}
	kept, err := images.ReadMirror(os.DirFS(dir))
	require.NoError(t, err)
	require.Equal(t, got, kept)
	_, err = l.Save(context.Background(), dir, wanted, nil)
	require.ErrorContains(t, err, "name a new folder")
}

// TestSaveRefuses: what is not the file of the lock is not kept, and no folder is left.
func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	const other = "https://builds.example.com"
	at := func(path string) func(*projects, []target.Artifact) {
		return func(_ *projects, old []target.Artifact) { old[0].URL = other + path }
	}
	for name, change := range map[string]func(p *projects, old []target.Artifact){
		"another file":  func(p *projects, _ []target.Artifact) { p.files[kubelet] = "another" },
		"no file":       func(p *projects, _ []target.Artifact) { delete(p.files, kubelet) },
		"a parent":      at("/../x"),
		"no path":       at("/"),
		"the lock":      at("/kiln.lock.yaml"),
		"the same path": at(archive),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, l := serve(t)
			old, err := l.Make(context.Background(), wanted, nil)
			require.NoError(t, err)
			change(p, old)
			dir := filepath.Join(t.TempDir(), "mirror")
			_, err = l.Save(context.Background(), dir, wanted, old)
			require.Error(t, err)
			_, err = os.Stat(dir)
			require.ErrorIs(t, err, os.ErrNotExist)
			entries, err := os.ReadDir(filepath.Dir(dir))
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

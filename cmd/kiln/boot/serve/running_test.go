package serve_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/render"
)

// write writes files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// renderedFolder returns a rendered folder with these documents, and other files beside them.
func renderedFolder(t *testing.T, entries []render.Entry, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for i := range entries {
		e := &entries[i]
		sum := sha256.Sum256([]byte(files[e.Document]))
		e.SHA256, e.Bytes = hex.EncodeToString(sum[:]), len(files[e.Document])
	}
	text, err := json.Marshal(render.Inventory{
		Kind: "Inventory", Name: "prod", Cluster: "11111111-2222-4333-8444-555555555555",
		Documents: entries,
	})
	require.NoError(t, err)
	write(t, dir, files)
	write(t, dir, map[string]string{
		"inventory.json": string(text), "admin.conf": "secret of an administrator",
	})
	return dir
}

// example returns a folder of three machines and a pool.
func example(t *testing.T) string {
	return renderedFolder(t, []render.Entry{
		{
			Node: "cp-1", Document: "cp-1/config.ign", MAC: "52:54:00:12:34:56",
			UUID: "8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5",
		},
		{Node: "cp-2", Document: "cp-2/config.ign", MAC: "52:54:00:12:34:57"},
		{
			Node: "worker-1", Document: "worker-1/user-data",
			Others: []string{"worker-1/meta-data", "worker-1/network-config"},
		},
		{
			Node: "small", Pool: true, Document: "pools/small/user-data",
			Others: []string{"pools/small/meta-data"},
		},
	}, map[string]string{
		"cp-1/config.ign": `{"one":1}`, "cp-2/config.ign": `{"two":2}`,
		"worker-1/user-data": "#cloud-config\n", "worker-1/meta-data": "instance-id: w\n",
		"worker-1/network-config": "version: 2\n", "pools/small/user-data": "#cloud-config\n{}\n",
		"pools/small/meta-data": "instance-id: s\n",
		"boot.ipxe":             "#!ipxe\n", "ipxe/mac-52-54-00-12-34-56.ipxe": "#!ipxe\nboot\n",
		"initrd/cp-1.cpio.gz": initrd(`{"one":1}`), "initrd/other.cpio.gz": "another",
		"initrd/pools/small.cpio.gz": initrd("#cloud-config\n{}\n"),
		"initrd/small.cpio.gz":       "of no machine",
	})
}

// initrd returns a compressed archive with a document.
func initrd(document string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte("head" + document + "end"))
	_ = w.Close()
	return b.String()
}

// running is a server on loopback.
type running struct {
	*serve.Server
	url, address string
	log          *lines
	warnings     lines
	stop         func() error
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs a server of the folder until the test ends.
func start(t *testing.T, dir string, change func(*serve.Options)) *running {
	t.Helper()
	return startAll(t, []string{dir}, change)
}

// startAll is start for several folders.
func startAll(t *testing.T, dirs []string, change func(*serve.Options)) *running {
	t.Helper()
	return startServer(t, dirs, change, nil)
}

// startChanged is start for a server that a function changes.
func startChanged(t *testing.T, dir string, change func(*serve.Options),
	server func(*serve.Server),
) *running {
	t.Helper()
	return startServer(t, []string{dir}, change, server)
}

func startServer(t *testing.T, dirs []string, change func(*serve.Options),
	server func(*serve.Server),
) *running {
	t.Helper()
	r := &running{log: &lines{}}
	state := filepath.Join(dirs[0], "served.json")
	o := serve.Options{State: state, Peers: peers(t, "any"), PoolLimit: 10, Window: time.Hour}
	o.Warn = func(line string) { _, _ = r.warnings.Write([]byte(line + "\n")) }
	if change != nil {
		change(&o)
	}
	var err error
	r.Server, err = serve.New(dirs, o)
	require.NoError(t, err)
	if server != nil {
		server(r.Server)
	}
	require.NoError(t, r.Begin(r.log))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r.address = l.Addr().String()
	r.url = "http://" + r.address
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, l) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// dial opens a connection from an address.
func (r *running) dial(t *testing.T, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.Dial("tcp", r.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask opens a connection from an address, and asks for a path.
func (r *running) ask(t *testing.T, from, path string) net.Conn {
	t.Helper()
	conn := r.dial(t, from)
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	require.NoError(t, err)
	return conn
}

// works reports whether the server answers on a connection, which stays open.
func works(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, err := fmt.Fprint(conn, "GET /boot.ipxe HTTP/1.1\r\nHost: x\r\n\r\n")
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 15))
	}
	return err == nil
}

// get returns the status and the body of the answer to a path.
func (r *running) get(t *testing.T, path string) (int, string) {
	t.Helper()
	answer, err := http.Get(r.url + path)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	if answer.StatusCode == http.StatusNotFound {
		require.Equal(t, "404 page not found\n", string(body))
	}
	return answer.StatusCode, string(body)
}

func (r *running) requireGiven(t *testing.T, path, want string) {
	t.Helper()
	status, body := r.get(t, path)
	require.Equal(t, http.StatusOK, status, path)
	require.Equal(t, want, body, path)
}

// requireGivenSoon waits until a path gives what it should: a document counts as given a moment
// after its last byte has been sent.
func (r *running) requireGivenSoon(t *testing.T, path, want string) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, body := r.get(t, path)
		return status == http.StatusOK && body == want
	}, 5*time.Second, 5*time.Millisecond, path)
}

func (r *running) requireRefused(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		status, _ := r.get(t, path)
		require.Equal(t, http.StatusNotFound, status, path)
	}
}

// requireLogged waits for a line of the log with all these fields: a line comes after the answer.
func (r *running) requireLogged(t *testing.T, fields map[string]any) {
	t.Helper()
	require.Eventually(t, func() bool {
		for line := range strings.Lines(r.log.String()) {
			var got map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &got), line)
			same := got["time"] != nil
			for name, want := range fields {
				same = same && got[name] == want
			}
			if same {
				return true
			}
		}
		return false
	}, 5*time.Second, 5*time.Millisecond, "%v in\n%s", fields, r.log)
}

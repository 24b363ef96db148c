package serve_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/cmd/kiln/serve"
	"kiln/pki"
	"kiln/render"
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

// folder is a rendered folder with these documents, and files beside them.
func folder(t *testing.T, entries []render.Entry, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for i := range entries {
		e := &entries[i]
		sum := sha256.Sum256([]byte(files[e.Document]))
		e.SHA256, e.Bytes = hex.EncodeToString(sum[:]), len(files[e.Document])
	}
	text, err := json.Marshal(render.Inventory{Name: "prod", Cluster: "11111111-2222-4333-8444-555555555555", Documents: entries})
	require.NoError(t, err)
	write(t, dir, files)
	write(t, dir, map[string]string{"inventory.json": string(text), "admin.conf": "secret of an administrator"})
	return dir
}

// example is a folder of three machines and a pool.
func example(t *testing.T) string {
	return folder(t, []render.Entry{
		{Node: "cp-1", Document: "cp-1/config.ign", MAC: "52:54:00:12:34:56", UUID: "8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5"},
		{Node: "cp-2", Document: "cp-2/config.ign", MAC: "52:54:00:12:34:57"},
		{Node: "worker-1", Document: "worker-1/user-data", Others: []string{"worker-1/meta-data", "worker-1/network-config"}},
		{Node: "small", Pool: true, Document: "pools/small/user-data", Others: []string{"pools/small/meta-data"}},
	}, map[string]string{
		"cp-1/config.ign": `{"one":1}`, "cp-2/config.ign": `{"two":2}`, "worker-1/user-data": "#cloud-config\n", "worker-1/meta-data": "instance-id: w\n",
		"worker-1/network-config": "version: 2\n", "pools/small/user-data": "#cloud-config\n{}\n", "pools/small/meta-data": "instance-id: s\n",
		"boot.ipxe": "#!ipxe\n", "ipxe/mac-52-54-00-12-34-56.ipxe": "#!ipxe\nboot\n", "initrd/cp-1.cpio.gz": initrd(`{"one":1}`), "initrd/other.cpio.gz": "another",
		"initrd/pools/small.cpio.gz": initrd("#cloud-config\n{}\n"), "initrd/small.cpio.gz": "of no machine",
	})
}

// initrd is a compressed archive with a document.
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

// lines is a log that may be read while it is written.
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
	r := &running{log: &lines{}}
	state := filepath.Join(dir, "served.json")
	o := serve.Options{State: state, Peers: peers(t, "any"), PoolLimit: 10, Window: time.Hour}
	o.Warn = func(line string) { _, _ = r.warnings.Write([]byte(line + "\n")) }
	if change != nil {
		change(&o)
	}
	var err error
	r.Server, err = serve.New([]string{dir}, o)
	require.NoError(t, err)
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

// get returns status and body of what lies at a path.
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

func (r *running) requireRefused(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		status, _ := r.get(t, path)
		require.Equal(t, http.StatusNotFound, status, path)
	}
}

// requireLogged waits for a line of the log with all these fields. Lines come after answers.
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

// TestOnce: a machine gets its document once, and the log tells of both requests.
func TestOnce(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
	r.requireRefused(t, "/cp-1/config.ign")
	r.requireLogged(t, map[string]any{"event": "request", "node": "cp-1", "document": "cp-1/config.ign", "decision": "served", "status": 200.0, "bytes": 9.0})
	r.requireLogged(t, map[string]any{"node": "cp-1", "decision": "refused", "status": 404.0})
	require.Contains(t, r.log.String(), "fetched before, at ")
	require.NotContains(t, r.log.String(), "one\":1", "the log has no document")
	require.Equal(t, []string{"cp-2", "small", "worker-1"}, r.Left())
	r.requireGiven(t, "/initrd/cp-1.cpio.gz", initrd(`{"one":1}`))
	r.requireRefused(t, "/initrd/cp-1.cpio.gz")
}

// TestOptions: a question about the server itself is refused and logged as every other one is.
func TestOptions(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	conn, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprint(conn, "OPTIONS * HTTP/1.1\r\nHost: boot\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 404 Not Found\r\n"), "%s", answer)
	r.requireLogged(t, map[string]any{"method": "OPTIONS", "path": "*", "decision": "refused", "status": 404.0})
}

// TestStrangers: what a request says of its machine has to be true, in whatever form.
func TestStrangers(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	r.requireRefused(t,
		"/cp-1/config.ign?mac=52:54:00:12:34:57", // of cp-2
		"/cp-1/config.ign?mac=02:00:00:00:00:01", "/cp-1/config.ign?mac=none", "/cp-1/config.ign?uuid=0",
		"/cp-1/config.ign?mac=52:54:00:12:34:56&mac=02:00:00:00:00:01",
		"/worker-1/user-data?mac=52:54:00:12:34:57", "/mac/02:00:00:00:00:01/config.ign", "/mac//config.ign", "/uuid/8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5/user-data")
	r.requireLogged(t, map[string]any{"node": "cp-1", "decision": "refused", "reason": "its mac is that of another machine"})
	r.requireLogged(t, map[string]any{"node": "cp-1", "decision": "refused", "reason": "its uuid is not that of the machine"})
	r.requireGiven(t, "/cp-1/config.ign?mac=52-54-00-12-34-56&uuid=8F0C1D2E-3B4A-4C5D-9E6F-708192A3B4C5", `{"one":1}`)
	r.requireGiven(t, "/mac/52-54-00-12-34-57/config.ign", `{"two":2}`)
	r.requireRefused(t, "/cp-2/config.ign")
	r.requireGiven(t, "/worker-1/user-data?mac=02:00:00:00:00:01", "#cloud-config\n") // nobody knows what it has
}

// TestNothingElse: everything that is not a machine's is not there.
func TestNothingElse(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	r.requireRefused(t, "/", "/admin.conf", "/inventory.json", "/served.json", "/cp-1", "/cp-1/", "/cp-1/user-data", "/cp-1/vendor-data", "//cp-1/config.ign",
		"/cp-1/../admin.conf", "/cp-1/%2e%2e/admin.conf", "/initrd/other.cpio.gz", "/ipxe/", "/ipxe/other.ipxe", "/worker-2/user-data")
	for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodDelete} {
		request, err := http.NewRequestWithContext(t.Context(), method, r.url+"/cp-1/config.ign", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusNotFound, answer.StatusCode, method)
	}
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
}

// TestSeed: cloud-init reads what belongs to a document in its own order, some of it more than once, and finds everything that it asks for.
func TestSeed(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	for range 2 {
		r.requireGiven(t, "/worker-1/network-config", "version: 2\n")
		r.requireGiven(t, "/worker-1/meta-data", "instance-id: w\n")
	}
	r.requireGiven(t, "/worker-1/user-data", "#cloud-config\n")
	r.requireGiven(t, "/worker-1/vendor-data", "")
	r.requireGiven(t, "/worker-1/meta-data", "instance-id: w\n")
	r.requireRefused(t, "/worker-1/user-data", "/worker-1/network-config")
	for range 2 {
		r.requireGiven(t, "/boot.ipxe", "#!ipxe\n")
		r.requireGiven(t, "/ipxe/mac-52-54-00-12-34-56.ipxe", "#!ipxe\nboot\n")
	}
}

// TestImages: kernels and initrds may be larger than any document, are given to everybody and as often as asked for.
func TestImages(t *testing.T) {
	t.Parallel()
	dir := example(t)
	write(t, dir, map[string]string{"images/flatcar/kernel": "a kernel", "images/kernel": "another"})
	const size = 200 << 20
	require.NoError(t, os.Truncate(filepath.Join(dir, "images/flatcar/kernel"), size))
	r := start(t, dir, nil)
	for range 2 {
		resp, err := http.Get(r.url + "/images/flatcar/kernel")
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.EqualValues(t, size, n)
	}
	r.requireRefused(t, "/images/kernel", "/images/flatcar", "/images/flatcar/")
}

// TestBody: what a machine fetches beside its document is where its URL says, wherever the server is, and once.
func TestBody(t *testing.T) {
	t.Parallel()
	body := []byte("#!/bin/sh\n")
	sum := sha512.Sum512(body)
	hash := hex.EncodeToString(sum[:])
	entries := []render.Entry{{Node: "cp-1", Document: "cp-1/user-data", Body: &render.Body{Document: "cp-1/body.sh", SHA512: hash, URL: "https://boot.example.com/kiln/cp-1/" + hash}}}
	dir := folder(t, entries, map[string]string{"cp-1/user-data": "#cloud-config\n", "cp-1/body.sh": string(body)})
	for _, path := range []string{"/kiln/cp-1/" + hash, "/cp-1/" + hash, "/cp-1/body.sh"} {
		r := start(t, dir, func(o *serve.Options) { o.State = filepath.Join(t.TempDir(), "state") })
		r.requireGiven(t, "/cp-1/user-data", "#cloud-config\n")
		require.Equal(t, []string{"cp-1"}, r.Left())
		r.requireGiven(t, path, string(body))
		r.requireRefused(t, "/kiln/cp-1/"+hash, "/cp-1/"+hash, "/cp-1/body.sh", "/"+hash)
		require.Empty(t, r.Left())
	}
	write(t, dir, map[string]string{"cp-1/body.sh": "another"})
	_, err := serve.New([]string{dir}, serve.Options{State: filepath.Join(t.TempDir(), "state")})
	require.ErrorContains(t, err, "cp-1/body.sh: it is not what inventory.json lists")
}

// TestPoolInitrd: so it is with the initrd that kiln netboot makes for a pool, at its own path alone.
func TestPoolInitrd(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	for _, uuid := range []string{"1", "2"} {
		at := "/initrd/pools/small.cpio.gz?uuid=00000000-0000-4000-8000-00000000000" + uuid
		r.requireGiven(t, at, initrd("#cloud-config\n{}\n"))
		r.requireRefused(t, at)
	}
	r.requireRefused(t, "/initrd/small.cpio.gz")
}

// TestPool: the machines of a pool share a document, and each gets it once.
func TestPool(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	const doc = "#cloud-config\n{}\n"
	r.requireGiven(t, "/pools/small/network-config", "")
	r.requireGiven(t, "/pools/small/user-data?mac=02:00:00:00:00:01", doc)
	r.requireGiven(t, "/pools/small/user-data?mac=02:00:00:00:00:02", doc)
	r.requireRefused(t, "/pools/small/user-data?mac=02-00-00-00-00-02", "/pools/small/user-data?mac=52:54:00:12:34:56")
	r.requireGiven(t, "/pools/small/network-config", "")
	r.requireGiven(t, "/pools/small/user-data", doc)
	r.requireRefused(t, "/pools/small/user-data")
}

// TestRestart: what was fetched stays so when the server is started again, unless a machine is named that may, or its document is another one.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := example(t)
	r := start(t, dir, nil)
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
	r.requireGiven(t, "/cp-2/config.ign", `{"two":2}`)
	require.NoError(t, r.stop())
	info, err := os.Stat(filepath.Join(dir, "served.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	r = start(t, dir, func(o *serve.Options) { o.Again = []string{"cp-2"} })
	r.requireRefused(t, "/cp-1/config.ign")
	r.requireGiven(t, "/cp-2/config.ign", `{"two":2}`)
	require.NoError(t, r.stop())

	const other = `{"one":"another"}`
	rendered(t, dir, map[string]string{"cp-1/config.ign": other, "initrd/cp-1.cpio.gz": initrd(other)})
	r = start(t, dir, nil)
	r.requireGiven(t, "/cp-1/config.ign", other)
	r.requireRefused(t, "/cp-2/config.ign")
}

// TestCutOff: a transfer that ended early does not count, also if the server had sent everything.
// That one is a disclosure: who took it has it.
func TestCutOff(t *testing.T) {
	t.Parallel()
	document := strings.Repeat("0123456789abcdef", 1<<19) // 8 MiB, more than lies in the buffers between
	dir := folder(t, []render.Entry{{Node: "big", Document: "big/config.ign"}, {Node: "small", Document: "small/config.ign"}},
		map[string]string{"big/config.ign": document, "small/config.ign": "tiny"})
	r := start(t, dir, nil)
	decisions := map[string]string{"/big/config.ign": "cut off", "/small/config.ign": "disclosed"}
	for path, decision := range decisions {
		conn, err := net.Dial("tcp", r.address)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: boot\r\n\r\n", path)
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 20))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		r.requireLogged(t, map[string]any{"path": path, "decision": decision})
	}
	require.Eventually(t, func() bool { return r.warnings.String() != "" }, 5*time.Second, time.Millisecond)
	require.Equal(t, "small/config.ign was sent whole to 127.0.0.1, which did not confirm it: it can be fetched again, "+
		"and 127.0.0.1 may have it; if that is not the machine, the secrets in it are known\n", r.warnings.String())
	require.Equal(t, []string{"sent whole and not confirmed, so that somebody may have it: 1"}, r.Alarms())
	require.Len(t, r.Left(), 2)
	r.requireGiven(t, "/big/config.ign", document)
	r.requireGiven(t, "/small/config.ign", "tiny")
	r.requireRefused(t, "/big/config.ign", "/small/config.ign")
}

// TestKilled: a server that ends in the middle of a transfer leaves no mark, and its successor gives the document.
func TestKilled(t *testing.T) {
	t.Parallel()
	document := strings.Repeat("0123456789abcdef", 1<<19)
	dir := folder(t, []render.Entry{{Node: "big", Document: "big/config.ign"}}, map[string]string{"big/config.ign": document})
	first := start(t, dir, nil)
	conn, err := net.Dial("tcp", first.address)
	require.NoError(t, err)
	_, err = fmt.Fprint(conn, "GET /big/config.ign HTTP/1.1\r\nHost: boot\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 1000))
	require.NoError(t, err)
	// The first one still hangs, as one that was stopped and not killed would.
	second := start(t, dir, nil)
	second.requireGiven(t, "/big/config.ign", document)
	require.NoError(t, conn.Close())
	require.NoError(t, first.stop())
	require.NoError(t, second.stop())
	require.Empty(t, start(t, dir, nil).Left())
}

// TestLeaving: a transfer that is under way when the server is asked to end is finished, and counts; nobody new is let in.
func TestLeaving(t *testing.T) {
	t.Parallel()
	document := strings.Repeat("0123456789abcdef", 1<<19)
	dir := folder(t, []render.Entry{{Node: "big", Document: "big/config.ign"}}, map[string]string{"big/config.ign": document})
	r := start(t, dir, nil)
	answer, err := http.Get(r.url + "/big/config.ign")
	require.NoError(t, err)
	_, err = io.ReadFull(answer.Body, make([]byte, 1000))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- r.stop() }()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", r.address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 5*time.Second, 5*time.Millisecond)
	rest, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Len(t, rest, len(document)-1000)
	require.NoError(t, <-ended)
	require.Empty(t, start(t, dir, nil).Left())
}

// TestRace: of many who ask for one document at the same time one gets it.
func TestRace(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	var group sync.WaitGroup
	got := make(chan int, 20)
	for range cap(got) {
		group.Go(func() {
			if answer, err := http.Get(r.url + "/cp-1/config.ign"); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				got <- answer.StatusCode
			}
		})
	}
	group.Wait()
	close(got)
	statuses := map[int]int{}
	for status := range got {
		statuses[status]++
	}
	require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusNotFound: 19}, statuses)
}

// TestWaiting: who asks while another transfer of the document is under way waits for its end, and gets the document if it is cut off.
func TestWaiting(t *testing.T) {
	t.Parallel()
	document := strings.Repeat("0123456789abcdef", 1<<19)
	dir := folder(t, []render.Entry{{Node: "big", Document: "big/config.ign"}}, map[string]string{"big/config.ign": document})
	r := start(t, dir, nil)
	first, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	_, err = fmt.Fprint(first, "GET /big/config.ign HTTP/1.1\r\nHost: boot\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadFull(first, make([]byte, 1000))
	require.NoError(t, err)

	gone, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(gone, http.MethodGet, r.url+"/big/config.ign", nil)
	require.NoError(t, err)
	_, err = http.DefaultClient.Do(request)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	r.requireLogged(t, map[string]any{"decision": "failed", "status": 503.0, "reason": "another transfer of the document is under way"})

	got := make(chan string, 1)
	go func() {
		_, body := r.get(t, "/big/config.ign")
		got <- body
	}()
	time.Sleep(50 * time.Millisecond) // it waits, most probably; the result is the same if it does not
	require.NoError(t, first.Close())
	require.Len(t, <-got, len(document))
	r.requireRefused(t, "/big/config.ign")
}

// TestMany: two hundred machines that are switched on together get their documents, each its own.
func TestMany(t *testing.T) {
	t.Parallel()
	const machines = 200
	var entries []render.Entry
	files := map[string]string{}
	for i := range machines {
		name := fmt.Sprintf("m-%d", i)
		entries = append(entries, render.Entry{Node: name, Document: name + "/config.ign"})
		files[name+"/config.ign"] = strings.Repeat(name+" ", 20_000)
	}
	dir := folder(t, entries, files)
	r := start(t, dir, nil)
	errs := make(chan error, machines)
	for _, e := range entries {
		go func() {
			client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
			answer, err := client.Get(r.url + "/" + e.Document)
			if err != nil {
				errs <- err
				return
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err == nil && (answer.StatusCode != http.StatusOK || string(body) != files[e.Document]) {
				err = fmt.Errorf("%s: status %d, %d bytes", e.Node, answer.StatusCode, len(body))
			}
			errs <- err
		}()
	}
	for range machines {
		require.NoError(t, <-errs)
	}
	require.NoError(t, r.stop())
	require.Empty(t, r.Left())
	require.Empty(t, start(t, dir, nil).Left(), "on disk too")
}

// TestWindow: after the window nothing is given, and the server ends by itself.
func TestWindow(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), func(o *serve.Options) { o.Window = 300 * time.Millisecond })
	r.requireLogged(t, map[string]any{"event": "stop", "reason": "the window has ended"})
	require.NoError(t, r.stop())
	_, err := http.Get(r.url + "/cp-1/config.ign")
	require.Error(t, err)
}

// TestTLS: the certificate is of the cluster's CA and for the names that were asked for.
func TestTLS(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b, err := pki.New(pki.Options{Name: "prod", Now: now, Algorithm: pki.P256, CALifetime: 24 * time.Hour, FormationWindow: time.Hour})
	require.NoError(t, err)
	settings, err := serve.TLS(b, []string{"boot.example.com", "127.0.0.1"}, now.Add(time.Hour))
	require.NoError(t, err)
	state := filepath.Join(t.TempDir(), "state")
	s, err := serve.New([]string{example(t)},
		serve.Options{State: state, Peers: peers(t, "any"), Window: time.Hour})
	require.NoError(t, err)
	require.NoError(t, s.Begin(io.Discard))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(t.Context(), tls.NewListener(l, settings)) }()
	roots := x509.NewCertPool()
	roots.AddCert(b.CA.Certificate)
	get := func(trusted *tls.Config) (int, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted}}
		answer, err := client.Get("https://" + l.Addr().String() + "/cp-1/config.ign")
		if err != nil {
			return 0, err
		}
		defer func() { _ = answer.Body.Close() }()
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, err
	}
	_, err = get(&tls.Config{RootCAs: x509.NewCertPool()})
	require.Error(t, err)
	_, err = get(&tls.Config{RootCAs: roots, ServerName: "api.example.com"})
	require.Error(t, err)
	status, err := get(&tls.Config{RootCAs: roots, ServerName: "boot.example.com"})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Eventually(t, func() bool {
		status, err = get(&tls.Config{RootCAs: roots})
		return err == nil && status == http.StatusNotFound
	}, 5*time.Second, 10*time.Millisecond)
}

// TestFolders: what is wrong with folders and state is found before anything is served.
func TestFolders(t *testing.T) {
	t.Parallel()
	dir := example(t)
	opened := func(o serve.Options, dirs ...string) error {
		_, err := serve.New(dirs, o)
		return err
	}
	good := serve.Options{State: filepath.Join(t.TempDir(), "state")}
	require.NoError(t, opened(good, dir))
	require.ErrorContains(t, opened(good, t.TempDir()), "no folder of documents")
	require.ErrorContains(t, opened(good, filepath.Join(dir, "absent")), "absent: no such file")
	require.ErrorContains(t, opened(good, dir, example(t)), "one URL cannot be both")
	require.ErrorContains(t, opened(serve.Options{State: good.State, Again: []string{"cp-9"}}, dir), "cp-9: no machine or pool of prod")
	require.ErrorContains(t, opened(serve.Options{State: filepath.Join(dir, "boot.ipxe")}, dir), "not a state of kiln serve")
	require.NoFileExists(t, good.State)
	s, err := serve.New([]string{dir}, serve.Options{State: filepath.Join(dir, "absent", "state")})
	require.NoError(t, err)
	require.ErrorContains(t, s.Begin(io.Discard), "the state cannot be kept")
	write(t, dir, map[string]string{"cp-1/config.ign": "changed", "cp-2/config.ign": "changed"})
	err = opened(good, dir)
	require.ErrorContains(t, err, filepath.Join(dir, "cp-1/config.ign")+": it is not what inventory.json lists")
	require.ErrorContains(t, err, "cp-2/config.ign")
}

// rendered changes the documents of machines as kiln render does.
func rendered(t *testing.T, dir string, documents map[string]string) {
	t.Helper()
	inv, err := render.ReadInventory(dir)
	require.NoError(t, err)
	for i := range inv.Documents {
		e := &inv.Documents[i]
		if text, ok := documents[e.Document]; ok {
			sum := sha256.Sum256([]byte(text))
			e.SHA256 = hex.EncodeToString(sum[:])
		}
	}
	text, err := json.Marshal(inv)
	require.NoError(t, err)
	write(t, dir, documents)
	write(t, dir, map[string]string{"inventory.json": string(text)})
}

// TestRenderedMeanwhile: a render while the server runs is an alarm as soon as a machine comes, and
// who has the older document has not fetched the new one.
func TestRenderedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := example(t)
	r := start(t, dir, nil)
	r.requireGiven(t, "/cp-2/config.ign", `{"two":2}`)
	r.requireGiven(t, "/worker-1/user-data", "#cloud-config\n")
	left := func(names ...string) { // it counts a fetch after the answer
		t.Helper()
		require.Eventually(t, func() bool { return slices.Equal(names, r.Left()) }, time.Minute, time.Millisecond)
	}
	left("cp-1", "small")
	rendered(t, dir, map[string]string{
		"cp-1/config.ign": "newer", "cp-2/config.ign": "newer", "worker-1/user-data": "newer",
		"initrd/cp-1.cpio.gz": initrd("newer"),
	})
	for range 2 {
		status, _ := r.get(t, "/cp-1/config.ign")
		require.Equal(t, http.StatusServiceUnavailable, status)
	}
	require.Equal(t, "cp-1/config.ign cannot be given, and 127.0.0.1 waits for it: it is not what inventory.json lists, "+
		"or listed when the server began; when kiln render has ended, end kiln serve and start it again\n",
		r.warnings.String())
	require.Equal(t, []string{"asked for and not given, because the folder has changed or cannot be read: 2"}, r.Alarms())
	require.Equal(t, []string{"cp-1", "cp-2", "small", "worker-1"}, r.Left())
	require.NoError(t, r.stop())

	r = start(t, dir, nil)
	require.Equal(t, []string{"cp-1", "cp-2", "small", "worker-1"}, r.Left())
	r.requireGiven(t, "/worker-1/network-config", "version: 2\n")
	r.requireGiven(t, "/worker-1/user-data", "newer")
	left("cp-1", "cp-2", "small")
	r.requireRefused(t, "/worker-1/network-config")
}

// TestChanging: a machine that comes while its folder is written is told to come again: Ignition gives up at a 404.
func TestChanging(t *testing.T) {
	t.Parallel()
	dir := example(t)
	r := start(t, dir, nil)
	write(t, dir, map[string]string{"cp-1/config.ign": "half"})
	status, _ := r.get(t, "/cp-1/config.ign")
	require.Equal(t, http.StatusServiceUnavailable, status)
	write(t, dir, map[string]string{"cp-1/config.ign": `{"one":1}`})
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
}

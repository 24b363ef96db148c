package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serveProcess is kiln serve in a process of its own.
type serveProcess struct {
	cmd    *exec.Cmd
	dir    string
	client *http.Client
	ended  chan error
}

// startServe starts the server of a folder with these streams.
func startServe(t *testing.T, dir string, stdout, stderr io.Writer, flags ...string,
) *serveProcess {
	t.Helper()
	u := &serveProcess{
		dir: dir, ended: make(chan error, 1),
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}},
	}
	args := []string{"serve", "nodes", "--from", "127.0.0.1", "--listen", "127.0.0.1:0"}
	u.cmd = exec.Command(program(t), append(args, flags...)...)
	u.cmd.Dir, u.cmd.Stdout, u.cmd.Stderr = dir, stdout, stderr
	u.cmd.Env = append(os.Environ(), "GOGC=") // as people have it
	require.NoError(t, u.cmd.Start())
	go func() { u.ended <- u.cmd.Wait() }()
	t.Cleanup(func() { _ = u.cmd.Process.Kill() })
	return u
}

// startUnread starts the server of the cluster demo.
func startUnread(t *testing.T, stdout io.Writer, stderr *os.File, flags ...string) *serveProcess {
	t.Helper()
	dir := t.TempDir()
	prepare := exec.Command("sh", "-c", `"$0" init --address 10.0.0.11,10.0.0.21 >cluster.yaml &&
		"$0" render --config cluster.yaml --out nodes`, program(t))
	prepare.Dir = dir
	text, err := prepare.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return startServe(t, dir, stdout, stderr, flags...)
}

// url waits for the first line of the server, and returns the URL in it.
func (w *waiter) url(t *testing.T) (url string) {
	t.Helper()
	require.Eventually(t, func() bool {
		line, _, found := strings.Cut(w.String(), ": the documents of")
		url = line
		return found
	}, 20*time.Second, 10*time.Millisecond, "%s", w)
	return url
}

// ask returns the status and the body of the answer to a URL.
func (u *serveProcess) ask(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := u.client.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(body)
}

// get returns the status of the answer to a URL.
func (u *serveProcess) get(t *testing.T, url string) int {
	t.Helper()
	status, _ := u.ask(t, url)
	return status
}

// requireEnd sends SIGTERM to the server, and requires its end.
func (u *serveProcess) requireEnd(t *testing.T) {
	t.Helper()
	u.client.CloseIdleConnections()
	require.NoError(t, u.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-u.ended:
		require.NoError(t, err)
	case <-time.After(15 * time.Second):
		require.Fail(t, "the server does not end")
	}
}

// waiter is a buffer that can be read while it is being written.
type waiter struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *waiter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *waiter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// TestServeUnreadLog: a log that nobody reads delays neither requests nor the end. The summary
// counts the lines that are missing.
func TestServeUnreadLog(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = r.Close(), w.Close() }()
	var out waiter
	u := startUnread(t, &out, w)
	url := out.url(t)
	for range 1500 {
		require.Equal(t, http.StatusNotFound, u.get(t, url+"/"+strings.Repeat("x", 300)))
	}
	require.Equal(t, http.StatusOK, u.get(t, url+"/cp-1/user-data"))
	require.Equal(t, http.StatusNotFound, u.get(t, url+"/cp-1/user-data"), "and the alarm")
	u.requireEnd(t)
	require.Regexp(t, `(?m)^lines that are not in the log or on standard error: \d{3,}$`,
		out.String())
}

// TestServeUnreadTerminal: alarms and results on one pipe that nobody reads delay nothing either.
// The log is a file, and has every line.
func TestServeUnreadTerminal(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = r.Close(), w.Close() }()
	u := startUnread(t, w, w, "--log", "audit.log")
	log := func() string {
		text, _ := os.ReadFile(filepath.Join(u.dir, "audit.log"))
		return string(text)
	}
	var begun struct{ Address string }
	require.Eventually(t, func() bool {
		line, _, _ := strings.Cut(log(), "\n")
		return json.Unmarshal([]byte(line), &begun) == nil
	}, 20*time.Second, 10*time.Millisecond)
	go func() { _, _ = w.Write(make([]byte, 1<<20)) }() // it fills the pipe, and ends with it
	url := "http://" + begun.Address
	require.Equal(t, http.StatusOK, u.get(t, url+"/cp-1/user-data"))
	for range 500 {
		require.Equal(t, http.StatusNotFound, u.get(t, url+"/cp-1/user-data"))
	}
	u.requireEnd(t)
	require.Equal(t, 1, strings.Count(log(), `"decision":"served"`))
	require.Equal(t, 500, strings.Count(log(), `"decision":"refused"`))
	require.Contains(t, log(), `"event":"stop"`)
}

// TestServeClosedReader: the server goes on after the reader of its alarms and results has ended. A
// write to a pipe without a reader ends other programs with SIGPIPE.
func TestServeClosedReader(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	u := startUnread(t, w, w, "--log", "audit.log")
	line := make([]byte, 256)
	n, err := r.Read(line) // the first line on standard output
	require.NoError(t, err)
	url, _, found := strings.Cut(string(line[:n]), ": the documents of")
	require.True(t, found, "%s", line)
	require.NoError(t, r.Close())
	require.NoError(t, w.Close())
	require.Equal(t, http.StatusOK, u.get(t, url+"/cp-1/user-data"))
	require.Equal(t, http.StatusNotFound, u.get(t, url+"/cp-1/user-data"), "and the alarm")
	time.Sleep(100 * time.Millisecond) // the alarm is most probably written by then
	require.Equal(t, http.StatusOK, u.get(t, url+"/worker-1/user-data"))
	u.client.CloseIdleConnections()
	require.NoError(t, u.cmd.Process.Signal(syscall.SIGTERM))
	err = <-u.ended
	require.True(t, u.cmd.ProcessState.Exited(), "%v", err)
	log, err := os.ReadFile(filepath.Join(u.dir, "audit.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), `"event":"stop"`)
}

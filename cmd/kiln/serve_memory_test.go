//go:build linux

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

	"kiln.dev/kiln/templates"
)

// pooled is a cluster with a pool whose machines announce their states.
const pooled = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.example.com
  network: {cni: none}
  machines: {os: ubuntu, report: {url: "http://10.0.0.5:8080"}}
  pools:
  - {name: blue}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.1]}
`

// hostileServer is kiln serve in a process of its own.
type hostileServer struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
	out *waiter
}

// startHostile starts the server of a folder.
func startHostile(t *testing.T, dir string) *hostileServer {
	t.Helper()
	h := &hostileServer{t: t, out: &waiter{}}
	h.cmd = exec.Command(program(t), "serve", "nodes", "--from", "127.0.0.1",
		"--listen", "127.0.0.1:0", "--log", "audit.log")
	h.cmd.Dir, h.cmd.Stdout, h.cmd.Stderr = dir, h.out, h.out
	h.cmd.Env = append(os.Environ(), "GOGC=") // as people have it
	require.NoError(t, h.cmd.Start())
	t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	require.Eventually(t, func() bool {
		url, _, found := strings.Cut(h.out.String(), ": the documents of")
		h.url = url
		return found
	}, 20*time.Second, 10*time.Millisecond, "%s", h.out)
	return h
}

// end ends the server, and returns the most memory that it had, in MiB. The pages of the program
// itself do not count: how many of them are there is up to the kernel, which can drop them.
func (h *hostileServer) end() (mib int) {
	h.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	require.NoError(h.t, err)
	var peak, file int
	for name, value := range map[string]*int{"VmHWM:": &peak, "RssFile:": &file} {
		_, text, _ := strings.Cut(string(status), name)
		_, err = fmt.Sscan(text, value)
		require.NoError(h.t, err)
	}
	http.DefaultClient.CloseIdleConnections()
	require.NoError(h.t, h.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(h.t, h.cmd.Wait(), "%s", h.out)
	return (peak - file) >> 10
}

// get returns the status and the body of an answer.
func (h *hostileServer) get(path string) (int, string) {
	h.t.Helper()
	answer, err := http.Get(h.url + path)
	require.NoError(h.t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(h.t, err)
	return answer.StatusCode, string(body)
}

// announce announces a state, and returns the status of the answer.
func (h *hostileServer) announce(key []byte, state string) int {
	_, nonce := h.get("/announce/pools/blue")
	text := state + " " + nonce
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text))
	answer, err := http.Post(h.url+"/announce/pools/blue", "",
		strings.NewReader(hex.EncodeToString(mac.Sum(nil))+"  -&"+text))
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// TestServeHostilePool: the holder of a pool's document announces as many names as it may, each
// with the largest state. The server and the next one of the same folder have little memory, small
// files, and remember what was fetched.
func TestServeHostilePool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) string {
		cmd := exec.Command(program(t), args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster.yaml"), []byte(pooled), 0o600))
	run("render", "--config", "cluster.yaml", "--out", "nodes")
	script := run("unpack", "nodes/pools/blue", templates.AnnouncePath, "--show-secrets")
	key := templates.AnnounceKey([]byte(script))
	require.NotEmpty(t, key)

	h := startHostile(t, dir)
	status, _ := h.get("/cp-1/user-data")
	require.Equal(t, http.StatusOK, status)
	text := strings.Repeat("<", 399)
	fault := fmt.Sprintf(`{"code":"swap","object":"%s","evidence":"%[1]s","remedy":"%[1]s"}`, text)
	faults := strings.TrimSuffix(strings.Repeat(fault+",", 98), ",")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for name := i; name < 320; name += 16 { // each name three times
				state := fmt.Sprintf(`{"phase":"stopped","step":"preflight","node":"m%d",`+
					`"cluster":"","document":"","uptime":%d,"steps":{},`+
					`"waiting":"","faults":[%s]}`, name%100, name, faults)
				for h.announce(key, state) == http.StatusServiceUnavailable {
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, "nodes", name))
		require.NoError(t, err)
		return info.Size()
	}
	require.Less(t, size("served.json"), int64(4<<10))
	require.Greater(t, size("served.json.announced"), int64(1<<20))
	require.Less(t, size("served.json.announced"), int64(4<<20))
	log, err := os.Stat(filepath.Join(dir, "audit.log"))
	require.NoError(t, err)
	require.Less(t, log.Size(), int64(16<<20))
	first := h.end()

	h = startHostile(t, dir)
	status, _ = h.get("/cp-1/user-data")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, h.out.String(), "fetched already: cp-1")
	second := h.end()
	t.Logf("%d and %d MiB, %d bytes of announcements", first, second, size("served.json.announced"))
	require.Less(t, max(first, second), 40)
}

//go:build linux

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// endMemory ends the server, and returns the most memory that it had, in MiB. The pages of the
// program itself do not count: how many of them are there is up to the kernel, which can drop them.
func (u *serveProcess) endMemory(t *testing.T) (mib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", u.cmd.Process.Pid))
	require.NoError(t, err)
	var peak, file int
	for name, value := range map[string]*int{"VmHWM:": &peak, "RssFile:": &file} {
		_, text, _ := strings.Cut(string(status), name)
		_, err = fmt.Sscan(text, value)
		require.NoError(t, err)
	}
	u.requireEnd(t)
	return (peak - file) >> 10
}

// announce announces a state, and returns the status of the answer.
func (u *serveProcess) announce(t *testing.T, url string, key []byte, state string) int {
	t.Helper()
	_, nonce := u.ask(t, url)
	text := state + " " + nonce
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text))
	answer, err := u.client.Post(url, "",
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

	var out, later waiter
	u := startServe(t, dir, &out, &out, "--log", "audit.log")
	url := out.url(t)
	require.Equal(t, http.StatusOK, u.get(t, url+"/cp-1/user-data"))
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
				for u.announce(t, url+"/announce/pools/blue", key, state) ==
					http.StatusServiceUnavailable {
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
	first := u.endMemory(t)

	u = startServe(t, dir, &later, &later, "--log", "audit.log")
	require.Equal(t, http.StatusNotFound, u.get(t, later.url(t)+"/cp-1/user-data"))
	require.Contains(t, later.String(), "fetched already: cp-1")
	second := u.endMemory(t)
	t.Logf("%d and %d MiB, %d bytes of announcements", first, second, size("served.json.announced"))
	require.Less(t, max(first, second), 40)
}

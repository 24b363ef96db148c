package serve_test

import (
	"bytes"
	"crypto/hmac"
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

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
)

// announced is the file of the announcements in a folder of documents.
const announced = "served.json.announced"

// announcing renders a cluster whose machines announce their states, and returns the folder and the
// keys of HMAC, by the paths of the machines. workers is the number of its workers.
func announcing(t *testing.T, workers int, settings string) (dir string, keys map[string][]byte) {
	t.Helper()
	text := `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.example.com
  network: {cni: none}
  machines: {os: flatcar, report: {url: "http://10.0.0.5:8080/boot"}` + settings + `}
  pools:
  - {name: blue}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.1]}
`
	for i := range workers {
		text += fmt.Sprintf("  - {name: worker-%d, role: worker, addresses: [10.1.%d.%d]}\n",
			i+1, i/250, i%250+1)
	}
	text += "  - {name: silent, role: worker, addresses: [10.0.0.3], report: {}}\n"
	home := t.TempDir()
	write(t, home, map[string]string{"cluster.yaml": text})
	c, err := render.Config(&folder.Input{Path: filepath.Join(home, "cluster.yaml")})
	require.NoError(t, err)
	b, err := pki.New(pki.Options{
		Name: "prod", Now: time.Now(), Algorithm: private.Algorithm("ECDSA-P256"),
		CALifetime:      time.Duration(c.Spec.Certificates.CALifetime),
		FormationWindow: time.Duration(c.Spec.Boot.FormationWindow),
	})
	require.NoError(t, err)
	r, err := render.New(c, b)
	require.NoError(t, err)
	dir = filepath.Join(home, "nodes")
	_, err = r.Write(dir, render.Options{})
	require.NoError(t, err)
	keys = map[string][]byte{}
	for i := range r.Plan.Machines {
		m := &r.Plan.Machines[i]
		key := bytes.Clone(b.AnnounceKey(m))
		for j := range key {
			key[j] ^= 0x36
		}
		path := "/announce/" + m.Name
		if m.Pool {
			path = "/announce/pools/" + m.Name
		}
		keys[path] = key
	}
	return dir, keys
}

// state returns a status.json.
func state(phase, step, more string) string {
	return fmt.Sprintf(`{"phase":"%s","step":"%s","node":"","cluster":"","document":"",`+
		`"uptime":1,"steps":{},"waiting":"","faults":[%s]}`, phase, step, more)
}

// sealed returns what a machine with this key sends.
func sealed(key []byte, text, nonce string) string {
	text += " " + nonce
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)) + "  -&" + text
}

// announce does what /etc/kiln/announce does, and returns the status of the answer.
func (r *running) announce(t *testing.T, path string, key []byte, text string) int {
	t.Helper()
	status, nonce := r.get(t, path)
	require.Equal(t, http.StatusOK, status, path)
	return r.post(t, path, sealed(key, text, nonce))
}

func (r *running) post(t *testing.T, path, body string) int {
	t.Helper()
	answer, err := http.Post(r.url+path, "", strings.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	return answer.StatusCode
}

// TestAnnounce: a machine's state is taken with its own key, which the server finds in its document
// in every mode of delivery, from any address, below any path; it is on disk when the answer comes,
// so that a server that is killed loses none.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"whole", "split", "lean", "pointer"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			settings := ""
			if mode != "whole" {
				settings = `, delivery: {mode: ` + mode +
					`, url: "https://boot.example.com/{node}", ca: cluster}`
			}
			dir, keys := announcing(t, 1, settings)
			var heard []announce.Row
			noPeers := func(o *serve.Options) {
				o.Peers = peers(t, "192.0.2.1")
				o.Announced = func(row announce.Row) { heard = append(heard, row) }
			}
			r := start(t, dir, noPeers)
			text := state("stopped", "files",
				`{"code":"a","object":"b","evidence":"c","remedy":"d"}`)
			for path, key := range keys {
				if path == "/announce/silent" {
					r.requireRefused(t, path)
					continue
				}
				require.Equal(t, 204, r.announce(t, path, key, text), path)
				kept, err := os.ReadFile(filepath.Join(dir, announced))
				require.NoError(t, err)
				require.Contains(t, string(kept), `"machine":"`+map[bool]string{
					true: "127.0.0.1", false: filepath.Base(path)}[strings.Contains(path, "pools")])
				require.Equal(t, 204, r.announce(t, "/boot"+path, key, text), path)
			}
			require.Len(t, heard, 3, "each change once")
			r.requireLogged(t, map[string]any{
				"event": "announce", "node": "cp-1", "machine": "cp-1", "decision": "taken",
			})
			list, err := r.Announcing()
			require.NoError(t, err)
			require.Len(t, list, 3)
			require.Len(t, list[0].Document, 64)
			rows := r.Board().Rows()
			require.Len(t, rows, 3)
			require.NoError(t, r.stop())
			for _, key := range keys {
				require.NotContains(t, r.log.String(), string(key))
			}

			again := start(t, dir, nil)
			require.Equal(t, rows, again.Board().Rows())
			require.NoError(t, again.stop())
			forgotten := start(t, dir, func(o *serve.Options) {
				o.Again = []string{"blue", "cp-1"}
			})
			require.Len(t, forgotten.Board().Rows(), 1)
		})
	}
}

// TestAnnounceHostile: whoever reaches the server and has no key of the machine's changes nothing,
// keeps no machine from announcing, and fills neither log nor terminal.
func TestAnnounceHostile(t *testing.T) {
	t.Parallel()
	dir, keys := announcing(t, 2, "")
	r := start(t, dir, nil)
	const path = "/announce/worker-1"
	key, text := keys[path], state("running", "files", "")
	_, nonce := r.get(t, path)
	sent := sealed(key, text, nonce)
	require.Equal(t, 204, r.post(t, path, sent))
	for range 100 {
		for _, body := range []string{
			"", sent, sealed(keys["/announce/worker-2"], text, nonce),
			sealed(key, text, strings.Repeat("0", 48)), strings.Replace(sent, "files", "start", 1),
			strings.Repeat("x", 100_000), sealed(key, text+strings.Repeat(" ", 20_000), nonce),
		} {
			require.NotEqual(t, 204, r.post(t, path, body))
		}
	}
	require.NotEqual(t, 204, r.post(t, "/announce/worker-2", sent))
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodHead} {
		answer, _ := ask(t, method, r.url+path, "")
		require.Equal(t, http.StatusNotFound, answer.StatusCode, method)
	}
	r.requireRefused(t, "/announce", "/announce/", "/announce/other", "/announce/pools/worker-1",
		"/announce/blue", "/announce/cp-1/config.ign", "/mac//announce")
	require.Len(t, r.Board().Rows(), 1)
	require.Equal(t, "files", r.Board().Rows()[0].Status.Step)
	require.Less(t, strings.Count(r.log.String(), "\n"), 40)
	require.Less(t, strings.Count(r.warnings.String(), "\n"), 20)
	require.Contains(t, r.warnings.String(), "worker-1: it is no announcement\n")
	require.Contains(t, r.warnings.String(), "worker-2: the sender does not have the machine's key")
	require.Contains(t, strings.Join(r.Alarms(), "\n"), "announced, and not believed: ")

	// Clients that send slowly, or nothing more, hold up nobody at another address.
	for range 600 {
		r.slow(t, "POST "+path, "Content-Length: 9000")
	}
	status, nonce := r.get(t, path)
	require.Equal(t, http.StatusOK, status)
	elsewhere := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.9")},
	}).DialContext}}
	began := time.Now()
	answer, err := elsewhere.Post(r.url+path, "",
		strings.NewReader(sealed(key, state("waiting", "kubelet", ""), nonce)))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusNoContent, answer.StatusCode)
	require.Less(t, time.Since(began), 2*time.Second)
}

// TestAnnounceMany: two hundred machines announce at once, while the server is ended and started
// again: none is lost.
func TestAnnounceMany(t *testing.T) {
	t.Parallel()
	dir, keys := announcing(t, 200, "")
	r := start(t, dir, nil)
	var mu sync.RWMutex // of r
	var all sync.WaitGroup
	for i := range 200 {
		path := fmt.Sprintf("/announce/worker-%d", i+1)
		all.Go(func() {
			for _, step := range strings.Fields("files preflight kubelet node done") {
				phase := map[bool]string{true: "done", false: "running"}[step == "done"]
				for tries := 0; ; tries++ {
					mu.RLock()
					url := r.url
					mu.RUnlock()
					if tryAnnounce(url+path, keys[path], state(phase, step, "")) {
						break
					}
					if tries > 500 {
						t.Errorf("%s: not taken", path)
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		mu.Lock()
		_ = r.stop()
		r = start(t, dir, nil)
		mu.Unlock()
	}
	all.Wait()
	rows := r.Board().Rows()
	require.Len(t, rows, 200)
	for _, row := range rows {
		require.Equal(t, "done", row.Status.Phase, row.Machine)
	}
	require.NoError(t, r.stop())
	var kept struct{ Announced []announce.Row }
	data, err := os.ReadFile(filepath.Join(dir, announced))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &kept))
	require.Equal(t, rows, kept.Announced)
}

// tryAnnounce announces once, and reports whether the server took it.
func tryAnnounce(url string, key []byte, text string) bool {
	client := &http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(url) // #nosec G107 -- a server of this test
	if err != nil {
		return false
	}
	nonce, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return false
	}
	answer, err = client.Post(url, "", strings.NewReader(sealed(key, text, string(nonce))))
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusNoContent
}

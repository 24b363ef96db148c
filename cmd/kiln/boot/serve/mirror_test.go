package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// programs returns a folder as kiln lock --save writes it, with one file.
func programs(t *testing.T, content string) string {
	t.Helper()
	sum := sha256.Sum256([]byte("a kubelet"))
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"release/v1.36.3/kubelet": content,
		"kiln.lock.yaml": string((&config.Locked{Artifacts: []target.Artifact{{
			Name: "kubelet", Version: "v1.36.3", Arch: "amd64",
			URL:    "https://dl.k8s.io/release/v1.36.3/kubelet",
			SHA256: hex.EncodeToString(sum[:]),
		}}}).Encode()),
	})
	return dir
}

// TestPrograms: everybody gets the programs of a mirror as often as they want, whole or from where
// they were; and nothing else that is in the folder.
func TestPrograms(t *testing.T) {
	t.Parallel()
	mirror := programs(t, "a kubelet")
	write(t, mirror, map[string]string{"admin.conf": "a secret"})
	r := startAll(t, []string{example(t), mirror}, nil)
	for range 2 {
		r.requireGiven(t, "/release/v1.36.3/kubelet", "a kubelet")
	}
	answer, rest := ask(t, http.MethodGet, r.url+"/release/v1.36.3/kubelet", "bytes=2-")
	require.Equal(t, http.StatusPartialContent, answer.StatusCode)
	require.Equal(t, "kubelet", rest)
	r.requireLogged(t, map[string]any{
		"path": "/release/v1.36.3/kubelet", "decision": "served", "status": 206.0, "bytes": 7.0,
	})
	r.requireRefused(t, "/admin.conf", "/kiln.lock.yaml", "/release/")
}

// TestOtherPrograms: a file that is not the one of the lock is not served.
func TestOtherPrograms(t *testing.T) {
	t.Parallel()
	dir := example(t)
	_, err := serve.New([]string{dir, programs(t, "another")}, serve.Options{
		State: filepath.Join(dir, "served.json"),
	})
	require.ErrorContains(t, err, "it is not the file of the lock beside it")
}

package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/machine/images"
	"kiln.dev/kiln/test/loopback"
)

// archive returns an archive as kiln archive writes it, with two images, of which one is for amd64
// alone, the digest of the other one, and what its source had.
func archive(t *testing.T) (dir, digest string, from *loopback.Registry) {
	t.Helper()
	from = loopback.New()
	t.Cleanup(from.Close)
	digest = from.Image("pause:3.10", "amd64", "arm64")
	hub := from.Image("library/nginx:1.29", "amd64")
	index := ocispec.Index{ArtifactType: images.ArchiveType}
	for _, row := range [][2]string{
		{"registry.k8s.io/pause:3.10", digest}, {"docker.io/library/nginx:1.29", hub},
	} {
		var d ocispec.Descriptor
		require.NoError(t, json.Unmarshal([]byte(`{"digest": "`+row[1]+`"}`), &d))
		d.MediaType, d.Annotations = loopback.Index, map[string]string{
			ocispec.AnnotationRefName: row[0],
		}
		index.Manifests = append(index.Manifests, d)
	}
	text, err := json.Marshal(index)
	require.NoError(t, err)
	files := map[string]string{
		"index.json": string(text), "oci-layout": "{}",
		"kiln.lock.yaml": string((&config.Locked{}).Encode()),
	}
	for name, blob := range from.Blobs {
		if !strings.Contains(string(blob), "arm64") || name == digest {
			files[images.ArchiveBlobs+strings.TrimPrefix(name, "sha256:")] = string(blob)
		}
	}
	var sums []string
	for name, text := range files {
		sum := strings.TrimPrefix(loopback.Digest([]byte(text)), "sha256:")
		sums = append(sums, sum+"  "+name+"\n")
	}
	slices.Sort(sums)
	files["SHA256SUMS"] = strings.Join(sums, "")
	dir = t.TempDir()
	write(t, dir, files)
	return dir, digest, from
}

// ask sends a request, and returns the answer with its body.
func ask(t *testing.T, method, url, part string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	if part != "" {
		request.Header.Set("Range", part)
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(body)
}

// TestPull: the server answers as the pull tests of OCI's conformance want it: 200 for /v2/, GET
// and HEAD of manifests by digest and by tag and of blobs with their headers, parts of a blob, and
// 404 for what is not there.
func TestPull(t *testing.T) {
	t.Parallel()
	dir, digest, from := archive(t)
	r := startAll(t, []string{example(t)}, func(o *serve.Options) { o.Archive = dir })
	answer, _ := ask(t, "GET", r.url+"/v2/", "")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "registry/2.0", answer.Header.Get("Docker-Distribution-Api-Version"))
	layer := loopback.Digest([]byte("common to pause:3.10"))
	hub := from.Tags["library/nginx:1.29"]
	for path, want := range map[string]struct{ digest, mediaType string }{
		"pause/manifests/3.10?ns=registry.k8s.io":          {digest, loopback.Index},
		"pause/manifests/3.10":                             {digest, loopback.Index},
		"registry.k8s.io/pause/manifests/3.10":             {digest, loopback.Index},
		"pause/manifests/" + digest:                        {digest, loopback.Index},
		"pause/blobs/" + layer:                             {layer, "application/octet-stream"},
		"pause/blobs/" + layer + "?ns=registry.k8s.io":     {layer, "application/octet-stream"},
		"library/nginx/blobs/" + layer + "?ns=docker.io":   {layer, "application/octet-stream"},
		"library/nginx/manifests/1.29?ns=docker.io":        {hub, loopback.Index},
		"pause/manifests/" + build(from) + "?ns=docker.io": {},
		"pause/manifests/" + build(from):                   {build(from), loopback.Manifest},
		"pause/manifests/3.10?ns=docker.io":                {},
		"pause/manifests/3.9?ns=registry.k8s.io":           {},
		"pause/manifests/" + layer:                         {},
		"pause/manifests/" + loopback.Digest(nil):          {},
		"pause/blobs/" + loopback.Digest(nil):              {},
		"pause/blobs/../../../admin.conf":                  {},
		"other/blobs/" + layer:                             {},
		"pause/tags/list":                                  {},
		"pause/manifests/":                                 {},
		"pause":                                            {},
		"manifests/3.10":                                   {},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			answer, body := ask(t, method, r.url+"/v2/"+path, "")
			if want.digest == "" {
				require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
				continue
			}
			require.Equal(t, http.StatusOK, answer.StatusCode, path)
			require.Equal(t, want.digest, answer.Header.Get("Docker-Content-Digest"), path)
			require.Equal(t, want.mediaType, answer.Header.Get("Content-Type"), path)
			require.EqualValues(t, len(from.Blobs[want.digest]), answer.ContentLength, path)
			if method == "GET" {
				require.Equal(t, want.digest, loopback.Digest([]byte(body)), path)
			}
		}
	}
	for part, want := range map[string]struct {
		status int
		body   string
	}{
		"bytes=7-8": {206, "to"}, "bytes=10-": {206, "pause:3.10"}, "bytes=-4": {206, "3.10"},
	} {
		answer, body := ask(t, "GET", r.url+"/v2/pause/blobs/"+layer, part)
		require.Equal(t, want.status, answer.StatusCode)
		require.Equal(t, want.body, body)
	}
	answer, _ = ask(t, "GET", r.url+"/v2/pause/blobs/"+layer, "bytes=100-")
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, answer.StatusCode)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, path := range []string{"/blobs/uploads/", "/manifests/3.10", "/blobs/" + layer} {
			answer, _ := ask(t, method, r.url+"/v2/pause"+path, "")
			require.Equal(t, http.StatusNotFound, answer.StatusCode, method+path)
		}
	}
	require.Equal(t, []config.Registry{
		{Host: "registry.k8s.io", Mirrors: []string{"http://x"}},
		{Host: "docker.io", Mirrors: []string{"http://x"}},
	}, r.Registries("http://x"))
	require.Equal(t, "cluster", r.Registries("https://x")[1].CA)
}

// TestPullWithORAS: a client that is not kiln's gets an image by its tag, with its layers.
func TestPullWithORAS(t *testing.T) {
	t.Parallel()
	dir, _, from := archive(t)
	r := startAll(t, []string{example(t)}, func(o *serve.Options) { o.Archive = dir })
	repository, err := remote.NewRepository(r.address + "/registry.k8s.io/pause")
	require.NoError(t, err)
	repository.PlainHTTP = true
	to, o := memory.New(), oras.DefaultCopyOptions
	o.WithTargetPlatform(&ocispec.Platform{OS: "linux", Architecture: "amd64"})
	got, err := oras.Copy(t.Context(), repository, "3.10", to, "", o)
	require.NoError(t, err)
	require.Equal(t, build(from), string(got.Digest))
	parts, err := content.Successors(t.Context(), to, got)
	require.NoError(t, err)
	require.Len(t, parts, 3)
	for _, part := range parts {
		there, err := to.Exists(t.Context(), part)
		require.NoError(t, err)
		require.True(t, there)
	}
}

// build returns the digest of the build of pause for amd64.
func build(from *loopback.Registry) string {
	var index struct{ Manifests []loopback.Descriptor }
	_ = json.Unmarshal(from.Blobs[from.Tags["pause:3.10"]], &index)
	return index.Manifests[0].Digest
}

// TestBrokenArchive: an archive that is not whole, or not as its list says, is not served, and all
// that is wrong is said.
func TestBrokenArchive(t *testing.T) {
	t.Parallel()
	dir, digest, _ := archive(t)
	root := filepath.Join(dir, images.ArchiveBlobs, strings.TrimPrefix(digest, "sha256:"))
	layer := filepath.Join(dir, images.ArchiveBlobs,
		strings.TrimPrefix(loopback.Digest([]byte("only amd64 of pause:3.10")), "sha256:"))
	require.NoError(t, os.WriteFile(root, []byte("{}"), 0o600))
	require.NoError(t, os.Remove(layer))
	documents := example(t)
	open := func() error {
		_, err := serve.New([]string{documents}, serve.Options{
			State: filepath.Join(documents, "served.json"), Archive: dir,
		})
		return err
	}
	err := open()
	for _, path := range []string{root, layer} {
		require.ErrorContains(t, err, path+": it is not the file that SHA256SUMS lists; kiln "+
			"archive repairs an archive")
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "SHA256SUMS")))
	require.ErrorContains(t, open(), "kiln archive writes it when an archive is whole")
}

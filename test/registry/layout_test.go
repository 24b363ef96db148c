package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
)

// layout is an image layout of OCI. Each of its images has a build for amd64, and one for arm64
// that is in the list of builds alone.
type layout struct {
	dir    string
	images []image
}

type image struct {
	name, digest     string
	manifests, blobs []string // digests
}

// repository returns the image's name without the registry and the tag.
func (i image) repository() string {
	_, name, _ := strings.Cut(i.name, "/")
	name, _, _ = strings.Cut(name, ":")
	return name
}

func (i image) tag() string { return i.name[strings.LastIndex(i.name, ":")+1:] }

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// newLayout makes a layout with these images, each of some layers of size bytes.
func newLayout(t *testing.T, dir string, names []string, layers, size int) *layout {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "blobs/sha256"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := &layout{dir: dir}
	var list []descriptor
	for n, name := range names {
		i := image{name: name}
		config := l.add(t, &i.blobs, "application/vnd.oci.image.config.v1+json",
			[]byte(`{"architecture": "amd64", "os": "linux"}`))
		var parts []descriptor
		for layer := range layers {
			parts = append(parts, l.addLayer(t, &i.blobs, [32]byte{byte(n), byte(layer)}, size))
		}
		build := l.add(t, &i.manifests, manifestType, marshal(t, map[string]any{
			"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": parts,
		}))
		build.Platform = map[string]string{"os": "linux", "architecture": "amd64"}
		other := build
		other.Digest = "sha256:" + strings.Repeat("5", 64)
		other.Platform = map[string]string{"os": "linux", "architecture": "arm64"}
		whole := l.add(t, &i.manifests, indexType, marshal(t, map[string]any{
			"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{build, other},
		}))
		i.digest = whole.Digest
		whole.Annotations = map[string]string{"org.opencontainers.image.ref.name": name}
		list = append(list, whole)
		l.images = append(l.images, i)
	}
	l.write(t, "index.json", marshal(t, map[string]any{"schemaVersion": 2, "manifests": list}))
	l.write(t, "oci-layout", []byte(`{"imageLayoutVersion": "1.0.0"}`))
	return l
}

// add adds a blob, and its digest to a list.
func (l *layout) add(t *testing.T, to *[]string, mediaType string, data []byte) descriptor {
	t.Helper()
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	l.write(t, "blobs/sha256/"+name, data)
	*to = append(*to, "sha256:"+name)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + name, Size: len(data)}
}

// addLayer adds a layer of random bytes after a seed. It does not hold the layer in memory.
func (l *layout) addLayer(t *testing.T, to *[]string, seed [32]byte, size int) descriptor {
	t.Helper()
	file, err := os.CreateTemp(l.dir, "layer")
	if err != nil {
		t.Fatal(err)
	}
	sum, from := sha256.New(), io.LimitReader(rand.NewChaCha8(seed), int64(size))
	_, err = io.Copy(io.MultiWriter(file, sum), from)
	name := hex.EncodeToString(sum.Sum(nil))
	err = errors.Join(err, file.Close(),
		os.Rename(file.Name(), filepath.Join(l.dir, "blobs/sha256", name)))
	if err != nil {
		t.Fatal(err)
	}
	*to = append(*to, "sha256:"+name)
	return descriptor{
		MediaType: "application/vnd.oci.image.layer.v1.tar", Digest: "sha256:" + name, Size: size,
	}
}

func (l *layout) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

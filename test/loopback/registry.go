// Package loopback is a registry of images on this computer, for tests: what the distribution
// specification of OCI says of pulling and pushing, in memory.
package loopback

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Types of manifests.
const (
	Index    = "application/vnd.oci.image.index.v1+json"
	Manifest = "application/vnd.oci.image.manifest.v1+json"
)

// Registry is a registry. Its fields may be changed while Lock is held.
type Registry struct {
	sync.Mutex
	URL, Host string
	Blobs     map[string][]byte // by digest; also manifests, of all repositories
	Types     map[string]string // the types of manifests, by digest
	Tags      map[string]string // digests, by REPOSITORY:TAG
	Asked     []string          // METHOD and path of each request
	// Answer may answer a request itself, and reports whether it did.
	Answer func(w http.ResponseWriter, r *http.Request) bool
	// Make is set for a registry that has every image that it is asked for by a tag.
	Make bool
	// Whole refuses a list of builds of which one is missing, as many registries do.
	Whole bool

	server *httptest.Server
}

// New starts a registry. Close ends it.
func New() *Registry {
	r := &Registry{
		Blobs: map[string][]byte{}, Types: map[string]string{}, Tags: map[string]string{},
	}
	r.server = httptest.NewServer(r)
	r.URL, r.Host = r.server.URL, strings.TrimPrefix(r.server.URL, "http://")
	return r
}

// Close ends the registry.
func (r *Registry) Close() { r.server.Close() }

// Digest returns the digest of data.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Descriptor is the descriptor of a blob.
type Descriptor struct {
	MediaType string    `json:"mediaType"`
	Digest    string    `json:"digest"`
	Size      int       `json:"size"`
	Platform  *Platform `json:"platform,omitempty"`
}

// Platform is the platform of a build.
type Platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// Add adds a blob, and returns its descriptor.
func (r *Registry) Add(mediaType string, data []byte) Descriptor {
	d := Descriptor{MediaType: mediaType, Digest: Digest(data), Size: len(data)}
	r.Blobs[d.Digest] = data
	if mediaType == Index || mediaType == Manifest {
		r.Types[d.Digest] = mediaType
	}
	return d
}

func (r *Registry) addJSON(mediaType string, value any) Descriptor {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return r.Add(mediaType, text)
}

// Build adds the build of an image for an architecture, with these layers.
func (r *Registry) Build(arch string, layers ...[]byte) Descriptor {
	platform := &Platform{arch, "linux"}
	config := r.addJSON("application/vnd.oci.image.config.v1+json", platform)
	list := []Descriptor{}
	for _, layer := range layers {
		list = append(list, r.Add("application/vnd.oci.image.layer.v1.tar", layer))
	}
	d := r.addJSON(Manifest, map[string]any{
		"schemaVersion": 2, "mediaType": Manifest, "config": config, "layers": list,
	})
	d.Platform = platform
	return d
}

// Image adds an image, such as pause:3.10, with a build for each architecture, and returns the
// digest of the list of its builds. Builds of one image share a layer.
func (r *Registry) Image(name string, arches ...string) (digest string) {
	var builds []Descriptor
	for _, arch := range arches {
		builds = append(builds,
			r.Build(arch, []byte("common to "+name), []byte("only "+arch+" of "+name)))
	}
	digest = r.addJSON(Index, map[string]any{
		"schemaVersion": 2, "mediaType": Index, "manifests": builds,
	}).Digest
	r.Tags[name] = digest
	return digest
}

// Count returns how many requests with a method have this in their path.
func (r *Registry) Count(method, part string) (n int) {
	r.Lock()
	defer r.Unlock()
	for _, asked := range r.Asked {
		if strings.HasPrefix(asked, method+" ") && strings.Contains(asked, part) {
			n++
		}
	}
	return n
}

// ServeHTTP answers one request.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	r.Lock()
	defer r.Unlock()
	r.Asked = append(r.Asked, q.Method+" "+q.URL.Path)
	if r.Answer != nil && r.Answer(w, q) {
		return
	}
	path := strings.TrimPrefix(q.URL.Path, "/v2/")
	if repository, upload, ok := strings.Cut(path, "/blobs/uploads/"); ok {
		r.upload(w, q, repository, upload, body)
		return
	}
	if repository, reference, ok := strings.Cut(path, "/manifests/"); ok {
		r.manifest(w, q, repository, reference, body)
		return
	}
	_, digest, _ := strings.Cut(path, "/blobs/")
	r.give(w, q, digest, "application/octet-stream")
}

func (r *Registry) give(w http.ResponseWriter, q *http.Request, digest, mediaType string) {
	data, ok := r.Blobs[digest]
	if !ok {
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", digest)
	http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(data))
}

// upload takes a blob, in one request after the one that begins it.
func (r *Registry) upload(
	w http.ResponseWriter, q *http.Request, repository, upload string, body []byte,
) {
	if q.Method == http.MethodPost {
		w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/uploads/%d", repository, len(r.Asked)))
		w.WriteHeader(http.StatusAccepted)
		return
	}
	digest := q.FormValue("digest")
	if q.Method != http.MethodPut || upload == "" || Digest(body) != digest {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	r.Blobs[digest] = body
	w.WriteHeader(http.StatusCreated)
}

func (r *Registry) manifest(
	w http.ResponseWriter, q *http.Request, repository, reference string, body []byte,
) {
	if q.Method == http.MethodPut {
		if r.Whole && !r.hasAll(body) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(w, `{"errors": [{"code": "MANIFEST_BLOB_UNKNOWN", "message": "x"}]}`)
			return
		}
		digest := r.Add(q.Header.Get("Content-Type"), body).Digest
		if !strings.Contains(reference, ":") {
			r.Tags[repository+":"+reference] = digest
		}
		w.Header().Set("Docker-Content-Digest", digest)
		w.WriteHeader(http.StatusCreated)
		return
	}
	if name := repository + ":" + reference; !strings.Contains(reference, ":") {
		if r.Make && r.Tags[name] == "" {
			r.Image(name, "amd64", "arm64")
		}
		reference = r.Tags[name]
	}
	if r.Types[reference] == "" {
		http.NotFound(w, q)
		return
	}
	r.give(w, q, reference, r.Types[reference])
}

// hasAll reports whether all builds of a list are there.
func (r *Registry) hasAll(list []byte) bool {
	var index struct{ Manifests []Descriptor }
	_ = json.Unmarshal(list, &index)
	for _, d := range index.Manifests {
		if r.Blobs[d.Digest] == nil {
			return false
		}
	}
	return true
}

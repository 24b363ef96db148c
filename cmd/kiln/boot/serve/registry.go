// This file hands out the images of an archive, as the distribution specification of OCI (1.1.1,
// "Pull") says: manifests by digest and by tag, and blobs. Everybody gets them, as programs.

package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/images"
)

// maxSums is how many bytes SHA256SUMS, the index and a manifest may have.
const maxSums = 4 << 20

// registry is the images of an archive.
type registry struct {
	hosts     []string                    // the registries whose images there are
	blobs     map[string]*item            // by digest
	manifests map[string]*item            // by digest
	tags      map[string]map[string]*item // manifests, by repository and tag
}

// readRegistry reads an archive. It fails if a file is not as SHA256SUMS says. The error holds
// everything that is wrong.
func readRegistry(dir string) (*registry, error) {
	sums, err := folder.Read(filepath.Join(dir, images.ArchiveSums), maxSums)
	if err != nil {
		return nil, fmt.Errorf("%w; kiln archive writes it when an archive is whole", err)
	}
	r := &registry{
		blobs: map[string]*item{}, manifests: map[string]*item{},
		tags: map[string]map[string]*item{},
	}
	var errs []error
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		it := &item{
			path: "/v2/" + name, dir: dir, file: name, image: true, parts: true,
			digest: "sha256:" + sum, mediaType: "application/octet-stream",
		}
		if got, err := it.hash(); err != nil || got != sum {
			errs = append(errs, fmt.Errorf("%s: it is not the file that %s lists; kiln archive "+
				"repairs an archive", filepath.Join(dir, name), images.ArchiveSums))
		}
		r.blobs[it.digest] = it
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	index, err := readIndex(filepath.Join(dir, ocispec.ImageIndexFile))
	for _, d := range index {
		host, repository, tag := target.ImageParts(d.Annotations[ocispec.AnnotationRefName])
		err = errors.Join(err, r.addManifest(&d))
		if !slices.Contains(r.hosts, host) {
			r.hosts = append(r.hosts, host)
		}
		// Some clients do not say the registry, and some put it before the repository.
		for _, name := range []string{repository, host + "/" + repository} {
			if r.tags[name] == nil {
				r.tags[name] = map[string]*item{}
			}
			r.tags[name][tag] = r.manifests[string(d.Digest)]
		}
	}
	return r, err
}

// readIndex returns the manifests that a list of them names; none for the manifest of an image.
func readIndex(path string) ([]ocispec.Descriptor, error) {
	text, err := folder.Read(path, maxSums)
	if err != nil {
		return nil, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return index.Manifests, nil
}

// addManifest adds a manifest, and those that it names and that the archive has: the builds for
// the platforms of the cluster.
func (r *registry) addManifest(d *ocispec.Descriptor) error {
	it := r.blobs[string(d.Digest)]
	if it == nil || r.manifests[it.digest] != nil { // a list may name another one many times
		return nil
	}
	manifest := *it
	manifest.mediaType = d.MediaType
	r.manifests[it.digest] = &manifest
	builds, err := readIndex(filepath.Join(it.dir, it.file))
	for i := range builds {
		err = errors.Join(err, r.addManifest(&builds[i]))
	}
	return err
}

// item returns what a request asks for, or nil. containerd names the registry of the image in ns.
func (r *registry) item(request *http.Request) *item {
	path, api := strings.CutPrefix(request.URL.Path, "/v2/")
	if r == nil || !api {
		return nil
	}
	if path == "" {
		return &item{path: "/v2/", parts: true} // the client asks whether there is a registry
	}
	at := strings.LastIndex(path[:max(0, strings.LastIndex(path, "/"))], "/")
	if at < 0 {
		return nil
	}
	name := path[:at]
	if host := request.URL.Query().Get("ns"); host != "" {
		name = host + "/" + name
	}
	kind, reference, _ := strings.Cut(path[at+1:], "/")
	tags, known := r.tags[name]
	switch {
	case !known:
		return nil
	case kind == "blobs":
		return r.blobs[reference]
	case kind != "manifests":
		return nil
	case tags[reference] != nil:
		return tags[reference]
	}
	return r.manifests[reference]
}

// describe sets the headers of an answer of the registry.
func (it *item) describe(header http.Header) {
	header.Set("Docker-Distribution-Api-Version", "registry/2.0")
	if it.digest != "" {
		header.Set("Docker-Content-Digest", it.digest)
		header.Set("Content-Type", it.mediaType)
		header.Set("Etag", `"`+it.digest+`"`)
	}
}

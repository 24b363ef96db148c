package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"kiln.dev/kiln/cmd/kiln/lock"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// Push copies the images of a whole archive to a registry, below the path to, such as
// registry.example.com/k8s. What the registry has is not sent again. It returns the rows of
// machines.registries with which machines pull from there. The error joins what is wrong with each
// image.
func Push(ctx context.Context, o *Options, to string) (rows []config.Registry, err error) {
	text, err := os.ReadFile(o.Dir + "/" + ocispec.ImageIndexFile)
	if err != nil {
		return nil, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, err
	}
	from := oci.NewStorageFromFS(os.DirFS(o.Dir))
	server, prefix, _ := strings.Cut(to, "/")
	base := strings.TrimRight(lock.RegistryURL(server)+"/v2/"+prefix, "/") + "/"
	var failures []error
	for _, image := range index.Manifests {
		host, repository, tag := target.ImageParts(image.Annotations[ocispec.AnnotationRefName])
		below := strings.Trim(strings.NewReplacer(":", "-", "[", "", "]", "").Replace(host), "-")
		if !slices.ContainsFunc(rows, func(r config.Registry) bool { return r.Host == host }) {
			rows = append(rows, config.Registry{Host: host, Mirrors: []string{base + below}})
		}
		name := strings.TrimRight(to, "/") + "/" + below + "/" + repository
		o.Note("sending " + name + ":" + tag)
		if err := send(ctx, o.Locker, from, image, name, tag); err != nil {
			failures = append(failures, fmt.Errorf("image %s: %s: %w", name, server, refusal(err)))
		}
		if ctx.Err() != nil {
			return nil, errors.New("interrupted; what the registry has stays there, and the same " +
				"command sends the rest")
		}
	}
	return rows, errors.Join(failures...)
}

// send copies an image to a repository, and gives it its tag there, if it has one.
func send(
	ctx context.Context, l *lock.Locker, from content.ReadOnlyStorage, image ocispec.Descriptor,
	name, tag string,
) error {
	to, err := l.Target(name)
	if err != nil {
		return err
	}
	root := ocispec.Descriptor{
		MediaType: image.MediaType, Digest: image.Digest, Size: image.Size,
	}
	var o oras.CopyGraphOptions
	o.FindSuccessors = func(
		ctx context.Context, cached content.Fetcher, d ocispec.Descriptor,
	) ([]ocispec.Descriptor, error) {
		list, err := content.Successors(ctx, cached, d)
		return slices.DeleteFunc(list, func(child ocispec.Descriptor) bool {
			there, err := from.Exists(ctx, child)
			return child.Platform != nil && err == nil && !there // a build that nobody wanted
		}), err
	}
	if err := oras.CopyGraph(ctx, from, to, root, o); err != nil || target.IsDigest(tag) {
		return err
	}
	return to.Tag(ctx, root, tag)
}

// refusal returns what a registry says, without the URL of a request: it may hold a token.
func refusal(err error) error {
	var said *errcode.ErrorResponse
	var sent *url.Error
	switch {
	case errors.As(err, &sent):
		return sent.Err
	case !errors.As(err, &said):
		return err
	case said.StatusCode == http.StatusUnauthorized, said.StatusCode == http.StatusForbidden:
		return fmt.Errorf("the registry says %d, and wants a login that may push: podman login "+
			"or docker login writes one into a file that kiln reads", said.StatusCode)
	}
	why := ""
	for _, e := range said.Errors {
		why += ": " + strings.Join(strings.Fields(e.Error()), " ")
		if strings.HasSuffix(e.Code, "_UNKNOWN") {
			why += "; if it takes no list of builds of which some are missing, make the archive " +
				"with --all-platforms"
		}
	}
	return fmt.Errorf("the registry says %d%s", said.StatusCode, why)
}

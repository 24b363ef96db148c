package lock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"kiln.dev/kiln/render/facts/target"
)

// Read reads a file that comes from a server, once for each attempt. size is -1 if the server does
// not say it.
type Read = func(size int64, body io.Reader) error

// Program fetches a file that machines fetch, from the mirror if there is one.
func (l *Locker) Program(ctx context.Context, url string, read Read) error {
	return l.stream(ctx, l.client, target.Mirrored(url, l.Mirror), maxProgram, read)
}

// slowest is the pace, in bytes a second, at which a large part of an image must come.
const slowest = 100_000

// ImagePart fetches a part of an image, of at most limit bytes. Its path begins with manifests/ or
// blobs/.
func (l *Locker) ImagePart(
	ctx context.Context, image, path string, limit int64, read Read,
) error {
	c, from := *l.registries.client, l.registries.repository(image)+"/"+path
	c.whole = max(c.whole, time.Duration(limit/slowest)*time.Second)
	if err := l.stream(ctx, &c, from, limit, read); err != nil && ctx.Err() == nil {
		return l.registries.explained(from, err)
	}
	return nil
}

// stream fetches a file. An error of the disk and other bytes than wanted end it at once.
func (l *Locker) stream(
	ctx context.Context, c *client, from string, limit int64, read Read,
) error {
	if l.Progress != nil {
		_, _ = fmt.Fprintf(l.Progress, "kiln: fetching %s\n", from)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.whole,
		lateError{"the file did not come", c.whole})
	defer cancel()
	return c.get(ctx, from, limit, func(header http.Header, body io.Reader) error {
		size, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
		if err != nil {
			size = -1
		}
		err = read(size, body)
		var disk *fs.PathError
		if errors.As(err, &disk) {
			err = writeError{err}
		} else if errors.Is(err, content.ErrMismatchedDigest) ||
			errors.Is(err, content.ErrTrailingData) {
			err = writeError{fmt.Errorf("%s: has other bytes than those of the lock: the server "+
				"or somebody on the way has changed them; try again from another network", from)}
		}
		return err
	})
}

// Target returns a repository that gets images, such as registry.example.com/k8s/pause. kiln logs
// in there as it does where it asks.
func (l *Locker) Target(repository string) (*remote.Repository, error) {
	r, err := remote.NewRepository(repository)
	if err != nil {
		return nil, err
	}
	r.Client, r.PlainHTTP = l.registries.login, isLoopback(r.Reference.Registry)
	return r, nil
}

// RegistryURL returns the URL of a registry: https://, and http:// for one on this computer.
func RegistryURL(host string) string {
	u := url.URL{Scheme: "https", Host: host}
	if isLoopback(host) {
		u.Scheme = "http"
	}
	return u.String()
}

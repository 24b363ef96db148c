// Package archive puts all images and programs of a cluster's lock into one folder, an image layout
// of OCI, and copies the images from there to a registry. It leaves to package lock how servers are
// asked.
package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"kiln.dev/kiln/cmd/kiln/lock"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/images"
	"kiln.dev/kiln/render/text/wording"
)

// Options say what an archive has, and where that comes from.
type Options struct {
	Dir      string            // the folder
	Programs []target.Artifact // with URL and SHA-256
	Images   []Image
	Arches   []string // only builds for these architectures are fetched; nil means all builds
	From     []string // layouts, as folders or .tar files, that are looked into first
	Prune    bool     // blobs that the lock does not need are removed
	Locker   *lock.Locker
	Note     func(line string) // gets what is worth knowing, such as a blob that is replaced
}

// Image is an image of an archive.
type Image struct {
	Name      string   `json:"name"` // as containerd keeps it
	Digest    string   `json:"digest"`
	Platforms []string `json:"platforms"` // of the builds that are there
}

// Report says what an archive has, and what a run did.
type Report struct {
	Images   []Image `json:"images"`
	Programs int     `json:"programs"`
	Blobs    int     `json:"blobs"` // programs and parts of images
	Bytes    int64   `json:"bytes"` // of these
	Fetched  int     `json:"fetched"`
	Copied   int     `json:"copied"` // from other layouts
	Left     int     `json:"left"`   // blobs that the lock does not need

	// Registries are the rows of machines.registries with which machines pull what was pushed.
	Registries []config.Registry `json:"registries,omitempty"`
}

// Lines returns the report for people.
func (r *Report) Lines() (lines []string) {
	for _, image := range r.Images {
		platforms := strings.Join(image.Platforms, " ")
		lines = append(lines, image.Name+"  "+platforms+"  "+image.Digest)
	}
	line := fmt.Sprintf("%s and %s: %s, %d bytes; %d fetched, %d copied",
		wording.Count(len(r.Images), "image"), wording.Count(r.Programs, "program"),
		wording.Count(r.Blobs, "blob"), r.Bytes, r.Fetched, r.Copied)
	if r.Left > 0 {
		line += fmt.Sprintf("; the lock does not need %d more, which --prune removes", r.Left)
	}
	return append(lines, line)
}

// Wanted returns the images of a cluster, sorted. An image that is named by its digest alone has
// the name that the lock has for it.
func Wanted(list []images.Image, locked []target.Image) (out []Image) {
	for _, image := range list {
		name, digest := target.SplitDigest(image.Reference)
		if name == target.WithoutTag(name) {
			name = image.Reference
		}
		for _, l := range locked {
			if l.Digest == digest && target.WithoutTag(l.Name)+"@"+digest == name {
				name = l.Name
			}
		}
		out = append(out, Image{target.StoredImage(name), digest, []string{}})
	}
	slices.SortFunc(out, func(a, b Image) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	return slices.CompactFunc(out, func(a, b Image) bool {
		return a.Name == b.Name && a.Digest == b.Digest
	})
}

// archive is the folder of one run. Its storage gives a blob its name when all of it is there and
// is right.
type archive struct {
	Options
	Report
	*oci.Storage
	root *os.Root
	from []layout
	has  map[digest.Digest]int64 // the blobs that are right, and their sizes
	seen map[[2]string]bool      // the manifests of each image that were looked at
}

// Make completes an archive, or begins one. Blobs that are there stay if they are right. index.json
// is written when all blobs are there, and SHA256SUMS last. The error joins what is wrong with each
// program and image.
func Make(ctx context.Context, o Options) (*Report, error) {
	a := &archive{Options: o, has: map[digest.Digest]int64{}, seen: map[[2]string]bool{}}
	release, err := a.open()
	if err != nil {
		return nil, err
	}
	defer release()
	outer := ctx
	ctx, stop := context.WithCancel(outer)
	defer stop()
	var failures []error
	fail := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			failures = append(failures, wording.PrefixErrors(what, err))
		}
		if errors.As(err, new(*fs.PathError)) {
			stop() // the disk takes no more
		}
	}
	for i := range o.Programs {
		p := &o.Programs[i]
		fail(p.String(), a.have(ctx, ocispec.Descriptor{
			Digest: digest.NewDigestFromEncoded(digest.SHA256, p.SHA256), Size: int64(p.Size),
		}, func(read lock.Read) error { return o.Locker.Program(ctx, p.URL, read) }))
	}
	var list []ocispec.Descriptor
	a.Report.Images, a.Report.Programs = slices.Clone(o.Images), len(o.Programs)
	for i := range o.Images {
		image := &a.Report.Images[i]
		d := ocispec.Descriptor{Digest: digest.Digest(image.Digest)}
		err := a.image(ctx, image, &d)
		if err == nil && len(image.Platforms) == 0 {
			err = errors.New("has no build that a machine of the cluster runs")
		}
		fail("image "+image.Name, err)
		slices.Sort(image.Platforms)
		image.Platforms = slices.Compact(image.Platforms)
		d.Annotations = map[string]string{
			ocispec.AnnotationRefName:  image.Name,
			"io.containerd.image.name": image.Name, // by which ctr images import knows it
			"dev.kiln.platforms":       strings.Join(image.Platforms, ","),
		}
		list = append(list, d)
	}
	if a.Fetched+a.Copied > 0 {
		folder.NoteChange() // oras wrote that
	}
	const kept = "what came is kept, and the same command goes on"
	switch {
	case outer.Err() != nil:
		return nil, errors.New("interrupted; " + kept)
	case len(failures) > 0:
		return nil, errors.Join(lock.WithAdvice(failures),
			errors.New("the archive is not complete; "+kept))
	}
	return &a.Report, a.finish(list)
}

// image makes sure that the archive has an image, or a list of builds with those that are wanted.
// It completes the descriptor, and adds the platforms of the builds.
func (a *archive) image(ctx context.Context, image *Image, d *ocispec.Descriptor) error {
	key := [2]string{image.Name + "@" + image.Digest, string(d.Digest)}
	if a.seen[key] {
		return nil
	}
	a.seen[key] = true
	err := a.part(ctx, image.Name, "manifests/", *d, lock.MaxManifest)
	if err != nil {
		return err
	}
	m, err := a.manifest(d.Digest)
	if err != nil {
		return err
	}
	d.Size = m.size
	if m.Config == nil {
		d.MediaType = cmp.Or(m.MediaType, ocispec.MediaTypeImageIndex)
		var failures []error
		for i := range m.Manifests {
			build := &m.Manifests[i]
			if p := build.Platform; a.Arches == nil || p == nil ||
				p.OS == "linux" && slices.Contains(a.Arches, p.Architecture) {
				failures = append(failures, a.image(ctx, image, build))
			}
		}
		return errors.Join(failures...)
	}
	d.MediaType = cmp.Or(m.MediaType, ocispec.MediaTypeImageManifest)
	var failures []error
	for _, part := range append(m.Layers, *m.Config) {
		failures = append(failures, a.part(ctx, image.Name, "blobs/", part, part.Size))
	}
	var p ocispec.Platform // of what is an image for containers
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if _, err := a.decode(m.Config.Digest, &p); err == nil && p.Architecture != "" {
		image.Platforms = append(image.Platforms,
			strings.TrimSuffix(p.OS+"/"+p.Architecture+"/"+p.Variant, "/"))
	}
	return nil
}

// manifest is an image, or a list of builds.
type manifest struct {
	MediaType         string
	Config            *ocispec.Descriptor
	Layers, Manifests []ocispec.Descriptor
	size              int64
}

// manifest decodes a manifest that is there.
func (a *archive) manifest(d digest.Digest) (m manifest, err error) {
	m.size, err = a.decode(d, &m)
	if err == nil && m.Config == nil && m.Manifests == nil {
		err = fmt.Errorf("%s: is neither an image nor a list of images", d)
	}
	return m, err
}

// decode decodes a blob of JSON that is there, and returns its size.
func (a *archive) decode(d digest.Digest, into any) (size int64, err error) {
	text, err := folder.ReadInside(a.root, a.Dir, blobs+d.Encoded(), lock.MaxManifest)
	if err == nil {
		err = lock.DecodeManifest(text, into)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", d, err)
	}
	return int64(len(text)), err
}

// part makes sure that the archive has a part of an image.
func (a *archive) part(
	ctx context.Context, name, kind string, d ocispec.Descriptor, limit int64,
) error {
	if !target.IsDigest(string(d.Digest)) || d.Size < 0 || d.Size > limit || limit == 0 {
		return fmt.Errorf("names a part %q of %d bytes; want a SHA-256, and at most %d bytes for "+
			"a manifest", d.Digest, d.Size, lock.MaxManifest)
	}
	return a.have(ctx, d, func(read lock.Read) error {
		return a.Locker.ImagePart(ctx, name, kind+string(d.Digest), limit, read)
	})
}

// have makes sure that the archive has a blob, whose size is 0 if nobody has said it: it is there,
// or another layout has it, or fetch gets it from a server.
func (a *archive) have(
	ctx context.Context, d ocispec.Descriptor, fetch func(lock.Read) error,
) error {
	if size, ok := a.has[d.Digest]; ok {
		if d.Size > 0 && d.Size != size {
			return fmt.Errorf("%s: has %d bytes, and not %d", d.Digest, size, d.Size)
		}
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if in, err := a.Fetch(ctx, d); err == nil {
		d := sized(d, in)
		check := content.NewVerifyReader(in, d)
		_, err := io.Copy(io.Discard, check)
		if errors.Join(err, check.Verify(), in.Close()) == nil {
			a.note(d, new(int))
			return nil
		}
		a.Note(blobs + d.Digest.Encoded() + ": has other bytes than its name says; replacing it")
		if err := a.Delete(ctx, d); err != nil {
			return err
		}
	}
	for _, other := range a.from {
		if in, err := other(blobs + d.Digest.Encoded()); err == nil {
			d := sized(d, in)
			if err = errors.Join(a.Push(ctx, d, in), in.Close()); err == nil {
				a.note(d, &a.Copied)
				return nil
			}
			a.Note(fmt.Sprintf("--from: %s: %s", d.Digest, err))
		}
	}
	err := fetch(func(size int64, body io.Reader) error {
		switch {
		case d.Size > 0:
		case size >= 0:
			d.Size = size
		default:
			text, err := io.ReadAll(io.LimitReader(body, lock.MaxManifest+1))
			if err != nil || len(text) > lock.MaxManifest {
				return cmp.Or(err, errors.New("the server does not say its size; write it into "+
					"the lock"))
			}
			d.Size, body = int64(len(text)), bytes.NewReader(text)
		}
		return a.Push(ctx, d, body)
	})
	if err == nil {
		a.note(d, &a.Fetched)
	}
	return err
}

// sized returns the descriptor of an opened blob, with its size if nobody has said it.
func sized(d ocispec.Descriptor, in io.ReadCloser) ocispec.Descriptor {
	if d.Size > 0 {
		return d
	}
	switch in := in.(type) {
	case part:
		d.Size = in.Size()
	case fs.File:
		if info, err := in.Stat(); err == nil {
			d.Size = info.Size()
		}
	}
	return d
}

// note notes a blob that is right, and counts it where those are counted that came as it did.
func (a *archive) note(d ocispec.Descriptor, counter *int) {
	a.has[d.Digest] = d.Size
	a.Blobs++
	a.Bytes += d.Size
	*counter++
}

package archive

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content/oci"

	"kiln.dev/kiln/cmd/kiln/lock"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/images"
)

// Names in an archive beside those of package images.
const (
	blobs  = images.ArchiveBlobs
	ingest = "ingest" // where oras keeps what is not yet whole
)

// open opens the folder of an archive, which may be new, and keeps other runs away from it until
// release is called. It fails for a folder that has anything else, and if another layout cannot be
// read.
func (a *archive) open() (release func(), err error) {
	for _, name := range a.From {
		other, err := openLayout(name)
		if err == nil {
			var in io.ReadCloser
			if in, err = other(ocispec.ImageLayoutFile); err == nil {
				err = in.Close()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--from %s: %w; want a folder with %s, or what "+
				"tar -C FOLDER -cf FILE.tar . makes of it", name, err, ocispec.ImageLayoutFile)
		}
		a.from = append(a.from, other)
	}
	if a.root, release, err = folder.Hold(a.Dir); err != nil {
		return nil, err
	}
	if err = a.adopt(); err != nil {
		err = fmt.Errorf("%s: %w; name another folder with --out", a.Dir, err)
	} else if err = a.root.RemoveAll(ingest); err == nil {
		a.Storage, err = oci.NewStorage(a.Dir)
	}
	if err != nil {
		release()
	}
	return release, err
}

// layout opens a file of an image layout. Only blobs are of use, which have to be what their names
// say. Nothing else is trusted: oras reads an index of any size, and allocates what a manifest
// says.
type layout func(name string) (io.ReadCloser, error)

// part is a file in a tar file.
type part struct{ *io.SectionReader }

func (part) Close() error { return nil }

// openLayout opens a layout that is a folder or a tar file.
func openLayout(name string) (layout, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return func(file string) (io.ReadCloser, error) {
			return folder.OpenInside(name, file)
		}, nil
	}
	if err == nil && !info.Mode().IsRegular() { // a pipe would make it wait
		err = folder.ErrIrregular
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	files := map[string]part{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		at, seek := f.Seek(0, io.SeekCurrent)
		if err := errors.Join(err, seek); err != nil {
			return nil, err
		}
		files[path.Clean(h.Name)] = part{io.NewSectionReader(f, at, h.Size)}
	}
	return func(file string) (io.ReadCloser, error) {
		in, ok := files[file]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
		}
		return in, nil
	}, nil
}

// adopt returns an error if the folder is neither an archive nor one that was begun, and if it has
// a link, through which files elsewhere would be written.
func (a *archive) adopt() error {
	err := fs.WalkDir(a.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !e.Type().IsRegular() {
			err = fmt.Errorf("%s: %w", name, folder.ErrIrregular)
		}
		return err
	})
	if err != nil {
		return err
	}
	text, err := folder.ReadInside(a.root, a.Dir, ocispec.ImageIndexFile, lock.MaxManifest)
	switch {
	case err == nil && !strings.Contains(string(text), images.ArchiveType):
		return errors.New("an image layout that kiln archive did not make")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	list, err := fs.ReadDir(a.root.FS(), ".")
	for _, e := range list {
		if !slices.Contains([]string{
			ocispec.ImageBlobsDir, ingest, ocispec.ImageLayoutFile, images.LockFile,
			filepath.Clean(images.ArchiveParts),
		}, strings.TrimSuffix(e.Name(), folder.Suffix)) {
			return fmt.Errorf("no archive, because it has %s", e.Name())
		}
	}
	return err
}

// finish writes the files that name the blobs, and removes or counts the blobs that no one names.
func (a *archive) finish(list []ocispec.Descriptor) error {
	index, err := json.MarshalIndent(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		ArtifactType: images.ArchiveType, Manifests: list,
	}, "", "  ")
	if err != nil {
		return err
	}
	locked := config.Locked{Artifacts: a.Options.Programs}
	files := map[string][]byte{
		ocispec.ImageLayoutFile: []byte(`{"imageLayoutVersion": "1.0.0"}` + "\n"),
		ocispec.ImageIndexFile:  append(index, '\n'), images.LockFile: locked.Encode(),
	}
	for _, image := range list {
		parts := map[string]string{}
		if err := a.parts(image, "", "", parts, map[digest.Digest]bool{}); err != nil {
			return err
		}
		for arch, lines := range parts {
			name := images.ArchiveParts + arch + "/" + image.Digest.Encoded()
			files[name] = fmt.Appendf(nil, "%s %d\n%s", image.MediaType, image.Size, lines)
		}
	}
	if a.Prune { // machines of an older lock read what is left
		if err := a.root.RemoveAll(filepath.Clean(images.ArchiveParts)); err != nil {
			return err
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		lines = append(lines, digest.FromBytes(files[name]).Encoded()+"  "+name+"\n")
		if err := a.write(name, files[name]); err != nil {
			return err
		}
	}
	there, err := fs.ReadDir(a.root.FS(), filepath.Clean(blobs))
	for _, e := range there {
		_, wanted := a.has[digest.NewDigestFromEncoded(digest.SHA256, e.Name())]
		switch {
		case wanted:
			lines = append(lines, e.Name()+"  "+blobs+e.Name()+"\n")
		case a.Prune:
			err = errors.Join(err, a.root.Remove(blobs+e.Name()))
		default:
			a.Left++
		}
	}
	if err = errors.Join(err, a.root.RemoveAll(ingest)); err != nil {
		return err
	}
	return errors.Join(folder.Sync(a.Dir),
		a.write(images.ArchiveSums, []byte(strings.Join(lines, ""))))
}

// parts adds the blobs of an image, or of the builds of a list that are there, to those of each
// architecture, a line each. above has the lines of the lists that lead to the image, and arch is
// what they say of it.
func (a *archive) parts(
	d ocispec.Descriptor, arch, above string, to map[string]string, seen map[digest.Digest]bool,
) error {
	if seen[d.Digest] {
		return nil
	}
	seen[d.Digest] = true
	m, err := a.manifest(d.Digest)
	if err != nil {
		return err
	}
	line := func(d ocispec.Descriptor) string { return blobs + d.Digest.Encoded() + "\n" }
	above += line(d)
	for _, build := range m.Manifests {
		_, there := a.has[build.Digest]
		if p := build.Platform; p != nil && p.OS == "linux" && there {
			if err := a.parts(build, p.Architecture, above, to, seen); err != nil {
				return err
			}
		}
	}
	if m.Config == nil {
		return nil
	}
	if arch == "" {
		var p ocispec.Platform
		if _, err := a.decode(m.Config.Digest, &p); err != nil {
			return err
		}
		arch = p.Architecture
	}
	if !fs.ValidPath(arch) || strings.Contains(arch, "/") {
		return nil // no machine has it
	}
	to[arch] += above
	for _, part := range append(m.Layers, *m.Config) {
		to[arch] += line(part)
	}
	return nil
}

// write replaces a small file.
func (a *archive) write(name string, text []byte) error {
	if err := a.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return folder.Write(folder.File{
		Path: filepath.Join(a.Dir, name), Mode: 0o644, Ours: func([]byte) bool { return true },
	}, text)
}

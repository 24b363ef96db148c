package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the format of the packages
	"github.com/goreleaser/nfpm/v2/files"
)

// addArchive writes an archive with a program, and returns its hash.
func (m *maker) addArchive(base string, program []byte) (sha256sum string, err error) {
	entries := []entry{{base + "/kiln", 0o755, program}}
	for _, e := range m.common {
		entries = append(entries, entry{base + "/" + e.path, e.mode, e.data})
	}
	packed, err := packTar(entries, m.date)
	if err != nil {
		return "", err
	}
	if packed, err = zipped(packed); err != nil {
		return "", err
	}
	sum := sha256.Sum256(packed)
	return hex.EncodeToString(sum[:]),
		os.WriteFile(filepath.Join(m.out, base+".tar.gz"), packed, 0o644)
}

// packTar returns an archive of files that belong to root, in the order of their paths, with the
// folders that hold them.
func packTar(entries []entry, date time.Time) ([]byte, error) {
	folders := map[string]bool{".": true, "/": true}
	var all []entry
	for _, e := range entries {
		for dir := path.Dir(e.path); !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
			all = append(all, entry{dir + "/", 0o755, nil})
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		kind := byte(tar.TypeReg)
		if strings.HasSuffix(e.path, "/") {
			kind = tar.TypeDir
		}
		if err := w.WriteHeader(&tar.Header{
			Name: e.path, Mode: e.mode, Size: int64(len(e.data)), ModTime: date, Typeflag: kind,
		}); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// addDeb writes a package for Debian and Ubuntu with the program at that path.
func (m *maker) addDeb(arch, program string) error {
	list := files.Contents{{Source: program, Destination: "/usr/bin/kiln",
		FileInfo: &files.ContentFileInfo{Mode: 0o755}}}
	for _, e := range m.common {
		place, compressed := debianPath(e.path)
		data := e.data
		if compressed {
			var err error
			if data, err = zipped(data); err != nil {
				return err
			}
		}
		source := filepath.Join(m.work, "deb", place)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(source, data, 0o644); err != nil {
			return err
		}
		list = append(list, &files.Content{Source: source, Destination: place,
			FileInfo: &files.ContentFileInfo{Mode: 0o644}})
	}
	for _, c := range list {
		c.FileInfo.Owner, c.FileInfo.Group, c.FileInfo.MTime = "root", "root", m.date
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "kiln", Arch: arch, Platform: "linux", Version: m.version, Section: "admin",
		Priority: "optional", Maintainer: maintainer, Homepage: homepage,
		License: "Apache-2.0", MTime: m.date, DisableGlobbing: true,
		Description: "offline renderer for Kubernetes machines\n" +
			"One cluster.yaml and one small bundle of secrets become one finished boot document\n" +
			"per machine, as Ignition or cloud-init.",
		Overridables: nfpm.Overridables{Contents: list, Umask: 0o022},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	name := "kiln_" + m.number() + "_" + arch + ".deb"
	return os.WriteFile(filepath.Join(m.out, name), b.Bytes(), 0o644)
}

// debianPath returns where a package for Debian has a file that archives have at p, and whether it
// is compressed there. Debian's policy, chapter 12, says so of man pages and the changelog.
func debianPath(p string) (place string, compressed bool) {
	base := path.Base(p)
	switch {
	case strings.HasPrefix(p, manPages):
		return "/usr/share/man/man1/" + base + ".gz", true
	case p == completions+"kiln.bash":
		return "/usr/share/bash-completion/completions/kiln", false
	case p == completions+"_kiln":
		return "/usr/share/zsh/vendor-completions/_kiln", false
	case p == completions+"kiln.fish":
		return "/usr/share/fish/vendor_completions.d/kiln.fish", false
	case base == "LICENSE":
		return "/usr/share/doc/kiln/copyright", false
	case base == "CHANGELOG.md":
		return "/usr/share/doc/kiln/changelog.gz", true
	}
	return "/usr/share/doc/kiln/" + base, false
}

// addImage writes an OCI layout, as an archive, of an image for each platform with Linux. An image
// holds the program and the licenses, and no system.
func (m *maker) addImage(programs map[string][]byte) error {
	var index v1.ImageIndex = empty.Index
	index = mutate.IndexMediaType(index, types.OCIImageIndex)
	labels := map[string]string{
		"org.opencontainers.image.title":    "kiln",
		"org.opencontainers.image.version":  m.version,
		"org.opencontainers.image.revision": m.commit,
		"org.opencontainers.image.created":  m.date.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	for _, platform := range slices.Sorted(slices.Values(platforms)) {
		system, arch, _ := strings.Cut(platform, "/")
		if programs[platform] == nil || system != "linux" {
			continue
		}
		image, err := m.makeImage(arch, programs[platform], labels)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: arch}}})
	}
	dir := filepath.Join(m.work, "oci")
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	name := m.module + ":" + m.version
	if err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          name,
		"org.opencontainers.image.ref.name": m.version,
	})); err != nil {
		return err
	}
	return m.packFolder(dir, "kiln_"+m.number()+"_oci.tar")
}

// makeImage returns the image of one architecture.
func (m *maker) makeImage(arch string, program []byte, labels map[string]string) (v1.Image, error) {
	entries := []entry{{"kiln", 0o755, program}}
	for _, e := range m.common {
		if strings.HasPrefix(e.path, "LICENSE") {
			entries = append(entries, e)
		}
	}
	packed, err := packTar(entries, m.date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	created := v1.Time{Time: m.date}
	if image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: created, CreatedBy: "make release"},
	}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, created
	config.Config = v1.Config{
		Entrypoint: []string{"/kiln"}, WorkingDir: "/work", User: "65532:65532", Labels: labels,
	}
	return mutate.ConfigFile(image, config)
}

// packFolder writes an archive of all that lies in a folder.
func (m *maker) packFolder(dir, name string) error {
	var entries []entry
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, p))
		entries = append(entries, entry{p, 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	packed, err := packTar(entries, m.date)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.out, name), packed, 0o644)
}

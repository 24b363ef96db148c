// Command mkimg packs programs into a container image, as an OCI image layout in one tar file that
// `ctr images import` understands.
//
//	mkimg [-base LAYER.tar] [-entrypoint "PROGRAM ARG…"] [-cmd "ARG…"] \
//	    REFERENCE OUT.tar PATH=FILE…
//
// The image is called REFERENCE and holds each FILE, executable, at PATH, on top of the root file
// system in LAYER.tar if there is one. The layout's few JSON documents are simple enough to need no
// library: https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
)

func main() {
	base := flag.String("base", "", "uncompressed tar `file` of the lowest layer")
	entrypoint := flag.String("entrypoint", "", "the image's entry point, split at spaces")
	cmd := flag.String("cmd", "", "the arguments that a pod may replace, split at spaces")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr,
			"usage: mkimg [-base LAYER.tar] [-entrypoint WORDS] [-cmd WORDS] REFERENCE OUT.tar "+
				"PATH=FILE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() < 2 || *base == "" && flag.NArg() == 2 {
		flag.Usage()
		os.Exit(2)
	}
	reference, out, files := flag.Arg(0), flag.Arg(1), flag.Args()[2:]
	command, arguments := strings.Fields(*entrypoint), strings.Fields(*cmd)
	if err := run(*base, command, arguments, reference, out, files); err != nil {
		fmt.Fprintln(os.Stderr, "mkimg:", err)
		os.Exit(1)
	}
}

// run writes the image to the file out, which appears only when it is whole.
func run(
	base string, entrypoint, cmd []string, reference, out string, programs []string,
) error {
	var layers []layer
	if base != "" {
		content, err := os.ReadFile(base)
		if err != nil {
			return err
		}
		layers = append(layers, pack(content))
	}
	top, err := programLayer(programs)
	if err != nil {
		return err
	}
	layers = append(layers, pack(top))

	archive, err := imageLayout(reference, entrypoint, cmd, layers)
	if err != nil {
		return fmt.Errorf("image %s: %w", reference, err)
	}
	if err := os.WriteFile(out+".part", archive, 0o644); err != nil {
		return err
	}
	return os.Rename(out+".part", out)
}

// programLayer returns the tar of a layer with the given PATH=FILE programs and an empty /tmp.
func programLayer(programs []string) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	made := map[string]bool{}
	mkdir := func(dir string, mode int64) error {
		if made[dir] {
			return nil
		}
		made[dir] = true
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode})
	}
	if err := mkdir("tmp", 0o1777); err != nil {
		return nil, err
	}
	for _, program := range programs {
		name, file, ok := strings.Cut(program, "=")
		if !ok || !path.IsAbs(name) {
			return nil, fmt.Errorf("%q is not /PATH=FILE", program)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name = strings.TrimPrefix(path.Clean(name), "/")
		for i, r := range name {
			if r == '/' {
				if err := mkdir(name[:i], 0o755); err != nil {
					return nil, err
				}
			}
		}
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(content)),
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), w.Close()
}

// layer is a compressed layer with the digest of its uncompressed form, which the image's
// configuration names.
type layer struct {
	blob   []byte
	diffID string
}

func pack(content []byte) layer {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed) // fails only for unknown levels
	_, _ = w.Write(content)                           // a bytes.Buffer takes everything
	_ = w.Close()
	return layer{blob: buf.Bytes(), diffID: digest(content)}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// descriptor points at a blob of the layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// imageLayout returns the tar of an OCI image layout with the one image.
func imageLayout(
	reference string, entrypoint, cmd []string, layers []layer,
) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	file := func(name string, content []byte) error {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)),
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	blob := func(mediaType string, content []byte) (descriptor, error) {
		d := digest(content)
		err := file("blobs/sha256/"+strings.TrimPrefix(d, "sha256:"), content)
		return descriptor{MediaType: mediaType, Digest: d, Size: len(content)}, err
	}
	document := func(mediaType string, value any) (descriptor, error) {
		content, err := json.Marshal(value)
		if err != nil {
			return descriptor{}, err
		}
		return blob(mediaType, content)
	}

	var diffIDs []string
	var layerDescriptors []descriptor
	for _, l := range layers {
		d, err := blob("application/vnd.oci.image.layer.v1.tar+gzip", l.blob)
		if err != nil {
			return nil, err
		}
		layerDescriptors = append(layerDescriptors, d)
		diffIDs = append(diffIDs, l.diffID)
	}
	config, err := document("application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": "amd64",
		"os":           "linux",
		"config": map[string]any{
			"Env": []string{
				"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			},
			"Entrypoint": entrypoint,
			"Cmd":        cmd,
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": diffIDs},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := document("application/vnd.oci.image.manifest.v1+json", map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.oci.image.manifest.v1+json",
		"config":        config,
		"layers":        layerDescriptors,
	})
	if err != nil {
		return nil, err
	}
	// containerd names the imported image by this annotation; the specification has none for whole
	// references.
	manifest.Annotations = map[string]string{"io.containerd.image.name": reference}
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "manifests": []descriptor{manifest},
	})
	if err != nil {
		return nil, err
	}
	if err := file("index.json", index); err != nil {
		return nil, err
	}
	if err := file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

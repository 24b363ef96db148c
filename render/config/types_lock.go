package config

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/render/facts/target"
)

// KindLock is the kind of a lock.
const KindLock = "Lock"

// Lock is the file beside cluster.yaml that names every file which machines may fetch, and on
// request the content of every image that they run. Without a lock they fetch the files of kiln's
// own table.
type Lock struct {
	// APIVersion is the version of this file's format.
	APIVersion string `json:"apiVersion" enum:"kiln.dev/v1alpha1"`
	// Kind says that this file is a lock.
	Kind string `json:"kind" enum:"Lock"`
	// Artifacts are the files.
	Artifacts []LockedArtifact `json:"artifacts"`
	// Images are the images that machines may run. Without this list images are not locked.
	Images []LockedImage `json:"images,omitempty"`
}

// LockedImage is an image that machines may run.
type LockedImage struct {
	// Name is its reference without a digest, as the configuration or an add-on writes it.
	Name string `json:"name" example:"registry.k8s.io/pause:3.10.2"`
	// Digest is what the registry has under that name.
	Digest string `json:"digest" example:"sha256: and 64 hexadecimal digits"`
}

// LockedArtifact is a file that machines may fetch.
type LockedArtifact struct {
	// Name is the program.
	Name string `json:"name" table:"programs"`
	// Version is its version, as the configuration names it.
	Version string `json:"version" example:"v1.36.3"`
	// Arch is the processor architecture.
	Arch string `json:"arch" enum:"amd64,arm64"`
	// URL is where machines fetch it, unless they have a mirror.
	URL string `json:"url" example:"https://dl.k8s.io/release/v1.36.3/bin/linux/amd64/kubelet"`
	// SHA256 is its SHA-256 in hexadecimal digits.
	SHA256 string `json:"sha256" example:"64 hexadecimal digits"`
	// Size is its size in bytes, if it is known; kiln lock --check compares it.
	Size int `json:"size,omitempty"`
}

// Locked is what a lock has.
type Locked struct {
	// Artifacts are the files that machines may fetch.
	Artifacts []target.Artifact
	// Images are the images that machines may run; nil if the lock says nothing about images.
	Images []target.Image
}

// Encode returns the bytes of a lock.
func (l *Locked) Encode() []byte {
	var b strings.Builder
	b.WriteString("# What machines fetch at their first boot. kiln lock writes this file; commit " +
		"it.\napiVersion: " + APIVersion + "\nkind: " + KindLock + "\nartifacts:")
	if len(l.Artifacts) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, a := range l.Artifacts {
		fmt.Fprintf(&b, "- name: %s\n  version: %q\n  arch: %s\n  url: %q\n  sha256: %q\n",
			a.Name, a.Version, a.Arch, a.URL, a.SHA256)
		if a.Size > 0 {
			fmt.Fprintf(&b, "  size: %d\n", a.Size)
		}
	}
	if l.Images != nil {
		b.WriteString("images:")
		if len(l.Images) == 0 {
			b.WriteString(" []")
		}
		b.WriteString("\n")
	}
	for _, i := range l.Images {
		fmt.Fprintf(&b, "- name: %q\n  digest: %q\n", i.Name, i.Digest)
	}
	return []byte(b.String())
}

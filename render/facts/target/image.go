package target

import (
	"regexp"
	"strings"
)

// Image is an image with its content fixed.
type Image struct {
	// Name is its reference without a digest, as the configuration or an add-on writes it.
	Name string `json:"name"`
	// Digest is that of what the registry has under the name: of the list of its builds, if it has
	// one for several architectures.
	Digest string `json:"digest"`
}

var digestText = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsDigest reports whether a string is the digest of an image, in lower-case hexadecimal digits.
func IsDigest(text string) bool { return digestText.MatchString(text) }

// SplitDigest returns an image's reference before and after the @; "" without a digest.
func SplitDigest(reference string) (name, digest string) {
	name, digest, _ = strings.Cut(reference, "@")
	return name, digest
}

// WithoutTag returns the name of an image without its tag.
func WithoutTag(name string) string {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i]
	}
	return name
}

const dockerHub = "docker.io"

// RegistryServer returns the host that answers for a registry.
func RegistryServer(host string) string {
	if host == dockerHub {
		return "registry-1.docker.io"
	}
	return host
}

// ImageParts returns the registry of an image, its repository there, and its tag or digest. With
// both, the digest alone counts. These are containerd's rules
// (github.com/distribution/reference, ParseDockerRef).
func ImageParts(reference string) (host, repository, version string) {
	name, version := SplitDigest(reference)
	host, repository, ok := strings.Cut(WithoutTag(name), "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" &&
		host == strings.ToLower(host) {
		host, repository = dockerHub, WithoutTag(name)
	}
	if host == "index.docker.io" {
		host = dockerHub
	}
	if host == dockerHub && !strings.Contains(repository, "/") {
		repository = "library/" + repository
	}
	if version == "" {
		if version = strings.TrimPrefix(name[len(WithoutTag(name)):], ":"); version == "" {
			version = "latest"
		}
	}
	return host, repository, version
}

// StoredImage returns the name under which containerd keeps an image.
func StoredImage(reference string) string {
	host, repository, version := ImageParts(reference)
	if _, digest := SplitDigest(reference); digest != "" {
		return host + "/" + repository + "@" + version
	}
	return host + "/" + repository + ":" + version
}

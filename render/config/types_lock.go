package config

// KindLock is the kind of a lock.
const KindLock = "Lock"

// Lock is the file beside cluster.yaml that names every file which machines may fetch. Without a
// lock they fetch those of kiln's own table.
type Lock struct {
	// APIVersion is the version of this file's format.
	APIVersion string `json:"apiVersion" enum:"kiln.dev/v1alpha1"`
	// Kind says that this file is a lock.
	Kind string `json:"kind" enum:"Lock"`
	// Artifacts are the files.
	Artifacts []LockedArtifact `json:"artifacts"`
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

package render

import (
	"path/filepath"

	"kiln/render/folder"
)

// Twin is what the INDEX of a review twin says of the twin.
type Twin struct {
	Name, Cluster string   // the cluster's name and UUID
	Folders       []string // the folders that are the twin's, below its own
}

// ReadTwin returns the review twin in a folder, or nil if the folder holds none: it has no INDEX,
// or that of something else.
func ReadTwin(dir string) *Twin {
	name := filepath.Join(dir, IndexFile)
	data, err := folder.Read(name, maxTwinIndex)
	if err != nil {
		return nil
	}
	there, err := parseTwin(name, data)
	if err != nil {
		return nil
	}
	return &Twin{Name: there.name, Cluster: there.cluster, Folders: there.folders}
}

// maxTwinIndex bounds the INDEX of a twin: that of 100,000 machines has less.
const maxTwinIndex = 256 << 20

package render

import (
	"path/filepath"

	"kiln/render/folder"
	"kiln/render/review"
)

// ReadTwin returns the review twin in a folder, or nil if the folder holds none: it has no INDEX,
// or that of something else.
func ReadTwin(dir string) *review.Heading {
	name := filepath.Join(dir, review.IndexFile)
	data, err := folder.Read(name, maxTwinIndex)
	if err != nil {
		return nil
	}
	there, err := review.ParseHeading(name, data)
	if err != nil {
		return nil
	}
	return there
}

// maxTwinIndex bounds the INDEX of a twin: that of 100,000 machines has less.
const maxTwinIndex = 256 << 20

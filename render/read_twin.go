package render

import (
	"path/filepath"

	"kiln/render/folder"
	"kiln/render/review"
)

// ReadTwin returns the heading of the review twin in the folder dir. It returns nil if the folder
// holds none: if its INDEX is missing or is not that of a twin.
func ReadTwin(dir string) *review.Heading {
	name := filepath.Join(dir, review.IndexFile)
	data, err := folder.Read(name, maxTwinIndex)
	if err != nil {
		return nil
	}
	heading, err := review.ParseHeading(name, data)
	if err != nil {
		return nil
	}
	return heading
}

// maxTwinIndex is how many bytes the INDEX of a twin may have. The INDEX of 100,000 machines is
// smaller.
const maxTwinIndex = 256 << 20

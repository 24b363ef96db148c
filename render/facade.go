package render

import (
	"kiln/render/change"
	"kiln/render/document"
	"kiln/render/review"
)

// Types that callers get from this package, each under the name that it has in the package that
// makes it.
type (
	Document  = document.Document
	Output    = document.Output
	Inventory = document.Inventory
	Entry     = document.Entry
	Body      = document.Body
	Unpacked  = review.Unpacked
)

// IndexFile is the list of files of a review twin, and of each folder in it.
const IndexFile = review.IndexFile

// ErrBody is in the chain of an error if a body does not belong to its document.
var ErrBody = review.ErrBody

// ParseDocument reads a boot document in any form in which a cloud or a person hands it over.
func ParseDocument(doc []byte) (*Unpacked, error) { return review.ParseDocument(doc) }

// FilesState reads a review twin from its files, which are given by their paths below its folder.
func FilesState(files map[string][]byte) (*change.Cluster, error) { return review.Read(files) }

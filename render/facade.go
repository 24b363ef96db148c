package render

import (
	"kiln/render/change"
	"kiln/render/document"
	"kiln/render/review"
)

// What callers of this package hold in their hands, by the names of the rooms that make it.
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

// ErrBody is the cause when a body is not the one of its document.
var ErrBody = review.ErrBody

// ParseDocument reads a boot document in any form in which it is delivered or shown.
func ParseDocument(doc []byte) (*Unpacked, error) { return review.ParseDocument(doc) }

// FilesState reads the review twin that consists of these files, by their paths below its folder.
func FilesState(files map[string][]byte) (*change.Cluster, error) { return review.Read(files) }

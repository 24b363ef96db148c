package render

import (
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// What follows stands here under a second name because the verbs import the driver and not the
// rooms that make documents and review twins: what a verb can ask for has passed the checks.

type (
	// Output is the folder that a render wrote; kiln iso and kiln netboot read it.
	Output = document.Output
	// Inventory is its list of documents, which kiln render reports.
	Inventory = document.Inventory
	// Entry is a document in the inventory; the verbs that hand out documents read it.
	Entry = document.Entry
	// Unpacked is a document as Unpack returns it to kiln unpack.
	Unpacked = review.Unpacked
	// UnpackedBody is the body that such a document lacks.
	UnpackedBody = review.UnpackedBody
)

// NetbootFile is the list of the files that kiln netboot writes. The guard of twins knows its
// folder by it.
const NetbootFile = document.NetbootFile

// IndexFile is the list of files of a review twin, and of each folder in it. kiln diff and the
// guard of twins know a twin by it.
const IndexFile = review.IndexFile

// FilesState reads a review twin from its files, which are given by their paths below its folder.
// kiln diff takes them from a revision of git.
func FilesState(files map[string][]byte) (*change.Cluster, error) { return review.Read(files) }

package render

import (
	"kiln/render/document"
)

// What callers of this package hold in their hands, by the names of the rooms that make it.
type (
	Document  = document.Document
	Output    = document.Output
	Inventory = document.Inventory
	Entry     = document.Entry
	Body      = document.Body
)

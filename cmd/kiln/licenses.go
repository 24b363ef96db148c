// This file holds the licenses and notices of what is linked into kiln.

package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
)

// packed is the text, compressed: it would make the program larger by its size. TestLicenses writes
// it.
//
//go:embed licenses.txt.gz
var packed []byte

// licenseText returns the licenses and notices of Go and of all modules in the program, on each of
// its systems: the modules by their paths, each with the numbers of its texts, and then the texts,
// each once.
func licenseText() (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("licenses: %w", err)
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

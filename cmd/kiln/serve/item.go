package serve

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"kiln/render/folder"
)

// maxServed bounds a file; a document is a thousandth of it.
const maxServed = 64 << 20

// item is one thing that is served.
type item struct {
	path string // of its URL
	node string // whose it is; empty if it is nobody's

	dir, file string // where it lies; a file without a name is empty
	sum       string // its SHA-256 or SHA-512, if the inventory has it
	once      bool   // it holds secrets
	body      bool   // it is what a machine fetches beside its document
	pool      bool   // for many machines
	closes    *item  // the document with which it closes
	holds     *item  // the document that is in it, if it is an initrd
	image     bool   // a kernel or an initrd of a system, which may be large
}

// open opens the item, of so many bytes.
func (it *item) open() (io.ReadCloser, int64, error) {
	if it.file == "" {
		return io.NopCloser(strings.NewReader("")), 0, nil
	}
	f, err := folder.OpenInside(it.dir, it.file)
	switch {
	case errors.Is(err, folder.ErrIrregular):
		return nil, 0, folder.ErrIrregular
	case err != nil:
		return nil, 0, errors.New("it cannot be read")
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = errors.New("it cannot be read")
	case info.Size() > maxServed && !it.image:
		err = fmt.Errorf("it is larger than %d MiB", maxServed>>20)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// read returns the item's bytes. They are those that the inventory lists, or the folder is being written, and the machine has to wait. An initrd
// holds the document that the inventory lists.
func (it *item) read() ([]byte, error) {
	f, _, err := it.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxServed+1))
	switch {
	case err != nil:
		return nil, errors.New("it cannot be read")
	case len(data) > maxServed:
		return nil, fmt.Errorf("it is larger than %d MiB", maxServed>>20)
	}
	if it.sum != "" && it.sum != hexSum(data, len(it.sum)) {
		return nil, errors.New("it is not what inventory.json lists, or listed when the server began; " +
			"when kiln render has ended, end kiln serve and start it again")
	}
	return data, it.older(data)
}

// hexSum is the SHA-512 of data, if that has so many digits, or its SHA-256.
func hexSum(data []byte, digits int) string {
	if digits == 2*sha512.Size {
		sum := sha512.Sum512(data)
		return hex.EncodeToString(sum[:])
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

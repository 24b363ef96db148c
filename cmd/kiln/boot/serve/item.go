package serve

import (
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/render/folder"
)

// maxServed bounds the size of a file that is no image. A document has a thousandth of it.
const maxServed = 64 << 20

// item is one file that the server serves.
type item struct {
	path string // of its URL
	node string // the machine or pool that it belongs to; empty if it belongs to none

	dir   string // the folder of the file
	file  string // the path of the file in it; the content is empty if there is no file
	sum   string // the SHA-256 or SHA-512 of the content, if the inventory has it
	given string // the SHA-256 of a document or body, which the state knows it by
	once  bool   // it holds secrets, and is given once
	body  bool   // it is fetched beside a document
	pool  bool   // it is for many machines
	image bool   // it is a kernel or an initrd of a system, and may be large

	public bool // everybody gets it, any number of times
	parts  bool // a client may ask for a part of it, and for its head alone

	closes *item // the document after which it is no longer given
	// installs is the document that the machine of a script installs on its disk.
	installs          *item
	holds             *item  // the document inside an initrd
	digest, mediaType string // of a part of an image in an archive
	// announces is the machine that announces its state at this path, where nothing is given.
	announces *announce.Machine
}

// Errors of an item. The log names the item beside them.
var (
	errUnread   = errors.New("it cannot be read")
	errTooLarge = fmt.Errorf("it is larger than %d MiB", maxServed>>20)
)

// open opens the item and returns its size. It fails if the file cannot be read, is a link or no
// regular file, is too large, or is for everybody and holds what not everybody may read.
func (it *item) open() (io.ReadCloser, int64, error) {
	if it.file == "" {
		return io.NopCloser(strings.NewReader("")), 0, nil
	}
	f, err := folder.OpenUnlinked(it.dir, it.file)
	for _, known := range []error{folder.ErrIrregular, folder.ErrLink} {
		if errors.Is(err, known) {
			return nil, 0, known
		}
	}
	if err != nil {
		return nil, 0, errUnread
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = errUnread
	case info.Size() > maxServed && !it.image:
		err = errTooLarge
	case it.public:
		err = checkPublic(it.file, f)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// checkPublic returns an error if not everybody may read a file that lies at path.
func checkPublic(path string, f io.ReaderAt) error {
	head := make([]byte, media.HeadSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return errUnread
	}
	return media.CheckPublic(path, head[:n])
}

// test returns the error of open.
func (it *item) test() error {
	f, _, err := it.open()
	if err == nil {
		_ = f.Close()
	}
	return err
}

// read returns the content of the item. It fails if the content is not the one that the inventory
// lists: then the folder is being written, and the machine has to wait. It fails with errOlder if
// the item is an initrd with an older document.
func (it *item) read() ([]byte, error) {
	f, _, err := it.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxServed+1))
	switch {
	case err != nil:
		return nil, errUnread
	case len(data) > maxServed:
		return nil, errTooLarge
	}
	if it.sum != "" && it.sum != hexSum(data, len(it.sum)) {
		return nil, errors.New("it is not what inventory.json lists, or listed when the server " +
			"began; when kiln render has ended, end kiln serve and start it again")
	}
	return data, it.checkDocument(data)
}

// know reads a document or a body for the first time, so that the server knows it without reading
// it. It fails as read does, and so does every later read of another content.
func (it *item) know() error {
	data, err := it.read()
	it.given = hexSum(data, 0)
	it.sum = cmp.Or(it.sum, it.given)
	return err
}

// document returns the document that the item gives: the one inside an initrd, or the item itself.
// An initrd and its document count as one, so that the keys in them are given once.
func (it *item) document() *item {
	if it.holds != nil {
		return it.holds
	}
	return it
}

// hexSum returns the SHA-512 of data if that has this number of hexadecimal digits, or else its
// SHA-256.
func hexSum(data []byte, digits int) string {
	if digits == 2*sha512.Size {
		sum := sha512.Sum512(data)
		return hex.EncodeToString(sum[:])
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

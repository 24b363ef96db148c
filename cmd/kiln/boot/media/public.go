package media

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"kiln.dev/kiln/cmd/kiln/boot/media/iso9660"
)

// HeadSize is the number of bytes at the beginning of a file that CheckPublic needs.
const HeadSize = iso9660.HeadSize

// Errors of CheckPublic.
var (
	errScript = errors.New("not a script of iPXE, which begins with #!ipxe")
	errConfig = errors.New("not a configuration of kiln netboot that installs a machine")
	errText   = errors.New("neither a kernel nor an initrd: it is text")
	errAge    = errors.New("neither a kernel nor an initrd: it is encrypted with age")
	errImage  = errors.New("a disk image of kiln iso, which holds a machine's document")
	errInitrd = errors.New("an initrd that holds a machine's document")
)

// CheckPublic returns an error if everybody on the network must not read a file that lies at path
// below the address of a network boot. head holds the first HeadSize bytes of the file, or all of
// it. Scripts and installers must be such files. A kernel or an initrd may be anything but text,
// because keys, kubeconfigs, bundles and documents are text, and anything but the images and
// initrds that kiln made for one machine.
func CheckPublic(path string, head []byte) error {
	switch {
	case strings.HasSuffix(path, ".ipxe"):
		if !bytes.HasPrefix(head, []byte("#!ipxe")) {
			return errScript
		}
		return nil
	case strings.HasPrefix(path, "installer/"):
		if !isPublicInstaller(head) {
			return errConfig
		}
		return nil
	case iso9660.Made(head):
		return errImage
	}
	return errors.Join(checkImage(head), checkImage(unzip(head)))
}

// checkImage returns an error if the head of a file is not that of a kernel or an initrd.
func checkImage(head []byte) error {
	switch {
	case len(head) == 0:
		return nil
	case bytes.HasPrefix(head, []byte("age-encryption.org/")):
		return errAge
	case bytes.HasPrefix(head, []byte(magic)):
		// Both systems with Ignition read this name in an initrd, and so does coreos-installer.
		if bytes.Contains(head, []byte("config.ign\x00")) {
			return errInitrd
		}
		return nil
	case isText(head):
		return errText
	}
	return nil
}

// sniffed is the number of bytes of a file that tell text from anything else.
const sniffed = 512

// isText reports whether the head of a file is text. Compressed data and programs have control
// characters at once, and text has none but the usual ones (WHATWG, MIME Sniffing, section 7.1).
func isText(head []byte) bool {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} { // of UTF-16
		if bytes.HasPrefix(head, []byte(mark)) {
			return true
		}
	}
	return !bytes.ContainsFunc(head[:min(len(head), sniffed)], func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r)
	})
}

// magic begins the cpio archives that Linux reads.
const magic = "070701"

// unzip returns the beginning of what a gzip file holds, or nothing if head does not begin one.
func unzip(head []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return nil
	}
	inside, _ := io.ReadAll(io.LimitReader(z, HeadSize)) // the rest of the file is missing
	return inside
}

// Package compress is the one compression layer at the end of packing, for both formats: gzip of
// the standard library, at its best level.
//
// A compressor of our own with an optimal parse made documents 6 % smaller, when all kinds of text
// still shared their blocks. It was removed: it decided for only eight documents, of all golden
// clusters on all platforms, whether they fit, and delivery: lean makes room for those
// (docs/sizes.md).
//
// The standard library does not promise the same bytes over releases of Go, and another library
// would. None is as good: github.com/klauspost/compress v1.18.0 decides where a block ends with
// floating-point numbers (flate/token.go, EstimatedBits), whose rounding may differ between
// architectures.
package compress

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
)

// writers holds idle gzip writers. A writer has 800 KB, and to allocate them takes longer than to
// compress a small document. After Reset it writes the same as a new one.
var writers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestCompression)
	if err != nil {
		panic("compress: gzip has no best compression: " + err.Error())
	}
	return w
}}

// Gzip returns doc as gzip without a time or a name. Equal documents give equal bytes, with the
// same release of Go.
//
// Breaks are strings of doc, in their order, where its text turns into another kind of text. gzip
// has one code for all bytes of a block, so a new block begins at each break. A string that doc
// does not have is left out.
func Gzip(doc []byte, breaks ...string) []byte {
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	// Writes to a bytes.Buffer do not fail.
	for _, s := range breaks {
		if at := bytes.Index(doc, []byte(s)); at > 0 {
			_, _ = w.Write(doc[:at])
			_ = w.Flush()
			doc = doc[at:]
		}
	}
	_, _ = w.Write(doc)
	_ = w.Close()
	return out.Bytes()
}

// MaxDocument is how many bytes are unpacked at most. No boot document is near it, and a bomb ends
// there.
const MaxDocument = 64 << 20

// Gunzip returns the content of doc. It fails if doc is not gzip, is damaged, has bytes after its
// end, or unpacks to more than 64 MiB.
func Gunzip(doc []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(doc))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if len(out) > MaxDocument {
		return nil, fmt.Errorf("decompress: it is larger than %d bytes", MaxDocument)
	}
	return out, nil
}

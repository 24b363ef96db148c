// Package compress is the one compression layer at the end of packing, for both formats.
package compress

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
)

// writers are idle gzip writers. One takes 800 KB, which costs more to allocate than a small document to compress; after
// Reset it writes what a new one would.
var writers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestCompression)
	if err != nil {
		panic("compress: gzip has no best compression: " + err.Error())
	}
	return w
}}

// Gzip returns doc as gzip without a time or a name: equal bytes for equal documents, with one release of Go.
func Gzip(doc []byte) []byte {
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	// A bytes.Buffer takes everything.
	_, _ = w.Write(doc)
	_ = w.Close()
	return out.Bytes()
}

// Fit returns what wrap makes of doc compressed: with Gzip if that is at most limit bytes long, else with Dense, which may still be longer.
func Fit(doc []byte, limit int, wrap func(zipped []byte) ([]byte, error)) ([]byte, error) {
	out, err := wrap(Gzip(doc))
	if err != nil || len(out) <= limit {
		return out, err
	}
	return wrap(Dense(doc))
}

// MaxDocument bounds what is unpacked, in bytes: no boot document is near it, and a bomb ends there.
const MaxDocument = 64 << 20

// Gunzip returns what doc holds. It fails on what is no gzip, is damaged, goes on behind its end, or unpacks to more
// than 64 MiB.
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

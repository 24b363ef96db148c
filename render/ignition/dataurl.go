package ignition

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/vincent-petithory/dataurl"
)

// bare marks the bytes that may stand in a data URL as they are. Ignition takes more of them than RFC 3986 lets through
// in this place; this set went unharmed through its validator and its fetcher (ignition 2.24). Every escape less makes
// the document smaller, and above all better to compress.
var bare = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$&'()*+,-./:;=?@_~") {
		set[c] = true
	}
	return set
}()

const (
	plainURL  = "data:,"
	base64URL = "data:;base64,"
	hexDigits = "0123456789ABCDEF"
)

// dataURL returns a URL that holds content. Text is percent-escaped even where base64 would be shorter: people can
// read it, and a document that is too long is compressed as a whole, which base64 spoils. Other bytes become base64
// where that is shorter.
func dataURL(content []byte) string {
	size := len(plainURL)
	for _, c := range content {
		if bare[c] {
			size++
		} else {
			size += len("%00")
		}
	}
	if !utf8.Valid(content) && len(base64URL)+base64.StdEncoding.EncodedLen(len(content)) < size {
		return base64URL + base64.StdEncoding.EncodeToString(content)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(plainURL)
	for _, c := range content {
		if bare[c] {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&0xf])
		}
	}
	return b.String()
}

// isDataURL says whether url holds its content itself.
func isDataURL(url *string) bool {
	return url != nil && strings.HasPrefix(*url, "data:")
}

// urlContent returns what a data URL holds, decoded as the machine does it.
func urlContent(url string) ([]byte, error) {
	u, err := dataurl.DecodeString(url)
	if err != nil {
		return nil, err
	}
	return u.Data, nil
}

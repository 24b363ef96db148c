package ignition

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/vincent-petithory/dataurl"
)

// bare marks the bytes that need no escape in a data URL. Ignition accepts more of them than RFC
// 3986 does; this set passed its validator and its fetcher unchanged (ignition 2.24). With fewer
// escapes the document is smaller, and above all it compresses better.
var bare = func() (set [256]bool) {
	for _, c := range []byte(
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$&'()*+,-./:;=?@_~") {
		set[c] = true
	}
	return set
}()

const (
	plainURL  = "data:,"
	base64URL = "data:;base64,"
	hexDigits = "0123456789ABCDEF"
)

// dataURL returns a URL that holds content. UTF-8 is percent-escaped even if base64 would be
// shorter: people can read it, and it compresses better when the whole document is compressed.
// Other bytes become base64 if that is shorter.
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

// isDataURL reports whether url holds its content itself.
func isDataURL(url *string) bool {
	return url != nil && strings.HasPrefix(*url, "data:")
}

// urlContent returns the content of a data URL, decoded as on the machine.
func urlContent(url string) ([]byte, error) {
	u, err := dataurl.DecodeString(url)
	if err != nil {
		return nil, err
	}
	return u.Data, nil
}

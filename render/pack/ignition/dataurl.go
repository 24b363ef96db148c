package ignition

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/vincent-petithory/dataurl"
)

// escapes holds what stands for each byte in a data URL. Ignition accepts more bytes as they are
// than RFC 3986 does; these passed its validator and its fetcher unchanged (ignition 2.24). With
// fewer escapes the document is smaller, and above all it compresses better.
var escapes = func() (set [256]string) {
	for c := range set {
		set[c] = fmt.Sprintf("%%%02X", c)
	}
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" +
		"!$&'()*+,-./:;=?@_~" {
		set[c] = string(c)
	}
	return set
}()

// validEscapes reports whether Ignition's validation finds nothing in the escapes. It looks at each
// of them alone, so that it finds nothing in any URL that is made of them.
var validEscapes = sync.OnceValue(func() bool {
	return validURL(plainURL+strings.Join(escapes[:], "")) != nil
})

const (
	plainURL  = "data:,"
	base64URL = "data:;base64,"
)

// dataURL returns a URL that holds content. UTF-8 is percent-escaped even if base64 would be
// shorter: people can read it, and it compresses better when the whole document is compressed.
// Other bytes become base64 if that is shorter.
func dataURL(content []byte) string {
	size := len(plainURL)
	for _, c := range content {
		size += len(escapes[c])
	}
	if !utf8.Valid(content) && len(base64URL)+base64.StdEncoding.EncodedLen(len(content)) < size {
		return base64URL + base64.StdEncoding.EncodeToString(content)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(plainURL)
	for _, c := range content {
		b.WriteString(escapes[c])
	}
	return b.String()
}

// contentURL returns the data URL of a content as it stands in JSON without its quotes, nil if
// validation finds something in it.
func contentURL(content []byte) []byte {
	url := dataURL(content)
	if strings.HasPrefix(url, plainURL) && validEscapes() {
		return []byte(url) // JSON escapes none of its characters
	}
	return validURL(url)
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

package assembly

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/node"
)

// ini builds a file of sections with lines KEY=VALUE, as systemd and NetworkManager read them.
type ini struct {
	content strings.Builder
	heading string // of the current section, while it has no line
}

// section begins a section. A section that gets no line is left out.
func (b *ini) section(name string) { b.heading = "[" + name + "]\n" }

// set adds a line for each value that is not empty.
func (b *ini) set(key string, values ...string) {
	for _, v := range values {
		if v != "" {
			b.content.WriteString(b.heading + key + "=" + v + "\n")
			b.heading = ""
		}
	}
}

// file returns the finished file.
func (b *ini) file(path string, mode uint32, why string) node.File {
	return node.File{Path: path, Mode: mode, Content: []byte(b.content.String()), Why: why}
}

// numberOrEmpty returns a number in decimal digits, and an empty string for 0.
func numberOrEmpty(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// stringsOf returns the strings of values, such as addresses.
func stringsOf[T fmt.Stringer](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.String()
	}
	return out
}

// ofFamily returns the addresses of one family.
func ofFamily(addresses []netip.Addr, is4 bool) (out []string) {
	for _, a := range addresses {
		if a.Is4() == is4 {
			out = append(out, a.String())
		}
	}
	return out
}

package interfaces

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"kiln/render/node"
)

// ini is a text of sections with lines KEY=VALUE, as systemd and NetworkManager read them.
type ini struct {
	text    strings.Builder
	heading string // of a section that has no line yet
}

// section begins a section; one that gets no line is left out.
func (b *ini) section(name string) { b.heading = "[" + name + "]\n" }

// set adds a line for each value that is not empty.
func (b *ini) set(key string, values ...string) {
	for _, v := range values {
		if v != "" {
			b.text.WriteString(b.heading + key + "=" + v + "\n")
			b.heading = ""
		}
	}
}

func (b *ini) file(path string, mode uint32, why string) node.File {
	return node.File{Path: path, Mode: mode, Content: []byte(b.text.String()), Why: why}
}

// digits is a number in decimal digits; 0 is nothing.
func digits(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func texts[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}

// only are the addresses of a family.
func only(list []netip.Addr, is4 bool) (out []string) {
	for _, a := range list {
		if a.Is4() == is4 {
			out = append(out, a.String())
		}
	}
	return out
}

package credential

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// fromUTF16 returns a text in UTF-16 as UTF-8, or nothing if the content does not begin like one:
// with the mark of the byte order, or with characters of ASCII.
func fromUTF16(content []byte) []byte {
	const (
		sample = 4 // characters
		mark   = 0xfeff
	)
	if len(content) < 2*sample {
		return nil
	}
	var order binary.ByteOrder
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		ascii := true
		for i := range sample {
			c := o.Uint16(content[2*i:])
			ascii = ascii && c > 0 && c < utf8.RuneSelf
		}
		if ascii || o.Uint16(content) == mark {
			order = o
		}
	}
	if order == nil {
		return nil
	}
	if order.Uint16(content) == mark {
		content = content[2:]
	}
	units := make([]uint16, len(content)/2)
	for i := range units {
		units[i] = order.Uint16(content[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

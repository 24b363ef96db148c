package iso9660

import "encoding/binary"

// tree is one of the two trees of an image; both hold the same files.
type tree int

const (
	plain  tree = iota // ECMA-119, with Rock Ridge
	joliet             // Joliet: names in UCS-2
)

// identifier returns an entry's name in a tree.
func (t tree) identifier(e *entry) string {
	if t == joliet {
		return ucs2(e.name)
	}
	return plainName(e)
}

// ucs2 returns an ASCII string in UCS-2, big-endian.
func ucs2(s string) string {
	out := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		out = append(out, 0, s[i])
	}
	return string(out)
}

// both16 and both32 return a number in both byte orders, little-endian first (ECMA-119 7.2.3,
// 7.3.3). maxFiles, maxDepth folders above each file, and maxImage bound all numbers.
func both16(n int) []byte {
	return binary.BigEndian.AppendUint16(
		binary.LittleEndian.AppendUint16(nil, uint16(n)), uint16(n))
}

func both32(n int) []byte {
	return binary.BigEndian.AppendUint32(
		binary.LittleEndian.AppendUint32(nil, uint32(n)), uint32(n))
}

// date is the date of every record: 1 January 1980, 00:00 UTC, the first day that every file system
// can hold.
var date = []byte{80, 1, 1, 0, 0, 0, 0}

// record returns the directory record (ECMA-119 9.1) of e under the name id. first marks the root's
// record of itself.
func (t tree) record(e *entry, id string, first bool) []byte {
	flags := byte(0)
	if e.folder {
		flags = 2
	}
	out := make([]byte, 2, 256) // the lengths of the record and of its extended attributes (none)
	out = append(out, both32(e.extent[t])...)
	out = append(out, both32(e.size[t])...)
	out = append(out, date...)
	out = append(out, flags, 0, 0)
	out = append(out, both16(1)...) // the volume
	out = append(out, byte(len(id)))
	out = append(out, id...)
	out = even(out)
	if t == plain {
		out = even(append(out, rockRidge(e, len(id) == 1 && id[0] <= 1, first)...))
	}
	out[0] = byte(len(out)) // names have at most 31 characters, so records fewer than 200 bytes
	return out
}

// even returns b with a zero byte behind it if its length is odd.
func even(b []byte) []byte {
	return append(b, make([]byte, len(b)%2)...)
}

// Modes of files and folders, with their kinds as POSIX has them.
const (
	fileMode   = 0o100400
	folderMode = 0o040500
)

// rockRidge returns the entries of RRIP for e. They leave out the names "." and "..", which their
// records say already (dots).
func rockRidge(e *entry, dots, first bool) (out []byte) {
	if first {
		out = append(out, "SP\x07\x01\xbe\xef\x00"...) // SUSP 5.3: the image uses the protocol
	}
	mode, links := fileMode, 1
	if e.folder {
		mode, links = folderMode, 2
		for _, o := range e.inside {
			if o.folder {
				links++
			}
		}
	}
	out = append(out, "PX\x24\x01"...) // RRIP 4.1.1
	for _, n := range []int{mode, links, 0, 0} {
		out = append(out, both32(n)...)
	}
	if !dots {
		out = append(out, 'N', 'M', byte(5+len(e.name)), 1, 0) // RRIP 4.1.4
		out = append(out, e.name...)
	}
	if first {
		const id = "RRIP_1991A"
		// SUSP 5.5, without its description and source
		out = append(out, 'E', 'R', byte(8+len(id)), 1, byte(len(id)), 0, 0, 1)
		out = append(out, id...)
	}
	return out
}

// pathRecord returns a folder's record in a path table (ECMA-119 9.4).
func (t tree) pathRecord(e *entry, big bool) []byte {
	id := "\x00"
	if e.parent != e {
		id = t.identifier(e)
	}
	out := []byte{byte(len(id)), 0}
	var order binary.AppendByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	out = order.AppendUint32(out, uint32(e.extent[t]))
	out = order.AppendUint16(out, uint16(e.parent.number[t]))
	return even(append(out, id...))
}

// descriptor returns a tree's volume descriptor: the primary one (ECMA-119 8.4), or Joliet's
// supplementary one (8.5).
func (l *layout) descriptor(t tree) []byte {
	out := make([]byte, sector)
	kind, blank := byte(1), " "
	text := func(s string) string { return s }
	if t == joliet {
		kind, blank, text = 2, ucs2(" "), ucs2
		copy(out[88:], "%/E") // UCS-2, level 3
	}
	copy(out, "\x00CD001\x01")
	out[0] = kind
	field := func(from, to int, s string) {
		for i := from; i < to; i++ {
			out[i] = blank[(i-from)%len(blank)]
		}
		copy(out[from:to], s)
	}
	field(8, 40, "")
	field(40, 72, text(l.label))
	copy(out[80:], both32(l.sectors))
	copy(out[120:], both16(1)) // the number of volumes, then the number of this one
	copy(out[124:], both16(1))
	copy(out[128:], both16(sector))
	copy(out[132:], both32(l.tables[t].size))
	binary.LittleEndian.PutUint32(out[140:], uint32(l.tables[t].little))
	binary.BigEndian.PutUint32(out[148:], uint32(l.tables[t].big))
	root := t.record(l.root, "\x00", false)[:34] // a descriptor has room for 34 bytes
	root[0] = 34
	copy(out[156:190], root)
	field(190, 318, "") // the volume set
	field(318, 446, "") // the publisher
	field(446, 574, text(preparer))
	field(574, 702, "") // the application
	field(702, 739, "") // three names of files: copyright, abstract, bibliography
	field(739, 776, "")
	field(776, 813, "")
	for at := 813; at < 881; at += 17 {
		copy(out[at:], "0000000000000000") // no date (ECMA-119 8.4.26.1); the 17th byte is a zero
	}
	out[881] = 1 // the version of the directory records
	return out
}

// preparer names the program that made the image, by which Made knows its own.
const preparer = "KILN"

// Made reports whether head, the first HeadSize bytes of a file, begins an image that this package
// made.
func Made(head []byte) bool {
	if len(head) < HeadSize {
		return false
	}
	primary := head[systemSectors*sector:]
	return string(primary[:6]) == "\x01CD001" && string(primary[446:446+len(preparer)]) == preparer
}

// HeadSize is how many bytes of a file Made needs.
const HeadSize = (systemSectors + 1) * sector

package iso9660

// layout is where everything lies on an image.
type layout struct {
	label   string
	root    *entry
	trees   []tree
	folders [2][]*entry // the folders of each tree, in the order of its path table
	files   []*entry
	tables  [2]table
	sectors int
}

// table is where the two path tables of a tree lie, little-endian and big-endian, and how many
// bytes each has.
type table struct{ little, big, size int }

// newLayout returns the layout of a tree: descriptors, path tables, the folders of each tree,
// files.
func newLayout(label string, root *entry) *layout {
	l := &layout{label: label, root: root, trees: []tree{plain, joliet}}
	at := systemSectors + len(l.trees) + 1
	take := func(bytes int) int {
		first := at
		at += (bytes + sector - 1) / sector
		return first
	}
	for _, t := range l.trees {
		l.folders[t] = foldersOf(root, t)
		size := 0
		for i, f := range l.folders[t] {
			f.number[t] = i + 1
			size += len(t.pathRecord(f, false))
		}
		l.tables[t] = table{take(size), take(size), size}
	}
	for _, t := range l.trees {
		for _, f := range l.folders[t] {
			f.size[t] = len(l.records(f, t))
			f.extent[t] = take(f.size[t])
		}
	}
	for _, f := range l.folders[plain] {
		for _, e := range f.children(plain) {
			if e.folder {
				continue
			}
			first := take(len(e.data))
			e.size = [2]int{len(e.data), len(e.data)}
			e.extent = [2]int{first, first}
			l.files = append(l.files, e)
		}
	}
	l.sectors = at
	return l
}

// foldersOf returns all folders in the order of a path table: by depth, then by the number of the
// folder above, then by name.
func foldersOf(root *entry, t tree) []*entry {
	out := []*entry{root}
	for i := 0; i < len(out); i++ {
		for _, e := range out[i].children(t) {
			if e.folder {
				out = append(out, e)
			}
		}
	}
	return out
}

// image returns the bytes of the image.
func (l *layout) image() []byte {
	out := make([]byte, l.sectors*sector)
	put := func(first int, data []byte) { copy(out[first*sector:], data) }
	for i, t := range l.trees {
		put(systemSectors+i, l.descriptor(t))
		var little, big []byte
		for _, f := range l.folders[t] {
			little = append(little, t.pathRecord(f, false)...)
			big = append(big, t.pathRecord(f, true)...)
			put(f.extent[t], l.records(f, t))
		}
		put(l.tables[t].little, little)
		put(l.tables[t].big, big)
	}
	put(systemSectors+len(l.trees), []byte("\xffCD001\x01")) // the end of the descriptors
	for _, f := range l.files {
		put(f.extent[plain], f.data)
	}
	return out
}

// records returns a folder's records: of itself, of the folder above, and of its entries. No record
// crosses the end of a sector.
func (l *layout) records(f *entry, t tree) []byte {
	var out []byte
	add := func(record []byte) {
		if left := sector - len(out)%sector; len(record) > left {
			out = append(out, make([]byte, left)...)
		}
		out = append(out, record...)
	}
	add(t.record(f, "\x00", f == l.root))
	add(t.record(f.parent, "\x01", false))
	for _, e := range f.children(t) {
		add(t.record(e, t.identifier(e), false))
	}
	return append(out, make([]byte, (sector-len(out)%sector)%sector)...)
}

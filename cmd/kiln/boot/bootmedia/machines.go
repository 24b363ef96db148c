// Package bootmedia makes boot media from the output folder of kiln render: disk images with the
// machines' documents, and a folder to boot machines from over the network.
package bootmedia

import (
	"iter"

	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/target"
)

// machines reads machines of the output folder dir, one after the other.
func machines(dir string, entries []render.Entry) iter.Seq2[*media.Machine, error] {
	return func(yield func(*media.Machine, error) bool) {
		for d, err := range render.Deliveries(dir, entries) {
			e := &d.Entry
			m := &media.Machine{
				Name: e.Node, Dir: d.Dir, Pool: e.Pool, OS: e.OS, Platform: e.Platform,
				Ignition: e.Format == string(target.Ignition), MAC: e.MAC,
			}
			for _, file := range d.Files {
				m.Files = append(m.Files, media.File{Path: file.Name, Data: file.Data})
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

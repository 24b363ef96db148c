package render

import (
	"kiln/pki"
	"kiln/render/folder"
)

// CreateBundle writes a new bundle, mode 0600, and never over an existing file. Whenever the run is
// killed, the bundle is whole or absent.
func CreateBundle(path string, b *pki.Bundle) error {
	data, err := b.Marshal()
	if err != nil {
		return err
	}
	return folder.Create(path, data, 0o600)
}

// ReplaceBundle writes b over an older state of it in the file path: the old one stays whole until
// the new one is on disk. A link stays, and what it leads to is replaced.
func ReplaceBundle(path string, b *pki.Bundle) error {
	data, err := b.Marshal()
	if err != nil {
		return err
	}
	return folder.Write(folder.File{
		Path: path, Mode: 0o600, What: "the bundle that was read", Flag: "--secrets",
		Ours: func(old []byte) bool {
			there, err := pki.Load(old)
			return err == nil && there.Cluster == b.Cluster
		},
	}, data)
}

// WritePublic writes the public half of a bundle to the file path. A file that is there is
// replaced, whole, if it is such a half as well.
func WritePublic(path string, p *pki.Public) error {
	data, err := p.Marshal()
	if err != nil {
		return err
	}
	return folder.Write(folder.File{
		Path: path, Mode: 0o644, What: "the public half of a bundle", Flag: "--out",
		Ours: func(old []byte) bool { _, err := pki.LoadPublic(old); return err == nil },
	}, data)
}

// WritePage writes a page of kiln report to the file path, for everybody to read. A file that is
// there is replaced, whole, if ours reports that it is such a page.
func WritePage(path string, page []byte, ours func(old []byte) bool) error {
	return folder.Write(folder.File{Path: path, Mode: 0o644, What: "a page of kiln report", Flag: "--out", Ours: ours}, page)
}

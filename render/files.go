package render

import (
	"kiln/pki"
	"kiln/render/folder"
)

// CreateBundle writes a new bundle with mode 0600. It fails if the file exists. If the run is
// killed, the file is whole or absent.
func CreateBundle(path string, b *pki.Bundle) error {
	data, err := b.Marshal()
	if err != nil {
		return err
	}
	return folder.Create(path, data, 0o600)
}

// ReplaceBundle writes b over an older version of the same bundle in the file path. It fails if the
// file is not a bundle of the cluster. The old version stays whole until the new one is on disk. If
// path is a link, the link stays and its target is replaced.
func ReplaceBundle(path string, b *pki.Bundle) error {
	data, err := b.Marshal()
	if err != nil {
		return err
	}
	return folder.Write(folder.File{
		Path: path, Mode: 0o600, What: "the bundle that was read", Flag: "--secrets",
		Ours: func(old []byte) bool {
			stored, err := pki.Load(old)
			return err == nil && stored.Cluster == b.Cluster
		},
	}, data)
}

// WritePublic writes the public half of a bundle to the file path. It replaces only a file that
// holds such a half as well, and fails for any other.
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

// WritePage writes a page of kiln report to the file path, readable for everybody. It replaces a
// file only if ours reports that the file is such a page, and fails for any other.
func WritePage(path string, page []byte, ours func(old []byte) bool) error {
	return folder.Write(folder.File{
		Path: path, Mode: 0o644, What: "a page of kiln report", Flag: "--out", Ours: ours,
	}, page)
}

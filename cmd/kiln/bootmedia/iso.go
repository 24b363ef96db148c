package bootmedia

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kiln/cmd/kiln/git"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/paths"
	"kiln/render"
	"kiln/render/folder"
	"kiln/render/media"
	"kiln/render/media/iso9660"
)

// maxImage bounds an image that exists already.
const maxImage = 256 << 20

// Image is a disk image that was written.
type Image struct {
	Node  string `json:"node"`
	Pool  bool   `json:"pool,omitempty"`
	Path  string `json:"image"`
	Label string `json:"label"`
	Bytes int    `json:"bytes"`
}

// Images are the disk images for machines of one output folder.
type Images struct {
	Dir      string // the output folder
	Machines []render.Entry
	Out      string // --out: the image, or the folder for several; empty means beside the documents

	folder string                      // where the images go
	name   func(*media.Machine) string // the file of each in there
}

// Write writes the images: all of them, or none. It fails if a machine reads no disk, and if a file
// that kiln did not make has the name of an image.
func (i *Images) Write() ([]Image, error) {
	if err := i.choose(); err != nil {
		return nil, err
	}
	var images []Image
	var able []string // folders of the machines that read a disk
	unable := 0       // machines that read none
	files := func(yield func(render.Output, error) bool) {
		for m, err := range machines(i.Dir, i.Machines) {
			var file render.Output
			var label string
			if err == nil {
				label, file.Data, err = m.Image()
				if err == nil {
					able = append(able, filepath.Join(i.Dir, m.Dir))
				} else {
					unable++
				}
				file.Name = i.name(m)
				place := filepath.Join(i.folder, file.Name)
				err = errors.Join(err, checkImage(place))
				images = append(images, Image{m.Name, m.Pool, place, label, len(file.Data)})
			}
			if !yield(file, err) {
				return
			}
		}
	}
	if _, err := render.WriteFiles(render.Files{Dir: i.folder, Files: files}); err != nil {
		if len(able)+unable == len(i.Machines) { // nothing else is wrong with them
			err = errors.Join(err, i.alternative(able, unable))
		}
		return nil, err
	}
	return images, nil
}

// choose decides where the images go.
func (i *Images) choose() error {
	i.folder, i.name = i.Dir, func(m *media.Machine) string { return m.Dir + ".iso" }
	if i.Out == "" {
		return nil
	}
	info, err := os.Stat(i.Out)
	switch several := len(i.Machines) > 1; {
	case err == nil && info.IsDir() || err != nil && several:
		i.folder = i.Out
	case several:
		return fmt.Errorf("%s: not a folder, and %d images need one; name a folder with --out", i.Out, len(i.Machines))
	default:
		i.folder, i.name = filepath.Dir(i.Out), func(*media.Machine) string { return filepath.Base(i.Out) }
	}
	return nil
}

// alternative returns an error with a command for the machines that read a disk, if some do and some
// do not.
func (i *Images) alternative(able []string, unable int) error {
	if len(able) == 0 || unable == 0 {
		return nil
	}
	command := "kiln iso " + strings.Join(able[:min(len(able), message.MaxNamed)], " ")
	if len(able) > message.MaxNamed {
		command += " …"
	}
	if i.Out != "" {
		command += " --out " + i.Out
	}
	return fmt.Errorf("of the machines named, these read a disk; name them alone: %s", command)
}

// Secrets returns what git must not track: the folder of the images if it holds nothing else, or each
// image. The folder may hold more if --out names one image, and if it is the working directory or lies
// above it.
func (i *Images) Secrets(images []Image) []git.Secret {
	info, err := os.Stat(i.Out)
	own := i.Out == "" || err == nil && info.IsDir()
	if own && !paths.Within(i.folder, ".") && paths.Resolve(i.folder) != paths.Resolve(".") {
		return []git.Secret{{Name: i.folder, Folder: true}}
	}
	var list []git.Secret
	for _, image := range images {
		list = append(list, git.Secret{Name: image.Path})
	}
	return list
}

// checkImage returns an error if the file name exists and is not an image that kiln made.
func checkImage(name string) error {
	image, err := folder.Read(name, maxImage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// A file shorter than a head is no image, and one that cannot be read was not made by kiln.
	if err != nil || !iso9660.Made(append(image, make([]byte, iso9660.HeadSize)...)[:iso9660.HeadSize]) {
		return fmt.Errorf("%s: not an image that kiln made; it is not replaced: name another file with --out", name)
	}
	return nil
}

package bootmedia

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/cmd/kiln/boot/media/iso9660"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
)

// maxImage bounds an image that exists already.
const maxImage = 256 << 20

// Image is a disk image that was written.
type Image struct {
	Node  string `json:"node"` // the name of the node or pool
	Pool  bool   `json:"pool,omitempty"`
	Path  string `json:"image"`
	Label string `json:"label"`
	Bytes int    `json:"bytes"`
}

// Images are the disk images for some machines of one output folder.
type Images struct {
	Dir      string // the output folder
	Machines []render.Entry
	Out      string // --out: the image, or the folder for several; empty means beside the documents

	folder string                      // the folder of the images
	name   func(*media.Machine) string // the file name of a machine's image
	images []Image
	able   []string // the folders of machines that read a disk
	unable int      // the number of machines that read none
}

// Write writes all images or none, and returns them. It fails if a machine reads no disk, and if a
// file that kiln did not make has the name of an image.
func (i *Images) Write() ([]Image, error) {
	if err := i.choose(); err != nil {
		return nil, err
	}
	_, err := render.WriteFiles(render.Files{Dir: i.folder, Files: i.files})
	if err != nil {
		if len(i.able)+i.unable == len(i.Machines) { // nothing else is wrong with them
			err = errors.Join(err, i.alternative())
		}
		return nil, err
	}
	return i.images, nil
}

// files passes each image on.
func (i *Images) files(yield func(render.Output, error) bool) {
	for m, err := range machines(i.Dir, i.Machines) {
		var file render.Output
		if err == nil {
			file, err = i.file(m)
		}
		if !yield(file, err) {
			return
		}
	}
}

// file returns a machine's image, and lists it.
func (i *Images) file(m *media.Machine) (render.Output, error) {
	label, image, err := m.Image()
	switch {
	case err == nil:
		i.able = append(i.able, filepath.Join(i.Dir, m.Dir))
	case errors.Is(err, media.ErrNoDisk):
		i.unable++
	}
	name := i.name(m)
	place := filepath.Join(i.folder, name)
	i.images = append(i.images, Image{m.Name, m.Pool, place, label, len(image)})
	return render.Output{Name: name, Data: image}, errors.Join(err, checkImage(place))
}

// choose decides where the images go. It fails if --out names one file, and several images need a
// folder, or if the folder of that file does not exist.
func (i *Images) choose() error {
	i.folder, i.name = i.Dir, func(m *media.Machine) string { return m.Dir + ".iso" }
	if i.Out == "" {
		return nil
	}
	info, err := os.Stat(i.Out)
	absent := err != nil
	several := len(i.Machines) > 1
	switch {
	case several && absent && strings.EqualFold(filepath.Ext(i.Out), ".iso"):
		return fmt.Errorf("%s: the name of one image, and %d images need a folder; name it with "+
			"--out, for example --out ./images", i.Out, len(i.Machines))
	case several && !absent && !info.IsDir():
		return fmt.Errorf("%s: not a folder, and %d images need one; name a folder with --out",
			i.Out, len(i.Machines))
	case several, !absent && info.IsDir(), os.IsPathSeparator(i.Out[len(i.Out)-1]):
		i.folder = i.Out
		return nil
	}
	i.folder = filepath.Dir(i.Out)
	i.name = func(*media.Machine) string { return filepath.Base(i.Out) }
	if _, err := os.Stat(i.folder); err != nil {
		return &fs.PathError{Op: "create", Path: i.Out, Err: fs.ErrNotExist}
	}
	return nil
}

// alternative returns an error with the command for the machines that read a disk, if some machines
// do and some do not.
func (i *Images) alternative() error {
	if len(i.able) == 0 || i.unable == 0 {
		return nil
	}
	command := "kiln iso " + strings.Join(i.able[:min(len(i.able), term.MaxNamed)], " ")
	if len(i.able) > term.MaxNamed {
		command += " …"
	}
	if i.Out != "" {
		command += " --out " + i.Out
	}
	return fmt.Errorf("some of these machines read a disk; name them alone: %s", command)
}

// Secrets returns what git must not track: the folder of the images if it is for them alone, or
// else each image. The folder is not for images alone if --out names one image, and if it is the
// working directory or lies above it.
func (i *Images) Secrets(images []Image) []vault.SecretFile {
	info, err := os.Stat(i.Out)
	own := i.Out == "" || err == nil && info.IsDir()
	if own && !term.PathWithin(i.folder, ".") &&
		term.ResolvePath(i.folder) != term.ResolvePath(".") {
		return []vault.SecretFile{{Name: i.folder, Folder: true}}
	}
	var list []vault.SecretFile
	for _, image := range images {
		list = append(list, vault.SecretFile{Name: image.Path})
	}
	return list
}

// checkImage returns an error if the file name exists and is not an image that kiln made.
func checkImage(name string) error {
	image, err := folder.Read(name, maxImage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !iso9660.Made(image) { // a file that cannot be read was not made by kiln
		return fmt.Errorf("%s: not an image that kiln made; it is not replaced: "+
			"name another file with --out", name)
	}
	return nil
}

package bootmedia

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kiln.dev/kiln/cmd/kiln/boot/media/iso9660"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

// Stale returns warnings about the disk images in an output folder, beside the folders of machines,
// that are not those of the documents in it. A document has one image, byte for byte.
func Stale(dir string, documents []render.Entry) (warnings []string) {
	of := map[string]render.Entry{}
	for i := range documents {
		of[filepath.Dir(filepath.FromSlash(documents[i].Document))] = documents[i]
	}
	var older, words, gone []string
	for _, below := range []string{"", "pools"} {
		files, _ := os.ReadDir(filepath.Join(dir, below)) // there may be none
		for _, file := range files {
			machine, is := strings.CutSuffix(filepath.Join(below, file.Name()), ".iso")
			if !is {
				continue
			}
			path := filepath.Join(dir, machine) + ".iso"
			image, err := folder.Read(path, maxImage)
			if err != nil || !iso9660.Made(image) {
				continue // it is no image of kiln's
			}
			switch e, there := of[machine]; {
			case !there:
				gone = append(gone, path)
			case !isImage(dir, e, image):
				older = append(older, path)
				words = append(words, wording.ShellWord(filepath.Join(dir, machine)))
			}
		}
	}
	if len(older) > 0 {
		if len(older) > term.MaxNamed {
			words = []string{wording.ShellWord(dir)}
		}
		warnings = append(warnings, fmt.Sprintf("%s: not the image of the document that is there "+
			"now; run: kiln iso %s", term.Names(older), strings.Join(words, " ")))
	}
	if len(gone) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: an image with secrets, of a machine that is "+
			"gone; delete it when nobody needs it", term.Names(gone)))
	}
	return warnings
}

// isImage reports whether an image is that of a machine's document. A document that cannot be read,
// or has none, has another one.
func isImage(dir string, e render.Entry, image []byte) bool {
	for m, err := range machines(dir, []render.Entry{e}) {
		if err == nil {
			var wanted []byte
			_, wanted, err = m.Image()
			return err == nil && bytes.Equal(wanted, image)
		}
	}
	return false
}

package lock

import (
	"fmt"
	"io"
	"path/filepath"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/wording"
)

// Entries returns all entries of a lock.
func Entries(l *config.Locked) []any {
	out := []any{}
	for _, a := range l.Artifacts {
		out = append(out, a)
	}
	for _, i := range l.Images {
		out = append(out, i)
	}
	return out
}

// Count says how many entries a lock has.
func Count(l *config.Locked) string {
	files := wording.Count(len(l.Artifacts), "file")
	if l.Images == nil {
		return files
	}
	images := wording.Count(len(l.Images), "image")
	if len(l.Artifacts) == 0 {
		return images
	}
	return files + " and " + images
}

// Print prints what the lock at path has.
func Print(out io.Writer, path string, l *config.Locked) {
	if len(l.Artifacts) == 0 && l.Images == nil {
		term.Printf(out, "%s: not needed: no machine fetches a file\n", path)
		return
	}
	for _, a := range l.Artifacts {
		size := ""
		if a.Size > 0 {
			size = fmt.Sprintf("%d bytes  ", a.Size)
		}
		term.Printf(out, "%s  %s%s\n", a, size, a.SHA256)
	}
	for _, i := range l.Images {
		term.Printf(out, "%s  %s\n", i.Name, i.Digest)
	}
	term.Printf(out, "%s: %s; commit it with the configuration\n", path, Count(l))
}

// PrintCheck prints how the lock at path differs from what is wanted and published, as text or
// JSON.
func PrintCheck(out io.Writer, form, path string, l *config.Locked, differences []string) error {
	if form == "json" {
		return term.JSON(out, term.NonNil(differences))
	}
	if len(differences) == 0 {
		term.Printf(out, "%s: %s, as published\n", path, Count(l))
	}
	for _, line := range differences {
		term.Printf(out, "%s: %s\n", filepath.Base(path), line)
	}
	return nil
}

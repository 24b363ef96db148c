package lock

import (
	"fmt"
	"io"

	"kiln/cmd/kiln/message"
	"kiln/render/plural"
	"kiln/render/target"
)

// Print prints what the lock at path has.
func Print(out io.Writer, path string, artifacts []target.Artifact) {
	if len(artifacts) == 0 {
		message.Printf(out, "%s: not needed: no machine fetches a file\n", path)
		return
	}
	for _, a := range artifacts {
		size := ""
		if a.Size > 0 {
			size = fmt.Sprintf("%d bytes  ", a.Size)
		}
		message.Printf(out, "%s  %s%s\n", a, size, a.SHA256)
	}
	message.Printf(out, "%s: %s; commit it with the configuration\n", path,
		plural.Count(len(artifacts), "file"))
}

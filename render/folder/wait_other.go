//go:build !unix

package folder

import (
	"io"
	"os"
)

// withoutWaiting returns a reader of a file. This system has no files that wait.
func withoutWaiting(f *os.File) io.Reader { return f }

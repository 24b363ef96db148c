package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"kiln/cmd/kiln/serve"
	"kiln/render/folder"
)

// openLog opens what --log names, to add lines to it: a new file, an empty one, a log of kiln serve,
// a pipe or a device such as /dev/stderr. A file with anything else in it is refused.
func openLog(name string) (*os.File, error) {
	flags := os.O_RDWR // the first line is read
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("--log: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("--log %s: not a file; name a file for the log", name)
	case !info.Mode().IsRegular() || isStream(info):
		flags = os.O_WRONLY
	}
	file, err := folder.OpenAppend(name, flags)
	if err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	if flags == os.O_RDWR && !isLog(file) {
		_ = file.Close()
		return nil, fmt.Errorf("--log %s: not a log of kiln serve, and nothing is added to it; name a new file, or such a log", name)
	}
	return file, nil
}

// isStream reports whether a file is where this program's messages go already.
func isStream(info fs.FileInfo) bool {
	for _, stream := range []*os.File{os.Stdout, standardError} {
		if there, err := stream.Stat(); err == nil && os.SameFile(there, info) {
			return true
		}
	}
	return false
}

// maxLogLine bounds what is read of a log.
const maxLogLine = 1 << 20

// isLog reports whether a file is empty or begins with a line of kiln serve.
func isLog(file *os.File) bool {
	line, err := bufio.NewReader(io.LimitReader(file, maxLogLine)).ReadBytes('\n')
	return errors.Is(err, io.EOF) && len(line) == 0 || err == nil && serve.IsLine(line)
}

package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"kiln.dev/kiln/render/folder"
)

// OpenLog opens the file that --log names, to add lines to it: a new file, an empty one, a log of
// kiln serve, a pipe or a device such as /dev/stderr. It refuses a file with anything else in it,
// unless the program already writes to this file through one of the streams.
func OpenLog(name string, streams ...io.Writer) (*os.File, error) {
	flags := os.O_RDWR // isLog reads the first line
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("--log: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("--log %s: not a file; name a file for the log", name)
	case !info.Mode().IsRegular() || isStream(info, streams):
		flags = os.O_WRONLY
	}
	file, err := folder.OpenAppend(name, flags)
	if err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	if flags == os.O_RDWR && !isLog(file) {
		_ = file.Close()
		return nil, fmt.Errorf("--log %s: not a log of kiln serve, and nothing is added to it; "+
			"name a new file, or such a log", name)
	}
	if flags == os.O_RDWR {
		endLine(file)
	}
	return file, nil
}

// endLine ends the last line of a file if it was written in part. If it cannot, the next line will
// fail too, and be counted as lost.
func endLine(file *os.File) {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return
	}
	var last [1]byte
	if _, err := file.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
		_, _ = file.WriteString("\n")
	}
}

// isStream reports whether one of the streams writes to this file.
func isStream(info fs.FileInfo, streams []io.Writer) bool {
	return slices.ContainsFunc(streams, func(w io.Writer) bool {
		to, ok := StandIn(w)
		return ok && os.SameFile(to, info)
	})
}

// maxLogLine bounds the bytes that isLog reads.
const maxLogLine = 1 << 20

// isLog reports whether a file is empty or begins with a line of kiln serve.
func isLog(file *os.File) bool {
	line, err := bufio.NewReader(io.LimitReader(file, maxLogLine)).ReadBytes('\n')
	return errors.Is(err, io.EOF) && len(line) == 0 || err == nil && isLine(line)
}

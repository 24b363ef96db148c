package serve

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// How a file is written although the process, or the system, has too many open files: spareFiles
// are kept open for that, more than one write needs.
const (
	spareFiles = 8
	spareTries = 10
	spareWait  = 50 * time.Millisecond
)

// IsOutOfFiles reports whether an error comes from too many open files, which ends by itself.
func IsOutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// reserve are open files whose only use is that they can be closed.
type reserve struct{ files []*os.File }

// hold opens as many of them as the system allows now.
func (s *reserve) hold() {
	for len(s.files) < spareFiles {
		file, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		s.files = append(s.files, file)
	}
}

func (s *reserve) release() {
	for _, file := range s.files {
		_ = file.Close()
	}
	s.files = nil
}

// use calls write, and calls it again with the spare files closed while there are too many open
// files. It returns the last error.
func (s *reserve) use(write func() error) error {
	err := write()
	for n := 0; IsOutOfFiles(err) && n < spareTries; n++ {
		s.release()
		if err = write(); IsOutOfFiles(err) {
			time.Sleep(spareWait)
		}
	}
	s.hold()
	return err
}

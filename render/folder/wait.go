package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// withoutWaiting returns a reader of a file that was opened with nonblock. A read that would wait
// fails with ErrIrregular. Ordinary files never wait, but some files of the kernel, such as
// /proc/kmsg, call themselves regular and wait until there is something to read.
func withoutWaiting(f *os.File) io.Reader { return &impatient{f} }

type impatient struct{ *os.File }

// Read reads from the file past Go's poller, which would wait.
func (f *impatient) Read(p []byte) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var fault error
	err = raw.Read(func(fd uintptr) bool {
		n, fault = syscall.Read(int(fd), p)
		for fault == syscall.EINTR {
			n, fault = syscall.Read(int(fd), p)
		}
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case errors.Is(fault, syscall.EAGAIN):
		return 0, ErrIrregular
	case fault != nil:
		return 0, &fs.PathError{Op: "read", Path: f.Name(), Err: fault}
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

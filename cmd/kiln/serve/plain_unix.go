//go:build unix

package serve

import "syscall"

const (
	// nonblock opens what is no plain file at once: a FIFO that nobody writes to would keep open(2)
	// waiting for ever.
	nonblock = syscall.O_NONBLOCK
	// nofollow refuses a link.
	nofollow = syscall.O_NOFOLLOW
)

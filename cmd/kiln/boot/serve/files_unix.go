//go:build unix

package serve

import (
	"math"
	"syscall"
)

// openFiles returns the number of files that the system lets the program open. Go has raised it to
// what the system allows at most (package os, since Go 1.19).
func openFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}

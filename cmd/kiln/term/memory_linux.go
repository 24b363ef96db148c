package term

import "golang.org/x/sys/unix"

// keepMemory keeps the secrets in this process's memory from the disk and from other processes: the
// kernel writes no core dump of it, not even to a program that collects them, and other processes
// of the same user can neither trace it nor read its memory. It does nothing against root, swap and
// hibernation. A program that kiln starts gets the limit of core dumps as well.
func keepMemory() {
	// Both fail in sandboxes alone, and kiln works without them.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

//go:build !linux

package term

// keepMemory does nothing where the system is not Linux.
func keepMemory() {}

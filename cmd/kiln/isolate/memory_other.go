//go:build !linux

package isolate

// keepMemory does nothing where the system is not Linux.
func keepMemory() {}

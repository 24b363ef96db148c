//go:build unix

package config_test

import "syscall"

// makeFIFO makes a named pipe, which opening would wait on for ever.
func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }

// Package script is how tests write the programs that they start.
package script

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Write writes a program, and the folders above it.
//
// Linux does not start a program that somebody has open to write ("text file busy"). A test that
// starts a process at the same time would hand the open file on to it for a moment, so none may
// start before the file is closed: https://go.dev/issue/22315.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

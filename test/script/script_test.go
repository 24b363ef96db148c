package script_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
	"kiln.dev/kiln/test/script"
)

// TestWrite starts other programs all the time while it writes its own ones. Without the lock, one
// in some dozens cannot be started: "text file busy".
func TestWrite(t *testing.T) {
	other := need.Basic(t, "true")
	dir := t.TempDir()
	end := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					_ = exec.Command(other).Run()
				}
			}
		})
	}
	defer others.Wait()
	defer close(end)
	for i := range 150 {
		program := filepath.Join(dir, strconv.Itoa(i))
		script.Write(t, program, "#!/bin/sh\nprintf here\n")
		out, err := exec.Command(program).Output()
		require.NoError(t, err)
		require.Equal(t, "here", string(out))
	}
}
